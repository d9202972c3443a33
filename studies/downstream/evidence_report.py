"""Markdown report of the cells that `studies.downstream.evidence` measured."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from statsmodels.stats.multitest import multipletests

from studies.cells import Cell
from studies.downstream.comparison import Difference, over_seeds, over_splits, random_effects

ARMS: Mapping[str, str] = {
    "untrained": "initial weights",
    "morgan": "Morgan + LR",
    "exact": "exact",
    "shuffled": "shuffled",
    "augmented": "damaged copies",
    "window": "window",
    "size-matched": "of like size",
    "rdm": "RdM, loss over all",
    "adam": "AdaM",
    "exact-ho": "exact, high order",
    "exact-0.5": "exact, τ .5",
    "exact-0.6": "exact, τ .6",
    "exact-0.7": "exact, τ .7",
    "exact-gcn": "exact, GCN",
    "exact-sage": "exact, GraphSAGE",
    "context-pred": "Context_Pred",
}
"""Title of each arm by the name of its cells, in order of measurement."""

SETS: Mapping[str, str] = {"bace": "BACE", "bbbp": "BBBP", "sider": "SIDER", "tox21": "Tox21", "hiv": "HIV"}
CONTRASTS = (("exact", "shuffled"), ("exact", "augmented"), ("exact", "window"), ("exact", "size-matched"))
"""Contrasts fixed before the measurement. Differences are the first arm minus the second."""

Cells = Mapping[tuple[str, int], Cell]


class Pooled(NamedTuple):
    """Contrast over all sets: random-effects mean, its 95 % interval, and the p-value of no difference."""

    sets: dict[str, Difference]
    mean: float
    low: float
    high: float
    p: float
    seeds: int


def pool_contrast(cells: Cells, treatment: str, control: str, score: str = "probe") -> Pooled | None:
    """Pool a contrast over all sets, for the seeds that both arms have. Return None if there are none.

    A set's variance is that of `over_splits`. The mean is that of a random-effects model (Paule and Mandel, 1982). Its
    interval is Student's, with one degree of freedom fewer than there are sets.
    """
    seeds = _seeds(cells, treatment) & _seeds(cells, control)
    if not seeds:
        return None
    sets = {}
    for name in SETS:
        pairs = [[_scores(cells[arm, seed], name, score) for arm in (treatment, control)] for seed in sorted(seeds)]
        share = float(np.mean([cells[treatment, seed]["sets"][name]["test_share"] for seed in seeds]))
        sets[name] = over_splits([first - second for first, second in pairs], share)
    estimate = random_effects([*sets.values()])
    return Pooled(sets, estimate.mean, *estimate.interval(), estimate.p, len(seeds))


def report(cells: Cells) -> str:
    return "\n".join([*_contrasts(cells), "", *_arms(cells), "", *_far_and_heldout(cells), "", *_times(cells), ""])


def _contrasts(cells: Cells) -> Iterator[str]:
    for title, score in (("## Contrasts fixed beforehand", "probe"), ("### With 100 labels", "few")):
        yield title
        yield ""
        yield f"| exact minus | seeds | {' | '.join(SETS.values())} | all five | Holm's p |"
        yield f"|---|---|{'---|' * len(SETS)}---|---|"
        results = {pair: pool_contrast(cells, *pair, score) for pair in CONTRASTS}
        complete = {pair: contrast for pair, contrast in results.items() if contrast is not None}
        adjusted = multipletests([contrast.p for contrast in complete.values()], method="holm")[1] if complete else []
        for (pair, contrast), p in zip(complete.items(), adjusted, strict=True):
            yield f"| {ARMS[pair[1]]} | {contrast.seeds} | {' | '.join(_columns(contrast))} | {p:.3f} |"
        missing = [ARMS[control] for (_, control), contrast in results.items() if contrast is None]
        if missing:
            yield ""
            yield f"Not measured yet: {', '.join(missing)}."
        yield ""


def _columns(contrast: Pooled) -> Iterator[str]:
    for difference in contrast.sets.values():
        yield f"{difference.mean:+.4f} ± {difference.error:.4f}"
    yield f"{contrast.mean:+.4f} [{contrast.low:+.4f}, {contrast.high:+.4f}]"


def _arms(cells: Cells) -> Iterator[str]:
    yield "## Arms"
    yield ""
    yield f"| arm | seeds | {' | '.join(SETS.values())} | mean | mean with 100 labels |"
    yield f"|---|---|{'---|' * len(SETS)}---|---|"
    for arm in ARMS:
        seeds = sorted(_seeds(cells, arm))
        if seeds:
            full, few = (
                {name: np.mean([_scores(cells[arm, seed], name, score) for seed in seeds]) for name in SETS}
                for score in ("probe", "few")
            )
            parts = [f"{each:.4f}" for each in (*full.values(), np.mean([*full.values()]), np.mean([*few.values()]))]
            yield f"| {ARMS[arm]} | {len(seeds)} | {' | '.join(parts)} |"


def _far_and_heldout(cells: Cells) -> Iterator[str]:
    yield "## Actives that look different, and held-out anchors"
    yield ""
    yield f"| arm | {' | '.join(SETS.values())} | mean | held-out retrieval@1 of 64 |"
    yield f"|---|{'---|' * len(SETS)}---|---|"
    for arm in ARMS:
        seeds = sorted(_seeds(cells, arm))
        if seeds and "heldout" in cells[arm, seeds[0]]:
            aucs = np.array([[cells[arm, seed]["sets"][name]["far"]["auc"] for name in SETS] for seed in seeds])
            retrieval = over_seeds([cells[arm, seed]["heldout"]["retrieval"] for seed in seeds]).mean
            parts = [f"{each:.4f}" for each in (*aucs.mean(0), aucs.mean())]
            yield f"| {ARMS[arm]} | {' | '.join(parts)} | {retrieval:.3f} |"


def _times(cells: Cells) -> Iterator[str]:
    yield "## Minutes of processor time"
    yield ""
    yield "| arm | seeds | pre-training | in all |"
    yield "|---|---|---|---|"
    for arm in ARMS:
        arm_cells = [cell for (name, _), cell in sorted(cells.items()) if name == arm]
        if arm_cells:
            # A run that was killed after its training has an empty entry, and cells of a card have no processor time.
            timed = [cell for cell in arm_cells if cell.get("pretraining", True) and "processor_seconds" in cell]
            trained = [cell["pretraining"]["processor_seconds"] for cell in timed if "pretraining" in cell]
            whole = [cell["processor_seconds"] for cell in timed]
            yield f"| {ARMS[arm]} | {len(arm_cells)} | {_minutes(trained)} | {_minutes(whole)} |"


def _minutes(seconds: Sequence[float]) -> str:
    """Format the mean in minutes, "" without values."""
    return f"{np.mean(seconds) / 60:.1f}" if seconds else ""


def _seeds(cells: Cells, arm: str) -> set[int]:
    return {seed for name, seed in cells if name == arm}


def _scores(cell: Cell, name: str, score: str) -> NDArray[np.float64]:
    """Return (R,) scores by re-split."""
    return np.array([each["auc"] for each in cell["sets"][name][score]])
