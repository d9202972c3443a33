"""The paper's theory of thresholds, applied to a collection: posterior, risk and gap (B.3 and B.5 of the paper)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphkin.protocol.errors import Conflict
from graphkin.similarity.kinds import kind_of
from graphkin.store.base import Generation
from graphkin.store.records import Int64
from studies.reports.classes import classes
from studies.reports.densities import BINS, CENTERS, Histogram, TruncatedNormal, counts_of
from studies.reports.report import Chart, Line, Report, Table
from studies.reports.risk import Similarities, rising_posterior

_SHOWN = BINS // 20  # the table shows one of this many thresholds
_CURVES = {
    "risk": Similarities.risk,
    "gap": Similarities.gap,
    "total": Similarities.total,
    "steep": Similarities.is_steep,
}
_LEAST = 1e-200
_TRUE = (
    "No store knows which items are alike in truth, so this is a definition: two items are true positives if they "
    "share {how}, all other pairs are true negatives, and items without are left out. Fingerprints and kernels see "
    "some of what is shared, so true positives are the more similar by that. N₊ and N₋ are numbers for one target, on "
    "average."
)
_MEASURED = (
    "f₊ and f₋ are densities: counted in bins of 0.01, and the likeliest normal distributions cut to [0, 1]. The "
    "posterior f₊ / (f₊ + f₋) is that of equal priors. Draws are in proportion to similarity, from pairs at τ and up: "
    "risk is the share of false positives among them, gap how far they are from uniform draws of true positives, "
    "absolute values kept."
)
_ERROR = (
    "The paper claims that the risk rises with τ. That is a sign error: for equal deviations and μ₊ > μ₋ it falls. "
    "Wherever τ / tot_τ > 1 / N₊, gap + risk = 2 ∫₀^τ f₊ exactly; only because of the absolute values can the two "
    "balance."
)


def report(generation: Generation, targets: int, same: str | None, seed: int) -> Report:
    """Return densities of true positives and negatives of random targets, and what they imply at every threshold.

    True positives are pairs of one class (see `classes.classes` for `same`).

    Raises:
        Conflict: there are no classes, no pair or every pair has one class, or the generation cannot be searched.
    """
    criterion, class_of = classes(generation, same)
    count, positive, negative = _count_similarities(generation, class_of, targets, seed)
    if not positive.any() or not negative.any():
        raise Conflict(
            "these targets have no true positives, or nothing else",
            given=f"{positive.sum():,} pairs that share {criterion}, {negative.sum():,} that do not",
            expected="some of either",
            hint="--same PROPERTY names what true positives share; more --targets find more of them",
        )
    numbers = float(positive.sum() / count), float(negative.sum() / count)
    histograms = Histogram(positive), Histogram(negative)
    fits = _fit(histograms[0]), _fit(histograms[1])
    similarities_by_name = {"counted": Similarities(*histograms, *numbers), "fitted": Similarities(*fits, *numbers)}
    thresholds = [step / BINS for step in range(int(np.flatnonzero(positive + negative)[-1]) + 1)]
    curves = {name: _curves(each, thresholds) for name, each in similarities_by_name.items()}
    return Report(
        title="Posterior, risk and gap",
        seeds=[seed],
        measured={
            "targets": count,
            "true_positives_share": criterion,
            "positives_of_a_target": numbers[0],
            "negatives_of_a_target": numbers[1],
            "counts": {"positive": positive.tolist(), "negative": negative.tolist()},
            "fits": [{"mean": fit.mean, "deviation": fit.deviation} for fit in fits],
            "posterior_rises": rising_posterior(*fits) if fits[0].mean > fits[1].mean else None,
            "thresholds": thresholds,
            "curves": curves,
        },
        charts=[
            Chart("Densities", "similarity", "density", _densities(similarities_by_name)),
            Chart("Posterior P(+|x)", "similarity x", "probability", _posteriors(similarities_by_name)),
            Chart("Risk and gap", "threshold τ", "risk, gap", _curve_lines(thresholds, curves, "risk", "gap")),
            Chart("Total", "threshold τ", "tot_τ", _curve_lines(thresholds, curves, "total"), (), True),
        ],
        tables=[
            Table(
                f"Similarity of pairs that share {criterion}, and of others; of {count:,} targets",
                ["", "pairs of a target", "mean", "deviation", "fitted μ", "fitted σ"],
                [
                    [name, number, each.mean, each.deviation, fit.mean, fit.deviation]
                    for name, number, each, fit in zip(("positive", "negative"), numbers, histograms, fits, strict=True)
                ],
            ),
            Table(
                "Risk and gap at thresholds",
                [
                    "τ",
                    *(f"{name}, {label}" for label in curves for name in ("risk", "gap")),
                    "τ / tot_τ > 1 / N₊",
                ],
                [
                    [
                        f"{thresholds[at]:.2f}",
                        *(curve[name][at] for curve in curves.values() for name in ("risk", "gap")),
                        "yes" if curves["counted"]["steep"][at] else "no",
                    ]
                    for at in range(0, len(thresholds), _SHOWN)
                ],
            ),
        ],
        notes=[_TRUE.format(how=criterion), _MEASURED, _ERROR],
    )


def _count_similarities(generation: Generation, class_of: Int64, targets: int, seed: int) -> tuple[int, Int64, Int64]:
    """Return the number of random targets, and (BINS,) histograms of similarity within and between classes."""
    search = kind_of(generation).search(generation)
    classified = np.flatnonzero(class_of >= 0)
    sample = np.random.default_rng(seed).choice(classified, min(targets, len(classified)), replace=False)
    positive, negative = np.zeros(BINS, np.int64), np.zeros(BINS, np.int64)
    for target in sample.tolist():
        others = classified[classified != target]
        similarity, alike = search.similarities(target, others), class_of[others] == class_of[target]
        positive += counts_of(similarity[alike])
        negative += counts_of(similarity[~alike])
    return len(sample), positive, negative


def _fit(counted: Histogram) -> TruncatedNormal:
    return TruncatedNormal.fitted(counted.mean, counted.deviation)


def _curves(similarities: Similarities, thresholds: Sequence[float]) -> dict[str, list[Any]]:
    """Return the curves, with None where the total is too small to divide by."""
    computed = [threshold for threshold in thresholds if similarities.total(threshold) > _LEAST]
    nothing = [None] * (len(thresholds) - len(computed))
    return {name: [*(curve(similarities, each) for each in computed), *nothing] for name, curve in _CURVES.items()}


def _densities(similarities_by_name: Mapping[str, Similarities]) -> list[Line]:
    return [
        Line(f"{sign}, {name}", CENTERS.tolist(), density(CENTERS).tolist())
        for name, similarities in similarities_by_name.items()
        for sign, density in (("f₊", similarities.positive), ("f₋", similarities.negative))
    ]


def _posteriors(similarities_by_name: Mapping[str, Similarities]) -> list[Line]:
    lines = []
    for name, similarities in similarities_by_name.items():
        positive, negative = similarities.positive(CENTERS), similarities.negative(CENTERS)
        is_defined = positive + negative > 0
        posterior = positive[is_defined] / (positive + negative)[is_defined]
        lines.append(Line(name, CENTERS[is_defined].tolist(), posterior.tolist()))
    return lines


def _curve_lines(
    thresholds: Sequence[float], curves: Mapping[str, Mapping[str, Sequence[Any]]], *names: str
) -> list[Line]:
    lines = []
    for label, curve in curves.items():
        for name in names:
            values = [value for value in curve[name] if value is not None]
            lines.append(Line(f"{name}, {label}", thresholds[: len(values)], values))
    return lines
