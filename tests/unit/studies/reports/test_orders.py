"""First and second order: all neighbours, by RDKit and NetworkX; one draw, by the laws that they are drawn by."""

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


def test_enough_draws_are_all_neighbours(whole: Generation, exact: np.ndarray) -> None:
    """Draws are without replacement, so that as many as there are items find every neighbour, in either order."""
    joined = nx.from_numpy_array(exact * (exact >= THRESHOLD))
    pairs = [exact[a, b] for near in joined.adj.values() for a in near for b in near if a < b]
    made = orders.report(whole, 1000, [COUNT], runs=2, seed=0).measured
    assert made["targets"] == sum(degree > 0 for _, degree in joined.degree) < COUNT
    assert [drawn["order"] for drawn in made["draws"]] == ["first_order", "second_order"]
    for drawn in made["draws"]:
        for run in drawn["runs"]:
            assert (run["kept"], run["pairs"]) == (2 * joined.number_of_edges(), len(pairs))
            assert run["among"] == pytest.approx(np.mean(pairs))
            assert run["target"] == pytest.approx(exact[exact >= THRESHOLD].mean())
            assert run["joined"] == pytest.approx(nx.transitivity(joined))


def test_one_draw_follows_its_law(whole: Generation, exact: np.ndarray) -> None:
    """P and P + P² without the target itself, of which the neighbours count; no pairs, and so no figures of them."""
    kept = (exact >= THRESHOLD) & (exact > 0)
    linked = kept.any(axis=1)
    first = np.where(kept, exact, 0)[linked][:, linked]
    first /= first.sum(axis=1, keepdims=True)
    both = first + first @ first
    np.fill_diagonal(both, 0)
    both /= both.sum(axis=1, keepdims=True)
    for drawn, law in zip(orders.report(whole, 1000, [1], RUNS, seed=3).measured["draws"], (first, both), strict=True):
        weight = law * (first > 0)
        expected = (weight * exact[linked][:, linked]).sum() / weight.sum()
        error = drawn["target"]["deviation"] / np.sqrt(RUNS)
        assert abs(drawn["target"]["mean"] - expected) < 4 * error
        share = np.mean([run["kept"] for run in drawn["runs"]]) / linked.sum()
        assert share == pytest.approx(weight.sum() / linked.sum(), abs=0.03)
        assert (drawn["among"], drawn["joined"]) == (None, None)


def test_without_edges(generation: Callable[..., Generation], molecules: list[Chem.Mol]) -> None:
    with pytest.raises(Conflict, match="no edges"):
        orders.report(generation(molecules[:3], resolve(threshold=1.0)), 10, [5], runs=1, seed=0)


def test_published_figures_are_of_molecules(whole: Generation, hierarchy: type[Hierarchy], tmp_path: Path) -> None:
    paths = [json.dumps({"num_nodes": n, "edges": [[v, v + 1] for v in range(n - 1)]}) for n in (5, 6)]
    items: list[dict[str, Any]] = [{"smiles": None, "inchikey": None, "names": [], "structure": text} for text in paths]
    recipe = resolve_graphs().model_dump(mode="json")
    with open_store(tmp_path, create=True) as store:
        hierarchy(items, {(0, 1): 0.9}, kind="graph", rdkit=None, recipe=recipe).publish(store, "paths")
        with store.open("paths") as graphs:
            made = [orders.report(each, 10, [1], runs=1, seed=0) for each in (whole, graphs)]
    assert [len(each.measured["published"]) for each in made] == [2, 0]
    assert [len(each.tables[0].rows) for each in made] == [4, 2]
    assert [len(chart.levels) for each in made for chart in each.charts] == [2] * 3 + [0] * 3
