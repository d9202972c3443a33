"""The page of tier 1: three sentences, the table of arms, contrasts, comparisons by data set, and missing cells."""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from studies.downstream.comparison import Difference, Estimate
from studies.evidence.arms import ARMS, Dose
from studies.evidence.contrasts import Contrast, adjusted_p, arm_mean, blocks, contrasts
from studies.evidence.measured import SEEDS, SETS, Cells
from studies.evidence.outcomes import missing_lines, primary_outcomes, secondary_outcomes
from studies.evidence.statistics import analyze_arms

FIGURE = "evidence-forest.svg"
RESIDUALS = "evidence-residuals.svg"

_MARGIN = 0.01  # a smaller difference does not matter
_DOSES: Mapping[Dose, str] = {
    "small": "the small dose (3,000 steps of batch 64)",
    "middle": "the middle dose (39,065 steps of batch 256)",
}
_QUESTIONS = (
    ("scratch", "Does pre-training with similar molecules help?"),
    ("permuted", "Does what was learned explain it?"),
    ("augmented", "Are similar molecules better positives than altered copies?"),
)


class Report:
    """Everything that the page shows.

    Args:
        cells: the measured cells.
        dose: dose of the decision.
        has_ended: whether the study has ended, so that incomplete outcomes are reported.
    """

    def __init__(self, cells: Cells, dose: Dose, has_ended: bool = False) -> None:
        self._cells = cells
        self._dose = dose
        self._has_ended = has_ended
        self.outcomes = primary_outcomes(cells, dose)
        self.contrasts = [contrasts(outcome, has_ended) for outcome in self.outcomes]
        self._analyses = {
            outcome.title: {name: analyze_arms(blocks(outcome, name)) for name in SETS if outcome.complete_splits}
            for outcome in self.outcomes
        }
        self._adjusted = adjusted_p(self.contrasts, self.outcomes)

    def figure_groups(self) -> list[tuple[str, list[Contrast]]]:
        """Return the contrasts of the forest plot, by outcome. Empty if there are none yet."""
        return [(outcome.title, made) for outcome, made in zip(self.outcomes, self.contrasts, strict=True) if made]

    def residual_groups(self) -> list[tuple[str, dict[str, NDArray[np.float64]]]]:
        """Return the residuals of the comparisons by data set, by outcome. Empty if there are none yet."""
        groups = [
            (title, {name: each.residuals for name, each in made.items()}) for title, made in self._analyses.items()
        ]
        return [group for group in groups if group[1]]

    def page(self) -> str:
        """Return the page as Markdown."""
        return "\n".join(
            [*self._head(), *self._arms(), *self._contrasts(), *self._components(), *self._by_set(), *self._missing()]
        )

    def _head(self) -> Iterator[str]:
        yield "# Tier 1 of the second evidence plan"
        yield ""
        yield "`make evidence-table` writes this page from the measured cells in `studies/results/evidence`."
        yield "`python -m studies.evidence --plan 2` measures the missing ones, by `studies/evidence-plan-2.md`."
        yield ""
        yield from self._state()
        for second, question in _QUESTIONS:
            yield f"- **{question}** {' '.join(self._answers(second))}"
        yield ""

    def _state(self) -> Iterator[str]:
        counts = ", ".join(f"{outcome.title.lower()} {outcome.cells} cells" for outcome in self.outcomes)
        if self._dose == "small":
            yield f"The middle dose is missing, so everything is at {_DOSES['small']}."
        else:
            yield f"Everything is at {_DOSES['middle']}."
        is_complete = all(outcome.has_tests for outcome in self.outcomes)
        yield f"Tier 1 is {'complete' if is_complete else '**incomplete**'}: {counts}."
        if not is_complete and self._has_ended:
            yield "The study has ended. Contrasts use the data sets that all arms have, and the seeds and re-splits of"
            yield "both arms, without tests."
        elif not is_complete:
            yield "No contrast is computed before all cells of an outcome, or of a pass of it, are there."
        yield ""

    def _answers(self, second: str) -> Iterator[str]:
        for outcome, made in zip(self.outcomes, self.contrasts, strict=True):
            hits = [each for each in made if each.second == second]
            if not hits:
                yield f"{outcome.title}: cells are missing."
                continue
            (each,) = hits
            low, high = each.fixed.interval()
            text = f"{outcome.title}: {each.fixed.mean:+.4f} ROC-AUC against {ARMS[second]}"
            if self._adjusted is None:
                state = "without a test before both outcomes are complete" if outcome.has_tests else "incomplete"
                yield f"{text}, 95 % interval [{low:+.4f}, {high:+.4f}], {state}."
            else:
                p = self._adjusted[outcome.title, second]
                yield f"{text}, 95 % interval [{low:+.4f}, {high:+.4f}], Holm's p: {_p(p)}, {_verdict(each.fixed, p)}."

    def _arms(self) -> Iterator[str]:
        yield "## Arms"
        yield ""
        yield "ROC-AUC, the mean over the eight data sets, seeds and re-splits, with its 95 % interval for these sets."
        yield ""
        yield f"| arm | {' | '.join(outcome.title.lower() for outcome in self.outcomes)} |"
        yield f"|---|{'---|' * len(self.outcomes)}"
        for arm, title in ARMS.items():
            yield f"| {title} | {' | '.join(_mean(arm_mean(outcome, arm)) for outcome in self.outcomes)} |"
        yield ""
        for outcome in self.outcomes:
            splits = outcome.complete_splits
            omitted = [f"{SETS[name]} {share:.1%}" for name, share in outcome.omitted.items() if share]
            left_out = f" Tasks left out because a part lacks a class: {', '.join(omitted)}." if omitted else ""
            yield (
                f"- {outcome.title}: {outcome.setting}. Complete re-splits: {len(splits)} of {len(outcome.splits)}."
                f"{left_out}"
            )
        yield ""

    def _contrasts(self) -> Iterator[str]:
        if not any(self.contrasts):
            return
        yield "## Contrasts"
        yield ""
        yield f"![Differences by data set and over all of them, with 95 % intervals](../../assets/{FIGURE})"
        yield ""
        header = "| outcome | exact FO minus | seeds | re-splits | these sets | sets like these | p | Holm's p |"
        yield from (header, "|---|---|---|---|---|---|---|---|")
        for outcome, made in zip(self.outcomes, self.contrasts, strict=True):
            for each in made:
                p_values = (each.fixed.p, self._adjusted[outcome.title, each.second]) if self._adjusted else ()
                yield _row(outcome.title, each, *map(_p, p_values))
        yield ""
        yield "Secondary outcomes, outside of the decision, with intervals that are not adjusted for their number:"
        yield ""
        yield from (header, "|---|---|---|---|---|---|---|---|")
        for outcome in secondary_outcomes(self._cells, self._dose):
            for each in contrasts(outcome, self._has_ended):
                yield _row(outcome.title, each)
        yield ""

    def _components(self) -> Iterator[str]:
        rows = [
            (outcome.title, each.second, each.components)
            for outcome, made in zip(self.outcomes, self.contrasts, strict=True)
            for each in made
            if each.components is not None
        ]
        if not rows:
            return
        yield "## Precision"
        yield ""
        yield "Standard deviations of the differences, pooled over the data sets, as the plan computes them."
        yield ""
        yield "| outcome | exact FO minus | seed | re-split | rest | between sets |"
        yield "|---|---|---|---|---|---|"
        for title, second, components in rows:
            yield f"| {title} | {ARMS[second]} | {' | '.join(f'{each:.4f}' for each in components)} |"
        yield ""

    def _by_set(self) -> Iterator[str]:
        for outcome in self.outcomes:
            splits = outcome.complete_splits
            if not splits:
                continue
            analyses = self._analyses[outcome.title]
            yield f"## {outcome.title}: all arms by data set"
            yield ""
            yield f"Differences over {len(SEEDS)} seeds and {len(splits)} re-splits, with Tukey's simultaneous 95 %"
            yield "intervals. A difference below .01 is too small to matter. Where residuals are far from normal or of"
            yield "unequal spread, p by Conover and Iman, adjusted by Holm, follows after †."
            yield ""
            yield f"| difference | {' | '.join(SETS.values())} |"
            yield f"|---|{'---|' * len(SETS)}"
            for place, pair in enumerate(analyses["bace"].pairs):
                texts = [
                    f"{each.difference:+.4f} [{each.low:+.4f}, {each.high:+.4f}]"
                    + ("" if analysis.is_normal else f" † {_p(each.rank_p)}")
                    for analysis in analyses.values()
                    for each in analysis.pairs[place : place + 1]
                ]
                yield f"| {ARMS[pair.first]} − {ARMS[pair.second]} | {' | '.join(texts)} |"
            yield f"| p of all arms | {' | '.join(f'{each.p:.3g}' for each in analyses.values())} |"
            yield f"| p by Friedman | {' | '.join(f'{each.friedman_p:.3g}' for each in analyses.values())} |"
            yield ""
        if self.residual_groups():
            yield "## Residuals of these comparisons"
            yield ""
            yield f"![Residuals against quantiles of the normal distribution, by data set](../../assets/{RESIDUALS})"
            yield ""

    def _missing(self) -> Iterator[str]:
        lines = [line for outcome in self.outcomes for line in missing_lines(outcome, self._cells)]
        if not lines:
            return
        yield "## Missing cells"
        yield ""
        yield "They have not been run yet, unless a reason is given."
        yield ""
        yield from (f"- {line}" for line in lines)
        yield ""


