"""First and second order: all neighbors equal RDKit and networkx, and samples follow their distribution."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from rdkit import Chem

from graphkin.protocol.errors import Conflict
from graphkin.similarity.graphs.recipe import resolve_graphs
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store
from graphkin.store.base import Generation
from graphkin.store.contract.hierarchies import Hierarchy
from studies.reports import orders

COUNT, THRESHOLD, RUNS = 60, 0.3, 60


@pytest.fixture(scope="module")
def molecules(nci_molecules: list[Chem.Mol]) -> list[Chem.Mol]:
    return nci_molecules[:COUNT]


@pytest.fixture(scope="module")
def exact(molecules: list[Chem.Mol], generators: Any, similarities: Any) -> np.ndarray:
    similarity = similarities([generators["morgan"](molecule) for molecule in molecules])
    np.fill_diagonal(similarity, 0)
    return similarity


@pytest.fixture(scope="module")
def whole(generation: Callable[..., Generation], molecules: list[Chem.Mol]) -> Generation:
    return generation(molecules, resolve(threshold=THRESHOLD))


def test_enough_samples_are_all_neighbors(whole: Generation, exact: np.ndarray) -> None:
    """Samples are without replacement. As many samples as items find all neighbors, in both orders."""
    graph = nx.from_numpy_array(exact * (exact >= THRESHOLD))
    pairs = [exact[a, b] for near in graph.adj.values() for a in near for b in near if a < b]
    measured = orders.report(whole, 1000, [COUNT], runs=2, seed=0).measured
    assert measured["targets"] == sum(degree > 0 for _, degree in graph.degree) < COUNT
    assert [draw["order"] for draw in measured["draws"]] == ["first_order", "second_order"]
    for draw in measured["draws"]:
        for run in draw["runs"]:
            assert (run["kept"], run["pairs"]) == (2 * graph.number_of_edges(), len(pairs))
            assert run["among"] == pytest.approx(np.mean(pairs))
            assert run["target"] == pytest.approx(exact[exact >= THRESHOLD].mean())
            assert run["joined"] == pytest.approx(nx.transitivity(graph))


def test_one_sample_follows_its_distribution(whole: Generation, exact: np.ndarray) -> None:
    """The distributions are P and P + P² without the target, and only neighbors count.

    One sample has no pairs, so the figures of pairs are missing.
    """
    edges = (exact >= THRESHOLD) & (exact > 0)
    linked = edges.any(axis=1)
    first = np.where(edges, exact, 0)[linked][:, linked]
    first /= first.sum(axis=1, keepdims=True)
    both = first + first @ first
    np.fill_diagonal(both, 0)
    both /= both.sum(axis=1, keepdims=True)
    for draw, law in zip(orders.report(whole, 1000, [1], RUNS, seed=3).measured["draws"], (first, both), strict=True):
        weight = law * (first > 0)
        expected = (weight * exact[linked][:, linked]).sum() / weight.sum()
        error = draw["target"]["deviation"] / np.sqrt(RUNS)
        assert abs(draw["target"]["mean"] - expected) < 4 * error
        share = np.mean([run["kept"] for run in draw["runs"]]) / linked.sum()
        assert share == pytest.approx(weight.sum() / linked.sum(), abs=0.03)
        assert (draw["among"], draw["joined"]) == (None, None)


def test_graph_without_edges_is_refused(generation: Callable[..., Generation], molecules: list[Chem.Mol]) -> None:
    with pytest.raises(Conflict, match="no edges"):
        orders.report(generation(molecules[:3], resolve(threshold=1.0)), 10, [5], runs=1, seed=0)


def test_published_figures_appear_only_for_molecules(
    whole: Generation, hierarchy: type[Hierarchy], tmp_path: Path
) -> None:
    paths = [json.dumps({"num_nodes": n, "edges": [[v, v + 1] for v in range(n - 1)]}) for n in (5, 6)]
    items: list[dict[str, Any]] = [{"smiles": None, "inchikey": None, "names": [], "structure": text} for text in paths]
    recipe = resolve_graphs().model_dump(mode="json")
    with open_store(tmp_path, create=True) as store:
        hierarchy(items, {(0, 1): 0.9}, kind="graph", rdkit=None, recipe=recipe).publish(store, "paths")
        with store.open("paths") as graphs:
            reports = [orders.report(report, 10, [1], runs=1, seed=0) for report in (whole, graphs)]
    assert [len(report.measured["published"]) for report in reports] == [2, 0]
    assert [len(report.tables[0].rows) for report in reports] == [4, 2]
    assert [len(chart.levels) for report in reports for chart in report.charts] == [2] * 3 + [0] * 3
