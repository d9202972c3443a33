"""Tables of results, from synthetic results."""

import re

import numpy as np
import pytest

from studies.downstream.comparison import over_splits
from studies.downstream.report import FINETUNED, INTERPRETED, PRETRAINED, UNINTERPRETED, Results, report

GAIN = {"random": 0.0, "rdm": 0.0, "rdm-all": 0.0, "adam": 0.0, "hgc-fo": 0.1, "morgan": -0.1}


def results(seeds: int) -> Results:
    """Return results in which HGC is better by 0.1, and Morgan worse. The noise is a tenth of that."""
    random = np.random.default_rng(1)
    synthetic = Results(2000, 64, 40, True, {}, {}, {})
    for seed in range(seeds):
        for strategy in PRETRAINED:
            synthetic.pretraining[strategy, seed] = {"seconds": 600.0, "processor_seconds": 540.0}
        for name in (*INTERPRETED, *UNINTERPRETED):
            split = random.normal(0.7, 0.05, 10)  # all arms share it
            for arm, gain in GAIN.items():
                scores = [
                    {"auc": auc, "omitted": 0.25 if name == "sider" else 0.0, "train": 800, "test": 100}
                    for auc in split + gain + random.normal(0, 0.005, 10)
                ]
                synthetic.probes[name, arm, seed] = {"scores": scores, "seconds": 12.0}
        for name in FINETUNED:
            for arm in ("random", *PRETRAINED):
                auc = 0.8 + GAIN[arm] + random.normal(0, 0.005)
                cell = {"auc": auc, "late_auc": auc - 0.2}
                synthetic.finetuning[name, arm, seed] = {**cell, "seconds": 120.0, "processor_seconds": 60.0}
    return synthetic


def rows(text: str, name: str, arm: str) -> list[list[str]]:
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    return [row for row in cells if row[:2] == [name, arm]]


def test_better_arms_are_reported_with_their_error() -> None:
    synthetic = results(3)
    text = report(synthetic)
    probe, finetuning, late = rows(text, "BACE", "HGC(FO)")
    expected = over_splits(synthetic.probe("bace", "hgc-fo") - synthetic.probe("bace", "rdm"), 0.125)
    assert probe[4] == (f"**{expected.mean:+.4f} ± {expected.error:.4f} [{expected.low:+.4f}, {expected.high:+.4f}]**")
    assert probe[2].startswith(f"{synthetic.probe('bace', 'hgc-fo').mean():.4f} ± ")
    assert re.match(r"\*\*\+0\.(09|10)\d+ ± ", finetuning[3])
    assert float(late[2].split()[0]) == pytest.approx(float(finetuning[2].split()[0]) - 0.2, abs=1.1e-4)
    assert late[3:] == finetuning[3:]
    assert "0.25" not in text
    assert "SIDER 25.0%" in text


def test_arms_without_an_effect_are_reported() -> None:
    text = report(results(3))
    for name in ("BACE", "BBBP", "SIDER", "Tox21", "ClinTox"):
        assert len(rows(text, name, "AdaM")[0]) == 6
        assert "**" not in "".join(rows(text, name, "AdaM")[0])
    # Each set compares HGC and Morgan with three arms: 48 = 4 (1 + 2 + 3 + 3 + 3).
    assert "outside 24 of these 48 intervals" in text


def test_pairs_are_compared_once() -> None:
    text = report(results(2))
    assert rows(text, "BACE", "random init")[0][3:] == ["", "", ""]
    assert rows(text, "BACE", "RdM")[0][4:] == ["", ""]
    assert rows(text, "BACE", "RdM, loss over all")[0][4] != ""
    assert rows(text, "BACE", "Morgan + LR")[0][4].startswith("**-0.")


def test_report_of_one_seed_has_no_error() -> None:
    text = report(results(1))
    assert "1 pre-training seed." in text
    assert "nan" not in text
    _, finetuning, _ = rows(text, "BBBP", "AdaM")
    assert re.fullmatch(r"[+-]0\.\d{4}", finetuning[3])


@pytest.mark.parametrize(
    ("arm", "minutes"),
    [
        ("RdM", ["10.0 (9.0)", "1.0", "4.0 (2.0)"]),
        ("random init", ["", "1.0", "4.0 (2.0)"]),
        ("Morgan + LR", ["", "1.0", ""]),
    ],
)
def test_report_has_wall_times_per_seed(arm: str, minutes: list[str]) -> None:
    text = report(results(2))
    assert f"| {arm} | {' | '.join(minutes)} |" in text