def _p(value: float) -> str:
    return "< .001" if value < 0.001 else f"{value:.3f}"


def _row(title: str, each: Contrast, p: str = "", adjusted: str = "") -> str:
    random = "" if each.random is None else _interval(each.random)
    columns = (
        title,
        ARMS[each.second],
        each.seeds,
        each.splits,
        _interval(each.fixed),
        random,
        p,
        adjusted,
    )
    return f"| {' | '.join(map(str, columns))} |"


def _interval(estimate: Estimate | Difference) -> str:
    low, high = estimate.interval() if isinstance(estimate, Estimate) else (estimate.low, estimate.high)
    return f"{estimate.mean:+.4f} [{low:+.4f}, {high:+.4f}]"


def _mean(estimate: Estimate | None) -> str:
    if estimate is None:
        return "cells are missing"
    low, high = estimate.interval()
    return f"{estimate.mean:.4f}" if np.isnan(low) else f"{estimate.mean:.4f} [{low:.4f}, {high:.4f}]"


def _verdict(estimate: Estimate, p: float) -> str:
    """Return the conclusion of a test of difference. Tier 1 makes no claim of equivalence."""
    if p < 0.05:
        small = ", by less than .01, which is too small to matter" if abs(estimate.mean) < _MARGIN else ""
        return f"exact FO is {'better' if estimate.mean > 0 else 'worse'}{small}"
    return f"undecided, the difference is at most {max(map(abs, estimate.interval())):.4f}"
