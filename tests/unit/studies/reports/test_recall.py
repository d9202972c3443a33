"""Recall at several thresholds: exact degrees by RDKit, other figures by single measurements."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from rdkit import Chem

from graphkin.protocol.errors import InvalidInput
from graphkin.similarity.molecules.recipe import resolve
from graphkin.similarity.recall import measure_recall
from graphkin.store.base import Generation
from studies.reports import recall

COUNT = 250


@pytest.fixture(scope="module")
def whole(generation: Callable[..., Generation], nci_molecules: list[Chem.Mol]) -> Generation:
    return generation(nci_molecules[:COUNT], resolve(threshold=0.35))


def test_report_equals_rdkit_and_single_measurements(
    whole: Generation, nci_molecules: list[Chem.Mol], generators: Any, similarities: Any
) -> None:
    exact = similarities([generators["morgan"](molecule) for molecule in nci_molecules[:COUNT]])
    np.fill_diagonal(exact, 0)
    report = recall.report(whole, 10**6, [0.6, 0.2, 1.0], runs=2, seed=4)
    assert [runs[0]["threshold"] for runs in report.measured["runs"]] == [0.2, 0.35, 0.6, 1.0]
    for runs, row in zip(report.measured["runs"], report.tables[0].rows, strict=True):
        threshold = runs[0]["threshold"]
        degrees = (exact >= threshold).sum(axis=1)
        for seed, run in enumerate(runs, 4):
            assert run == measure_recall(whole, "window", COUNT, threshold, seed).as_dict()
            assert run["mean_degree"]["exact"] == pytest.approx(degrees.mean())
            assert run["isolated_share"]["exact"] == pytest.approx((degrees == 0).mean())
        assert row[0] == f"{threshold:g}"
        assert str(row[2]) == f"{degrees.mean():.4f} ± 0.0000"
    assert report.measured["runs"][-1][0]["recall"] is None
    assert list(report.charts[0].lines[0].x) == [0.2, 0.35, 0.6]  # no pair has similarity 1


def test_samples_differ_by_seed(whole: Generation) -> None:
    first, second = recall.report(whole, 50, [0.3], runs=2, seed=0).measured["runs"][0]
    assert first["sample"] == 50
    assert first != second


def test_threshold_out_of_range_is_refused(whole: Generation) -> None:
    with pytest.raises(InvalidInput, match="cannot be measured"):
        recall.report(whole, 10, [1.5], runs=1, seed=0)
