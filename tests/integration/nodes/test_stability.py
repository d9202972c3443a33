"""The stability of a collection of nodes, against ingests of the changed network."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from graphkin.ingest import stability
from graphkin.protocol.manifest import Stability
from graphkin.store.base import Generation

KARATE = nx.karate_club_graph()
WITHOUT_TWINS = nx.gnp_random_graph(50, 0.2, seed=1)
AIR = nx.powerlaw_cluster_graph(2000, 3, 0.3, seed=5)


def named_edges(generation: Generation) -> set[frozenset[str]]:
    names = [item["names"][0] for item in generation.items(range(generation.size))]
    pairs = (zip(block.source, block.target, strict=True) for block in generation.edges())
    return {frozenset((names[a], names[b])) for block in pairs for a, b in block}


@pytest.mark.parametrize("recipe", [{"top_k": 3}, {"top_k": 0, "threshold": 0.6}, {"preset": "paper"}])
def test_share_of_links_equals_an_ingest_without_them(
    generation: Callable[..., Generation], recipe: dict[str, Any]
) -> None:
    whole = generation(WITHOUT_TWINS, **recipe)
    links = whole.links()
    assert links is not None
    owner = np.repeat(np.arange(whole.size), np.diff(links.indptr))
    random = np.random.default_rng(0)
    random.choice(whole.size, whole.size, replace=False)
    source, target = owner[owner < links.indices], links.indices[owner < links.indices]
    is_kept = random.random(len(source)) >= stability.LOST_LINKS
    names = [int(item["names"][0]) for item in whole.items(range(whole.size))]
    rest = nx.Graph([(names[a], names[b]) for a, b in zip(source[is_kept], target[is_kept], strict=True)])
    assert 0 < WITHOUT_TWINS.number_of_edges() - rest.number_of_edges() < 15
    assert len(rest) == len(WITHOUT_TWINS)
    before, after = named_edges(whole), named_edges(generation(rest, **recipe))
    share = len(before & after) / len(before)
    assert whole.manifest.stability == Stability(change="links", share=share, nodes=50)
    assert 0.3 < share < 1


def test_share_of_seeds_grows_with_the_number_of_walks(generation: Callable[..., Generation]) -> None:
    results = [generation(KARATE, subgraph="walks", walks=walks).manifest.stability for walks in (5, 20_000)]
    few, many = (result for result in results if result is not None)
    assert (few.change, many.change) == ("seed", "seed")
    assert few.share < 0.7 < 0.9 < many.share <= 1


def test_large_collection_is_sampled(generation: Callable[..., Generation], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = generation(AIR).manifest.stability
    monkeypatch.setattr(stability, "SAMPLE", 700)
    sample = generation(AIR).manifest.stability
    assert whole is not None
    assert sample is not None
    assert (whole.nodes, sample.nodes) == (2000, 700)
    assert sample.share == pytest.approx(whole.share, abs=0.1)


def test_collection_without_edges_or_by_distance_has_no_stability(generation: Callable[..., Generation]) -> None:
    no_edges = generation(WITHOUT_TWINS, threshold=1.0).manifest
    assert (no_edges.edges, no_edges.stability) == (0, None)
    assert generation(KARATE, kernel="proximity").manifest.stability is None


def test_info_shows_the_stability(graphkin: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "club.edgelist").write_text("".join(f"{u} {v}\n" for u, v in KARATE.edges))
    place = ("--store", tmp_path / "store", "--collection", "c")
    assert graphkin("ingest", "nodes", "club.edgelist", *place).code == 0
    measured = json.loads(graphkin("info", *place, "--json").out)["manifest"]["stability"]
    assert (measured["change"], measured["nodes"]) == ("links", 34)
    line = f"stability: {measured['share']:.0%} of the edges remain without 2 % of the links (measured among 34 nodes)"
    assert line in graphkin("info", *place).out
