"""Collections of graphs from a real ingest and server: features, both sources, and training from either."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from graphkin.cli import run
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.feed.cache import Cache
from graphkin.trainer.feed.kinds import features
from graphkin.trainer.feed.offline import OfflineSource
from graphkin.trainer.feed.online import open_online
from graphkin.trainer.pretraining.checkpoint import read_model, read_run
from graphkin.trainer.strategy import Sampling, Strategy


@pytest.fixture(scope="module")
def graphs() -> list[nx.Graph]:
    """Return 300 graphs, because there are 255 shared negatives."""
    return [nx.gnp_random_graph(10 + number % 20, 0.3, seed=number) for number in range(300)]


@pytest.fixture(scope="module")
def social_url(
    graphs: list[nx.Graph],
    serve: Callable[..., AbstractContextManager[str]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    """Yield the URL of a server of the collection `social`."""
    folder = tmp_path_factory.mktemp("social")
    lines = [
        {"name": f"g{number}", "num_nodes": len(graph), "edges": [*graph.edges]} for number, graph in enumerate(graphs)
    ]
    (folder / "graphs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    place = ("--format", "jsonl", "--store", str(folder / "store"), "--collection", "social")
    assert run(["ingest", "graphs", str(folder / "graphs.jsonl"), *place]) == 0
    with serve(folder / "store") as url:
        yield url


def sorted_edges(corpus: Corpus, item: int) -> list[tuple[int, int]]:
    """Return each edge once, in ascending order."""
    nodes = slice(corpus.atom_offsets[item], corpus.atom_offsets[item + 1])
    edges = slice(corpus.edge_offsets[item], corpus.edge_offsets[item + 1])
    targets = np.repeat(np.arange(corpus.atoms[item]), corpus.degree[nodes])
    pairs = zip(corpus.source[edges].tolist(), targets.tolist(), strict=True)
    return sorted(pair for pair in pairs if pair[0] < pair[1])


def test_features_equal_the_graphs(social_url: str, graphs: list[nx.Graph], tmp_path: Path) -> None:
    with open_online(
        social_url, "social", Sampling.from_strategy("hgc-fo"), features, Cache(tmp_path / "cache", 2**30)
    ) as source:
        corpus = source.corpus()
    assert (source.generation.kind, corpus.size) == ("graph", len(graphs))
    for item, graph in enumerate(graphs):
        assert corpus.atoms[item] == len(graph)
        assert sorted_edges(corpus, item) == sorted(tuple(sorted(edge)) for edge in graph.edges)


@pytest.mark.parametrize("strategy", ["hgc-fo", "hgc-ho"])
@pytest.mark.long
def test_offline_source_equals_online_and_trains_the_same(
    graphkin: Any, social_url: str, tmp_path: Path, strategy: Strategy
) -> None:
    place = ("--api", social_url, "--collection", "social", "--cache-dir", tmp_path / "cache")
    options = ("--strategy", strategy, "--encoder", "gcn", "--seed", 3)
    assert graphkin("fetch", *place, *options, "--epochs", 2, "--output", tmp_path / "fetched").code == 0
    draws = Sampling.from_strategy(strategy, encoder="gcn", batch_size=32, seed=3)
    with (
        open_online(social_url, "social", draws, features, Cache(tmp_path / "other", 2**30)) as online,
        OfflineSource(tmp_path / "fetched", draws, last=1) as offline,
    ):
        assert online.generation == offline.generation
        for epoch in range(2):
            for drawn, fetched in zip(online.epoch(epoch), offline.epoch(epoch), strict=True):
                np.testing.assert_array_equal(drawn, fetched)
        for name, column in online.corpus().columns.items():
            np.testing.assert_array_equal(column, offline.corpus().columns[name])
    short = (*options, "--max-steps", 3)
    assert graphkin("pretrain", *place, *short, "--output", tmp_path / "online").code == 0
    assert graphkin("pretrain", "--offline", tmp_path / "fetched", *short, "--output", tmp_path / "offline").code == 0
    assert read_run(tmp_path / "online")["config"]["draws"]["batch_size"] == 32
    weights, offline_weights = read_model(tmp_path / "online"), read_model(tmp_path / "offline")
    assert all(bool((weights[name] == offline_weights[name]).all()) for name in weights)


@pytest.mark.parametrize("strategy", ["edge-pred", "infomax", "context-pred"])
def test_baselines_without_atoms_learn_from_graphs(
    graphkin: Any, social_url: str, tmp_path: Path, strategy: str
) -> None:
    place = (
        "--api",
        social_url,
        "--collection",
        "social",
        "--cache-dir",
        tmp_path / "cache",
        "--output",
        tmp_path / "run",
    )
    outcome = graphkin("pretrain", *place, "--strategy", strategy, "--encoder", "sage", "--max-steps", 2)
    assert outcome.code == 0, outcome.err
    assert read_run(tmp_path / "run")["config"]["draws"]["batch_size"] == 32
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [each["loss"] for each in lines] == pytest.approx([each["positives"] + each["negatives"] for each in lines])


@pytest.mark.parametrize("strategy", ["adam", "rdm", "hgc-adam-fo", "hgc-adam-ho"])
@pytest.mark.parametrize("command", ["fetch", "pretrain"])
def test_masking_of_graphs_is_refused(
    graphkin: Any, social_url: str, tmp_path: Path, command: str, strategy: str
) -> None:
    place = (
        "--api",
        social_url,
        "--collection",
        "social",
        "--cache-dir",
        tmp_path / "cache",
        "--output",
        tmp_path / "out",
    )
    outcome = graphkin(command, *place, "--strategy", strategy, "--epochs", 1)
    assert (outcome.code, "there is nothing to mask" in outcome.err) == (2, True)
    assert "Traceback" not in outcome.err
