"""Similarity against hops, of so few molecules that every pair is compared: NetworkX's hops, RDKit's similarities."""

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
from rdkit import Chem

from graphkin.protocol.errors import Conflict
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store.base import Generation
from studies.reports import hops

COUNT, THRESHOLD = 45, 0.25


def test_every_figure(
    generation: Callable[..., Generation], nci_molecules: list[Chem.Mol], generators: Any, similarities: Any
) -> None:
    molecules = nci_molecules[:COUNT]
    exact = similarities([generators["morgan"](molecule) for molecule in molecules])
    made = hops.report(generation(molecules, resolve(threshold=THRESHOLD)), 1000, runs=2, seed=5, max_hops=3)

    joined = nx.from_numpy_array(np.triu(exact, 1) >= THRESHOLD)
    values: dict[int, list[float]] = {}
    for source, distances in nx.all_pairs_shortest_path_length(joined, 3):
        for target, hop in distances.items():
            values.setdefault(hop, []).append(exact[source, target])
    expected = {hop: np.mean(values[hop]) for hop in sorted(values) if hop}
    assert len(expected) == 3
    assert (list(made.seeds), made.measured["targets"]) == ([5, 6], COUNT)
    assert {each["hop"]: each["mean"] for each in made.measured["hops"]} == pytest.approx(expected, abs=1e-9)
    assert [[run["pairs"] for run in each["runs"]] for each in made.measured["hops"]] == [
        [len(values[hop])] * 2 for hop in expected
    ]
    everything = np.mean(exact[~np.eye(COUNT, dtype=bool)])
    assert made.measured["random pairs"]["mean"] == pytest.approx(everything, abs=1e-9)
    ((line,), (level,)) = made.charts[0].lines, made.charts[0].levels
    assert dict(zip(line.x, line.y, strict=True)) == pytest.approx(expected, abs=1e-9)
    assert level.y == pytest.approx(everything, abs=1e-9)
    assert line.deviation == pytest.approx([0, 0, 0], abs=1e-9)  # every run saw all


def test_without_edges(generation: Callable[..., Generation], nci_molecules: list[Chem.Mol]) -> None:
    with pytest.raises(Conflict, match="no edges"):
        hops.report(generation(nci_molecules[:3], resolve(threshold=1.0)), 10, runs=1, seed=0, max_hops=3)
