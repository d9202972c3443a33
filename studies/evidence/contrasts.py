"""Contrasts of tier 1: paired differences of two arms by data set, and over all of them."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from studies.downstream.comparison import Difference, Estimate, over_seeds, over_splits, random_effects
from studies.evidence.arms import ARMS
from studies.evidence.measured import SEEDS, SETS
from studies.evidence.outcomes import Outcome
from studies.evidence.statistics import Components, components, fixed_sets, holm

CONTRASTS = tuple(("exact", other) for other in ("scratch", "permuted", "augmented", "shuffled"))
"""The contrasts of the plan: the first arm minus the second."""


class Contrast(NamedTuple):
    """Difference of two arms.

    Attributes:
        first, second: the arms.
        sets: by data set, with 95 % interval.
        fixed: the mean over these data sets.
        random: the mean over sets like these; None without an error for each set.
        components: standard deviations of the differences; None with one set, seed or re-split.
        seeds: number of seeds.
        splits: number of re-splits.
    """

    first: str
    second: str
    sets: dict[str, Difference]
    fixed: Estimate
    random: Estimate | None
    components: Components | None
    seeds: int
    splits: int


def contrast(
    outcome: Outcome, first: str, second: str, splits: Collection[int], sets: Sequence[str]
) -> Contrast | None:
    """Return a contrast over the seeds and re-splits that both arms have on all of these sets; None if there are none.

    Args:
        outcome: the scores.
        first: arm.
        second: arm that is subtracted.
        splits: re-splits that may be used.
        sets: data sets, in order.
    """
    scores = outcome.scores
    seeds = [seed for seed in SEEDS if all((arm, seed, name) in scores for arm in (first, second) for name in sets)]
    common = [
        split
        for split in sorted(splits)
        if all(split in scores[arm, seed, name] for arm in (first, second) for seed in seeds for name in sets)
    ]
    if not (seeds and common and sets):
        return None
    differences = {
        name: _values(outcome, first, name, seeds, common) - _values(outcome, second, name, seeds, common)
        for name in sets
    }
    by_set = {
        name: over_splits(values, outcome.test_shares[name]) if len(common) > 1 else over_seeds(values[:, 0])
        for name, values in differences.items()
    }
    has_errors = len(sets) > 1 and not any(np.isnan(each.error) for each in by_set.values())
    return Contrast(
        first,
        second,
        by_set,
        fixed_sets(differences, outcome.test_shares),
        random_effects([*by_set.values()]) if has_errors else None,
        components(differences, outcome.test_shares) if min(len(sets), len(seeds), len(common)) > 1 else None,
        len(seeds),
        len(common),
    )


def contrasts(outcome: Outcome, has_ended: bool = False) -> list[Contrast]:
    """Return the contrasts that the plan allows to compute now.

    Before the study has ended, these are those of re-splits without any missing cell. Afterwards, they use what is
    there: the data sets that all arms have, and the seeds and re-splits that both arms of a contrast have.
    """
    if not has_ended:
        splits, sets = outcome.complete_splits, [*SETS]
    else:
        splits = [*outcome.splits]
        sets = [
            name for name in SETS if all(any((arm, seed, name) in outcome.scores for seed in SEEDS) for arm in ARMS)
        ]
    made = [contrast(outcome, first, second, splits, sets) for first, second in CONTRASTS]
    return [each for each in made if each is not None]


def adjusted_p(made: Sequence[Sequence[Contrast]], outcomes: Sequence[Outcome]) -> dict[tuple[str, str], float] | None:
    """Return Holm's p-values of all contrasts of both outcomes, by title and second arm; None before all have tests."""
    if not all(outcome.has_tests for outcome in outcomes):
        return None
    keys = [(outcome.title, each.second) for outcome, group in zip(outcomes, made, strict=True) for each in group]
    values = holm([each.fixed.p for group in made for each in group])
    return dict(zip(keys, values.tolist(), strict=True))


def arm_mean(outcome: Outcome, arm: str) -> Estimate | None:
    """Return the mean ROC-AUC of an arm over the complete re-splits and all data sets; None before there are any."""
    splits = outcome.complete_splits
    if not splits:
        return None
    return fixed_sets({name: _values(outcome, arm, name, SEEDS, splits) for name in SETS}, outcome.test_shares)


def blocks(outcome: Outcome, name: str) -> dict[str, NDArray[np.float64]]:
    """Return the scores of each arm on a data set, (seeds * re-splits,), over the complete re-splits."""
    splits = outcome.complete_splits
    return {arm: _values(outcome, arm, name, SEEDS, splits).ravel() for arm in ARMS}


def _values(outcome: Outcome, arm: str, name: str, seeds: Sequence[int], splits: Sequence[int]) -> NDArray[np.float64]:
    """Return the scores (S, R) of an arm on a data set."""
    return np.array([[outcome.scores[arm, seed, name][split] for split in splits] for seed in seeds])
