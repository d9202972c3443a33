"""Collections of nodes from a real ingest and server: features, links, both sources, and training from either."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from graphkin.cli import run
from graphkin.client import Graphkin
from graphkin.library.subgraphs import rule_for, subgraphs_of
from graphkin.library.training import StoredTables, open_stored
from graphkin.protocol.errors import Conflict
from graphkin.store import open_generation
from graphkin.trainer.downstream.finetune import InitialEncoder
from graphkin.trainer.downstream.nodes import read_nodes, select_classes
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.eigenvectors import laplacian_eigenvectors
from graphkin.trainer.feed.cache import Cache
from graphkin.trainer.feed.kinds import features
from graphkin.trainer.feed.offline import OfflineSource
from graphkin.trainer.feed.online import open_online
from graphkin.trainer.pretraining.checkpoint import read_model
from graphkin.trainer.pretraining.config import Model, PretrainConfig
from graphkin.trainer.pretraining.pretrain import pretrain
from graphkin.trainer.pretraining.pretrained import load_encoder
from graphkin.trainer.strategy import Sampling, Strategy, Walks


@pytest.fixture(scope="module")
def graph() -> nx.Graph:
    return nx.powerlaw_cluster_graph(120, 3, 0.3, seed=1)


@pytest.fixture(scope="module")
def town_url(
    graph: nx.Graph, serve: Callable[..., AbstractContextManager[str]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Yield the URL of a server of the collection `town`."""
    folder = tmp_path_factory.mktemp("town")
    (folder / "town.edgelist").write_text("".join(f"n{first} n{second}\n" for first, second in graph.edges))
    place = ("--store", str(folder / "store"), "--collection", "town", "--workers", "1")
    assert run(["ingest", "nodes", str(folder / "town.edgelist"), *place]) == 0
    with serve(folder / "store") as url:
        yield url


@pytest.mark.parametrize(
    "recipe", [(), ("--preset", "paper"), ("--subgraph", "walks", "--seed", "3", "--max-nodes", "20")]
)
def test_finetuning_has_the_subgraphs_of_the_collection(
    graph: nx.Graph, tmp_path: Path, recipe: tuple[str, ...]
) -> None:
    """The features of labeled nodes equal those that the encoder was pre-trained on."""
    edges, labels = tmp_path / "town.edgelist", tmp_path / "labels.txt"
    edges.write_text("".join(f"n{first} n{second}\n" for first, second in graph.edges))
    nodes = [f"n{node}" for node in range(100, 20, -3)]
    labels.write_text("".join(f"{node} {row % 2}\n" for row, node in enumerate(nodes)))
    place = ("--store", str(tmp_path / "store"), "--collection", "town", "--workers", "1")
    assert run(["ingest", "nodes", str(edges), *place, *recipe]) == 0
    config = PretrainConfig.from_strategy("hgc-fo", kind="node", batch_size=4, max_steps=1)
    with (
        open_generation(str(tmp_path / "store"), "town", None) as generation,
        open_stored(generation, config.draws) as source,
    ):
        corpus = source.corpus()
        names = [name for block in StoredTables(generation).column("names") for name in block]
        pretrain(config, source, tmp_path / "run")
    rule = rule_for(InitialEncoder.from_checkpoint(tmp_path / "run"))
    data = select_classes(read_nodes(edges, labels), subgraphs_of(rule))
    rows = [names.index([node]) for node in nodes]  # type: ignore[arg-type]
    assert data.corpus.atoms.tolist() == corpus.atoms[rows].tolist()
    for row, item in enumerate(rows):
        assert edges_of(data.corpus, row) == edges_of(corpus, item)
    settings = data.summary(data.split())["subgraphs"]
    assert settings["subgraph"] == ("walks" if "walks" in recipe else "ppr")
    assert settings["mean_nodes"] == corpus.atoms[rows].mean()


def edges_of(corpus: Corpus, item: int) -> list[tuple[int, int]]:
    """Return the edges of an item in both directions, in the order of the corpus."""
    edges = slice(corpus.edge_offsets[item], corpus.edge_offsets[item + 1])
    nodes = slice(corpus.atom_offsets[item], corpus.atom_offsets[item + 1])
    target = np.repeat(np.arange(corpus.atoms[item]), corpus.degree[nodes])
    return [*zip(corpus.source[edges].tolist(), target.tolist(), strict=True)]


def test_rule_of_the_subgraphs_follows_the_checkpoint_or_the_option() -> None:
    model = Model.from_kind("node")
    walks = Walks(restart=0.5, fewest=30)
    gcc = PretrainConfig.from_strategy("gcc", kind="node")
    hgc = PretrainConfig.from_strategy("hgc-fo", kind="node")
    own = InitialEncoder(model, replace(gcc, draws=replace(gcc.draws, walks=walks)))
    version_1 = {"schema_version": 1, "max_nodes": 99, "walks": "paper", "restart": 0.7, "labels": "degree"}
    ppr = {"subgraph": "ppr", "restart": 0.8, "max_nodes": 64, "tolerance": 1e-4, "min_visits": 0.0}
    assert subgraphs_of(rule_for(own)).settings == {"subgraph": "walks", **asdict(walks)}
    assert subgraphs_of(rule_for(own, "ppr")).settings == subgraphs_of(rule_for(InitialEncoder(model))).settings == ppr
    assert subgraphs_of(rule_for(own, "walks")).settings == {"subgraph": "walks", **asdict(Walks())}
    earlier = subgraphs_of(rule_for(InitialEncoder(model, hgc))).settings
    assert (earlier["fewest"], earlier["unit"]) == (64, "walks")
    recorded = subgraphs_of(rule_for(InitialEncoder(model, hgc, recipe=version_1))).settings
    assert (recorded["subgraph"], recorded["max_nodes"], recorded["restart"]) == ("walks", 99, 0.7)


