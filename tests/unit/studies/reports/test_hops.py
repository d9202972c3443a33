"""Similarity by distance for few molecules, with all pairs compared: distances by networkx, similarities by RDKit."""

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


def test_report_equals_networkx_and_rdkit(
    generation: Callable[..., Generation], nci_molecules: list[Chem.Mol], generators: Any, similarities: Any
) -> None:
    molecules = nci_molecules[:COUNT]
    exact = similarities([generators["morgan"](molecule) for molecule in molecules])
    report = hops.report(generation(molecules, resolve(threshold=THRESHOLD)), 1000, runs=2, seed=5, max_hops=3)

    graph = nx.from_numpy_array(np.triu(exact, 1) >= THRESHOLD)
    values: dict[int, list[float]] = {}
    for source, distances in nx.all_pairs_shortest_path_length(graph, 3):
        for target, hop in distances.items():
            values.setdefault(hop, []).append(exact[source, target])
    expected = {hop: np.mean(values[hop]) for hop in sorted(values) if hop}
    assert len(expected) == 3
    assert (list(report.seeds), report.measured["targets"]) == ([5, 6], COUNT)
    assert {entry["hop"]: entry["mean"] for entry in report.measured["hops"]} == pytest.approx(expected, abs=1e-9)
    assert [[run["pairs"] for run in entry["runs"]] for entry in report.measured["hops"]] == [
        [len(values[hop])] * 2 for hop in expected
    ]
    everything = np.mean(exact[~np.eye(COUNT, dtype=bool)])
    assert report.measured["random pairs"]["mean"] == pytest.approx(everything, abs=1e-9)
    ((line,), (level,)) = report.charts[0].lines, report.charts[0].levels
    assert dict(zip(line.x, line.y, strict=True)) == pytest.approx(expected, abs=1e-9)
    assert level.y == pytest.approx(everything, abs=1e-9)
    assert line.deviation == pytest.approx([0, 0, 0], abs=1e-9)  # each run compared all pairs


def test_graph_without_edges_is_refused(generation: Callable[..., Generation], nci_molecules: list[Chem.Mol]) -> None:
    with pytest.raises(Conflict, match="no edges"):
        hops.report(generation(nci_molecules[:3], resolve(threshold=1.0)), 10, runs=1, seed=0, max_hops=3)
