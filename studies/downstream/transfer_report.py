"""Markdown report of the cells that `studies.downstream.transfer` measured."""

from collections.abc import Iterator, Mapping

import numpy as np

from studies.cells import Cell
from studies.downstream.comparison import over_splits
from studies.downstream.graph_report import FINETUNED, SETS, TEST_SHARE
from studies.downstream.report import count_of

ARMS: Mapping[str, str] = {
    "untrained": "initial weights",
    "calibrated": "initial weights, calibrated on graphs",
    "exact": "HGC(FO)",
    "shuffled": "HGC(FO), positives shuffled",
    "augmented": "HGC(FO), damaged copies",
    "rdm": "RdM, loss over all",
    "adam": "AdaM",
    "context-pred": "Context_Pred",
    "s-context-pred": "Context_Pred, then with labels",
}
"""Title of each arm by the name of its cells. The first arm is the reference."""

Cells = Mapping[tuple[str, int], Cell]


def report(cells: Cells) -> str:
    seeds = sorted({seed for _, seed in cells})
    lines = [f"Accuracy on stratified folds, paired, {count_of(len(seeds), 'seed')}. Bold: 0 is outside.", ""]
    lines += [*_table(cells, "frozen", SETS), "", *_table(cells, "finetuned", FINETUNED), ""]
    return "\n".join(lines)


def _table(cells: Cells, score: str, sets: tuple[str, ...]) -> Iterator[str]:
    yield f"| {score} | {' | '.join(f'{name} | minus initial weights' for name in sets)} |"
    yield f"|---|{'---|---|' * len(sets)}"
    for arm, title in ARMS.items():
        seeds = sorted(seed for name, seed in cells if name == arm and cells[name, seed][score])
        if not seeds:
            continue
        row = []
        for name in sets:
            scores, control = (
                np.array([cells[each, seed][score][name] for seed in seeds]) for each in (arm, "untrained")
            )
            row += [
                f"{scores.mean():.4f}",
                "" if arm == "untrained" else str(over_splits(scores - control, TEST_SHARE)),
            ]
        yield f"| {title} | {' | '.join(row)} |"
