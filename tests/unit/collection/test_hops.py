"""Similarity by distance in the graph, compared with networkx and RDKit."""

from collections.abc import Callable, Sequence
from typing import Any

import networkx as nx
import numpy as np
import pytest
from rdkit import Chem

from graphkin.collection.hops import similarity_by_hop
from graphkin.similarity.kinds import kind_of
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store.base import Generation

COUNT = 150


@pytest.fixture(scope="module")
def molecules(nci_molecules: list[Chem.Mol]) -> list[Chem.Mol]:
    return nci_molecules[:COUNT]


@pytest.fixture(scope="module")
def exact(molecules: list[Chem.Mol], generators: Any, similarities: Any) -> np.ndarray:
    return similarities([generators["morgan"](molecule) for molecule in molecules])


@pytest.fixture(scope="module")
def whole(generation: Callable[..., Generation], molecules: Sequence[Chem.Mol]) -> Generation:
    return generation(molecules, resolve(threshold=0.3))


@pytest.mark.parametrize("threshold", [None, 0.35, 0.45])
def test_statistics_of_each_hop_equal_networkx(whole: Generation, exact: np.ndarray, threshold: float | None) -> None:
    """Every molecule is a target, and few enough are at each hop that all are compared."""
    graph = nx.empty_graph(COUNT)
    graph.add_edges_from(zip(*np.nonzero(np.triu(exact, 1) >= (threshold or 0.3)), strict=True))
    hops = similarity_by_hop(whole, kind_of(whole).search(whole), threshold, COUNT, 4)
    values: dict[int, list[float]] = {}
    for source, distances in nx.all_pairs_shortest_path_length(graph, 4):
        for target, hop in distances.items():
            if hop:
                values.setdefault(hop, []).append(exact[source, target])
    most = {hop: max(map(len, _layers(graph, hop))) for hop in values}
    for hop in hops:
        if most[hop.hop] > 50:
            continue
        assert hop.pairs == len(values[hop.hop])
        assert hop.mean == pytest.approx(np.mean(values[hop.hop]), abs=1e-9)
        assert hop.deviation == pytest.approx(np.std(values[hop.hop]), abs=1e-9)
    assert [hop.hop for hop in hops] == sorted(values)
    assert any(most[hop.hop] <= 50 for hop in hops)


def _layers(graph: nx.Graph, hop: int) -> list[list[int]]:
    distances = dict(nx.all_pairs_shortest_path_length(graph, hop))
    return [[target for target, far in distances[source].items() if far == hop] for source in graph]


def test_seed_fixes_the_sample_of_at_most_fifty_items_per_hop(whole: Generation) -> None:
    search = kind_of(whole).search(whole)
    once = similarity_by_hop(whole, search, None, 20, 3, seed=1)
    assert once == similarity_by_hop(whole, search, None, 20, 3, seed=1)
    assert once != similarity_by_hop(whole, search, None, 20, 3, seed=2)
    assert all(hop.pairs <= 20 * 50 for hop in once)


def test_graph_without_edges_has_no_hops(generation: Callable[..., Generation], molecules: list[Chem.Mol]) -> None:
    alone = generation(molecules[:3], resolve(threshold=1.0))
    assert similarity_by_hop(alone, kind_of(alone).search(alone), None, 3, 4) == []
