"""The report on nodes: each arm with its differences, null models, and the published rows."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from studies.downstream.comparison import over_splits
from studies.downstream.node_report import ARMS, ENCODERS, NULLS, PRETRAINED, NodeResults, report

FOLDS = range(10)


def accuracy(arm: str, seed: int, fold: int) -> float:
    base = {"majority": 0.25, "degree": 0.5, "random": 0.5, "gcc": 0.6, "hgc-fo": 0.62, "hgc-ho": 0.62}[arm]
    return base + 0.01 * ((fold * 7 + [*ARMS].index(arm) * 3 + seed) % 5)


def results(seeds: Sequence[int], name: str = "usa-airports") -> NodeResults:
    times = {"seconds": 60.0, "processor_seconds": 120.0}
    data = {"name": name, "encoder": "gin-gcc", "nodes": 1190, "classes": 4, "edges": 13_599}
    synthetic = NodeResults(100, 5, [*seeds], data=data)
    synthetic.ingest.update({"nodes": 76_219, "edges": 1_000_000, "links": 725_809, "seconds": 60.0})
    for arm in NULLS:
        synthetic.frozen[arm, 0] = {"scores": [accuracy(arm, 0, fold) for fold in FOLDS], **times}
    for seed in seeds:
        for strategy in PRETRAINED:
            synthetic.pretraining[strategy, seed] = times
        for arm in ENCODERS:
            synthetic.frozen[arm, seed] = {"scores": [accuracy(arm, seed, fold) for fold in FOLDS], **times}
            for fold in FOLDS:
                synthetic.finetuning[arm, seed, fold] = {"accuracy": 0.1 + accuracy(arm, seed, fold), **times}
    return synthetic


def row(text: str, *prefix: str, place: int = 0) -> list[str]:
    """Return a row of the report. Scores come first, times at the end."""
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    return [each for each in cells if each[: len(prefix)] == [*prefix]][place]


@pytest.mark.parametrize("seeds", [(0,), (0, 1, 2)])
def test_report_has_each_arm_with_its_differences(seeds: Sequence[int]) -> None:
    synthetic = results(seeds)
    text = report(synthetic)
    for label, finetuned in (("frozen", False), ("fine-tuned", True)):
        scores = {arm: synthetic.scores(arm, finetuned) for arm in ARMS}
        assert scores["hgc-ho"].shape == scores["degree"].shape == (len(seeds), 10)
        cells = row(text, label, "HGC(HO)")
        assert cells[2].startswith(f"{scores['hgc-ho'].mean():.4f} ± ")
        others = ["degree", "random", "gcc", "hgc-fo"]
        assert cells[3:7] == [str(over_splits(scores["hgc-ho"] - scores[other], 1 / 9)) for other in others]
        assert cells[7] == f"{scores['hgc-ho'][:, 0].mean():.4f}"
        assert row(text, label, "GCC")[5:7] == ["", ""]
    assert row(text, "frozen", "most frequent class")[3:7] == [""] * 4
    assert row(text, "frozen", "degrees")[2].startswith(f"{np.mean(synthetic.frozen['degree', 0]['scores']):.4f}")
    assert "of these 20 intervals" in text
    assert "nan" not in text


def test_report_has_published_rows_and_times() -> None:
    text = report(results([0, 1]))
    assert row(text, "GIN HGC, pre-trained on AP_NF (T3)")[1] == ".706"
    assert row(text, "Struc2vec (T3)")[1] == ".662"
    assert row(text, "pre-training", "GCC")[2] == "2.0 (4.0)"
    assert row(text, "fine-tuning", "scratch")[2] == "20.0 (40.0)"
    assert row(text, "frozen", "degrees", place=-1)[2] == "1.0 (2.0)"
    assert row(text, "frozen", "HGC(FO)", place=-1)[2] == "2.0 (4.0)"
    assert "76,219 nodes of big graphs" in text


def test_report_names_the_graph_and_has_published_rows_for_us_airport_alone() -> None:
    text = report(results([0], "github"))
    assert text.startswith("## github, gin-gcc\n")
    assert "T3" not in text


def test_report_without_fine_tuning_has_frozen_encoders_only() -> None:
    frozen = replace(results((0, 1)), epochs=0, finetuning={})
    text = report(frozen)
    assert "fine-tun" not in text
    assert row(text, "frozen", "HGC(HO)")[2].startswith(f"{frozen.scores('hgc-ho', False).mean():.4f} ± ")
