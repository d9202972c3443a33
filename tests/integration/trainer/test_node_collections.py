"""Collections of nodes from a real ingest and server: features, links, both sources, and training from either."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from graphkin.cli import run
from graphkin.client import Graphkin
from graphkin.protocol.errors import Conflict
from graphkin.trainer.features.eigenvectors import laplacian_eigenvectors
from graphkin.trainer.feed.cache import Cache
from graphkin.trainer.feed.kinds import features
from graphkin.trainer.feed.offline import OfflineSource
from graphkin.trainer.feed.online import open_online
from graphkin.trainer.pretraining.checkpoint import read_model
from graphkin.trainer.pretraining.pretrained import load_encoder
from graphkin.trainer.strategy import Sampling, Strategy


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
