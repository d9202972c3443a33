"""The report on augmented views: figures of each run, published figures, and levels by brute force."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rdkit import Chem

from graphkin.similarity.graphs.recipe import resolve_graphs
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store
from graphkin.store.base import Generation
from graphkin.store.contract.hierarchies import Hierarchy
from studies.reports import augmentations
from studies.reports.copies import Damage, MoleculeSample
from studies.reports.report import Spread

COUNT, THRESHOLD = 12, 0.2


def test_report_on_molecules_has_runs_levels_and_published_figures(
    generation: Callable[..., Generation], nci_molecules: list[Chem.Mol], generators: Any, similarities: Any
) -> None:
    molecules = nci_molecules[:COUNT]
    whole = generation(molecules, resolve(threshold=THRESHOLD))
    report = augmentations.report(whole, 1000, runs=2, seed=7)

    damage, runs = Damage("drop-edges", 0.2), []
    for seed in (7, 8):
        ids = np.random.default_rng(seed).choice(COUNT, COUNT, replace=False).astype(np.int32)
        runs.append(MoleculeSample(whole, ids).copies(damage, (seed,)).figures())
    assert runs[0] != runs[1]
    copies = {
        (figure["way"], figure["ratio"]): figure for figure in report.measured["copies"] if figure["way"] != "walk"
    }
    for name in ("legal", "target", "between", "target_or_0"):
        figure = copies["drop-edges", 0.2][name]
        assert figure["runs"] == [run[name] for run in runs]
        assert figure["mean"] == pytest.approx(np.mean(figure["runs"]))
        assert figure["deviation"] == pytest.approx(np.std(figure["runs"], ddof=1))
    json.dumps(report.measured, allow_nan=False)

    exact = similarities([generators["morgan"](molecule) for molecule in molecules])
    np.fill_diagonal(exact, 0)
    neighbors = [row[row >= THRESHOLD] for row in exact]
    first_order = np.mean([row.mean() for row in neighbors if len(row)])
    assert 0 < len([row for row in neighbors if len(row)]) <= COUNT
    assert report.measured["first_order_similarity"] == pytest.approx(first_order, abs=1e-7)
    legal, target, between = report.charts
    assert [level.y for level in legal.levels] == [copies["drop-nodes", 0.0]["legal"]["mean"]]
    assert [level.y for level in (*target.levels, *between.levels)] == pytest.approx([first_order] * 2, abs=1e-7)
    (line,) = (line for line in between.lines if line.label == "drop-edges")
    assert line.y == [copies["drop-edges", ratio]["between"]["mean"] for ratio in line.x]

    rows: dict[tuple[Any, ...], Any] = {tuple(row[:2]): row[2:] for row in report.tables[0].rows}
    assert rows["none", None][:1] == (Spread.from_values(copies["drop-nodes", 0.0]["legal"]["runs"]),)
    assert rows["none", None][-2:] == rows["subgraph", "0.10"][-2:] == (None, None)
    assert rows["drop-edges", "0.25"][-2:] == (0.0224, 0.2736)
    assert rows["mask", "0.10"][-2:] == (0.014, 0.472)
    assert rows["subgraph-published", "0.80"][-2:] == (0.506, 0.00223)
    assert rows["walk", "0.8"][-2:] == (0.2708, 0.2405)


def test_report_on_graphs_has_no_legality_and_no_masks(hierarchy: type[Hierarchy], tmp_path: Path) -> None:
    """Rings without one node are paths, whichever node it was. The third ring has no neighbor."""
    rings = [sorted([[0, n - 1], *([v, v + 1] for v in range(n - 1))]) for n in (5, 6, 9)]
    texts = [json.dumps({"num_nodes": len(edges), "edges": edges}) for edges in rings]
    items: list[dict[str, Any]] = [{"smiles": None, "inchikey": None, "names": [], "structure": text} for text in texts]
    recipe = resolve_graphs().model_dump(mode="json")
    with open_store(tmp_path, create=True) as store:
        hierarchy(items, {(0, 1): 0.75}, kind="graph", rdkit=None, recipe=recipe).publish(store, "rings")
        with store.open("rings") as whole:
            report = augmentations.report(whole, 1000, runs=1, seed=0)
    copies = {(figure["way"], figure["ratio"]): figure for figure in report.measured["copies"]}
    assert copies["drop-nodes", 0.0]["target"] == {"mean": 1.0, "deviation": None, "runs": [1.0]}
    assert copies["drop-nodes", 0.1]["between"]["mean"] == pytest.approx(1)
    assert copies["drop-nodes", 0.1]["target"]["mean"] < 0.9
    assert "legal" not in copies["drop-nodes", 0.1]
    assert ("mask", 0.1) not in copies
    assert [[level.y for level in chart.levels] for chart in report.charts] == [[0.75, 0.3467]] * 2
    assert len(report.tables) == 1