def test_run_from_before_recipes_were_recorded_is_resumed(town_url: str, tmp_path: Path) -> None:
    config = PretrainConfig.from_strategy("hgc-fo", kind="node", batch_size=4, max_steps=1)
    with open_online(town_url, "town", config.draws, features, Cache(tmp_path / "cache", 2**30)) as source:
        pretrain(config, source, tmp_path / "run")
        description = json.loads((tmp_path / "run" / "run.json").read_text())
        assert description["generation"].pop("recipe")["subgraph"] == "ppr"
        (tmp_path / "run" / "run.json").write_text(json.dumps(description))
        pretrain(config, source, tmp_path / "run", resume=True)


def test_features_and_links_equal_the_graph(town_url: str, graph: nx.Graph, tmp_path: Path) -> None:
    draws = Sampling.from_strategy("gcc", kind="node")
    with open_online(town_url, "town", draws, features, Cache(tmp_path / "cache", 2**30)) as source:
        corpus, links = source.corpus(), source.links()
        np.testing.assert_array_equal(source.links(), links)  # These links come from the cache.
    with Graphkin(town_url) as server:
        items = [*server.collection("town").items()]
    names = [item.names[0] for item in items]
    linked_names = {frozenset((names[first], names[second])) for first, second in links.tolist()}
    assert linked_names == {frozenset((f"n{first}", f"n{second}")) for first, second in graph.edges}
    assert links.shape == (graph.number_of_edges(), 2)
    assert links.dtype == np.int32
    assert (source.generation.kind, corpus.size) == ("node", len(graph))
    assert corpus.centre is not None
    assert not corpus.centre.any()
    np.testing.assert_array_equal(corpus.eigenvectors, laplacian_eigenvectors(corpus))


@pytest.mark.parametrize("strategy", ["hgc-fo", "gcc"])
def test_offline_source_equals_online_and_trains_the_same(
    graphkin: Any, town_url: str, tmp_path: Path, strategy: Strategy
) -> None:
    place = ("--api", town_url, "--collection", "town", "--cache-dir", tmp_path / "cache")
    options = ("--strategy", strategy, "--seed", 3)
    assert graphkin("fetch", *place, *options, "--epochs", 2, "--output", tmp_path / "fetched").code == 0
    assert (tmp_path / "fetched" / "links.npz").exists() == (strategy == "gcc")
    draws = Sampling.from_strategy(strategy, kind="node", batch_size=32, seed=3)
    with (
        open_online(town_url, "town", draws, features, Cache(tmp_path / "other", 2**30)) as online,
        OfflineSource(tmp_path / "fetched", draws, last=1) as offline,
    ):
        assert online.generation == offline.generation
        for epoch in range(2):
            for drawn, fetched in zip(online.epoch(epoch), offline.epoch(epoch), strict=True):
                np.testing.assert_array_equal(drawn, fetched)
        assert online.corpus().columns.keys() == offline.corpus().columns.keys()
        for name, column in online.corpus().columns.items():
            np.testing.assert_array_equal(column, offline.corpus().columns[name])
        if strategy == "gcc":
            np.testing.assert_array_equal(online.links(), offline.links())
        else:
            with pytest.raises(Conflict, match="was not fetched"):
                offline.links()
    short = (*options, "--max-steps", 5, "--queue", 40)
    assert graphkin("pretrain", *place, *short, "--output", tmp_path / "online").code == 0
    assert graphkin("pretrain", "--offline", tmp_path / "fetched", *short, "--output", tmp_path / "offline").code == 0
    weights, offline_weights = read_model(tmp_path / "online"), read_model(tmp_path / "offline")
    assert all(bool((weights[name] == offline_weights[name]).all()) for name in weights)
    checkpoint = load_encoder(tmp_path / "online")
    config = checkpoint.config
    assert config is not None
    assert (checkpoint.encoder.width, config.strategy, config.draws.batch_size) == (64, strategy, 32)
    assert config.contrast is not None
    assert config.contrast.momentum is not None
    assert config.contrast.momentum.queue == 40


@pytest.mark.parametrize("strategy", ["adam", "hgc-adam-fo"])
def test_masking_of_nodes_is_refused(graphkin: Any, town_url: str, tmp_path: Path, strategy: str) -> None:
    place = ("--api", town_url, "--collection", "town", "--cache-dir", tmp_path / "cache", "--output", tmp_path / "out")
    outcome = graphkin("pretrain", *place, "--strategy", strategy, "--epochs", 1)
    assert (outcome.code, "there is nothing to mask" in outcome.err) == (2, True)


def test_gcc_without_links_is_refused(graphkin: Any, url: str, tmp_path: Path) -> None:
    place = ("--api", url, "--collection", "nci", "--cache-dir", tmp_path / "cache", "--output", tmp_path / "out")
    outcome = graphkin("pretrain", *place, "--strategy", "gcc")
    assert (outcome.code, "no big graph to walk on" in outcome.err) == (2, True)
