"""Recall: the share of pairs ≥ a threshold that a candidate rule, or the stored similarity graph, finds."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from graphkin.protocol.errors import InvalidInput
from graphkin.similarity.join import Pairs
from graphkin.similarity.kinds import kind_of
from graphkin.store.base import Generation
from graphkin.store.records import Int64


@dataclass(frozen=True)
class Recall:
    """Recall of a candidate rule over a sample of items.

    Attributes:
        rule: The candidate rule, or "stored" for the stored edges.
        threshold: Lowest similarity of a pair.
        sample: Number of sampled items.
        exact_pairs: Number of pairs ≥ threshold with a sampled item; a pair counts once for each sampled end.
        found_pairs: Number of these pairs that the rule finds.
        recall: found_pairs / exact_pairs, or None if there are no pairs.
        mean_degree: Mean degree of the sampled items among the exact and among the found pairs.
        isolated_share: Share of sampled items without neighbors, for both.
    """

    rule: str
    threshold: float
    sample: int
    exact_pairs: int
    found_pairs: int
    recall: float | None
    mean_degree: dict[Literal["exact", "found"], float]
    isolated_share: dict[Literal["exact", "found"], float]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def measure_recall(
    generation: Generation, rule: Literal["window"] | None, sample: int, threshold: float | None = None, seed: int = 0
) -> Recall:
    """Compare the stored edges or a candidate rule with every pair ≥ threshold of `sample` random items.

    A pair counts once for each sampled end.

    Args:
        generation: The generation to measure.
        rule: A candidate rule, or None for the stored edges.
        sample: Number of items to sample.
        threshold: Lowest similarity of a pair; default: the generation's τ. The stored edges can be measured at τ or
            above, a rule at any threshold.
        seed: Seed of the sample.

    Raises:
        InvalidInput: The threshold is out of range.
        Conflict: The generation cannot be searched.
    """
    (recall,) = measure_recalls(
        generation, rule, sample, [generation.manifest.threshold if threshold is None else threshold], seed
    )
    return recall


def measure_recalls(
    generation: Generation, rule: Literal["window"] | None, sample: int, thresholds: Sequence[float], seed: int = 0
) -> list[Recall]:
    """Measure as in `measure` at several thresholds, on the same sample. Similarities are computed once."""
    for threshold in thresholds:
        _require_measurable(generation, rule, threshold)
    ids = np.sort(np.random.default_rng(seed).choice(generation.size, min(sample, generation.size), replace=False))
    exact = _exact_degrees(generation, ids, thresholds)
    if rule is None:
        degrees = _stored_degrees(generation, ids, thresholds)
    else:
        degrees = _window_degrees(generation, thresholds)[:, ids]
    return [
        Recall(
            rule=rule or "stored",
            threshold=threshold,
            sample=len(ids),
            exact_pairs=int(exact_row.sum()),
            found_pairs=int(rule_row.sum()),
            recall=float(rule_row.sum() / exact_row.sum()) if exact_row.any() else None,
            mean_degree={"exact": float(exact_row.mean()), "found": float(rule_row.mean())},
            isolated_share={"exact": float((exact_row == 0).mean()), "found": float((rule_row == 0).mean())},
        )
        for threshold, exact_row, rule_row in zip(thresholds, exact, degrees, strict=True)
    ]


def _require_measurable(generation: Generation, rule: Literal["window"] | None, threshold: float) -> None:
    stored = generation.manifest.threshold
    if not (stored <= threshold <= 1 or (rule is not None and 0 < threshold <= 1)):
        raise InvalidInput(
            "this threshold cannot be measured",
            given=threshold,
            expected=f"from {0 if rule else stored:g} to 1",
            hint="the stored hierarchy holds no pair below its own threshold" if rule is None else None,
        )


def _exact_degrees(generation: Generation, ids: Int64, thresholds: Sequence[float]) -> Int64:
    """Return (T, n) int64, the number of items whose similarity to each of `ids` reaches each threshold."""
    search = kind_of(generation).search(generation)
    degrees = np.empty((len(thresholds), len(ids)), np.int64)
    for place, id in enumerate(ids.tolist()):
        similarities = np.delete(search.similarities(id), id)
        similar = similarities[similarities > 0]
        degrees[:, place] = [(similar >= threshold).sum() for threshold in thresholds]
    return degrees


def _stored_degrees(generation: Generation, ids: Int64, thresholds: Sequence[float]) -> Int64:
    """Return (T, n) int64, the stored degree of each of `ids` at each threshold."""
    return np.array(
        [[generation.neighbors(int(id), threshold, limit=0).total for id in ids] for threshold in thresholds], np.int64
    )


def _window_degrees(generation: Generation, thresholds: Sequence[float]) -> Int64:
    """Return (T, N) int64, the degree of every item under the window rule at each threshold."""
    kind = kind_of(generation)
    values = {**generation.manifest.recipe, "candidates": "window", "threshold": min(thresholds)}
    recipe = kind.recipe(values)
    descriptors = kind.descriptors_of(generation, recipe, kind.digests(generation, recipe))
    pairs = Pairs.concatenate(list(descriptors.pairs(0, 1, lambda _: None)))
    masks = (pairs.similarity >= threshold for threshold in thresholds)
    ends = (np.concatenate([pairs.left[mask], pairs.right[mask]]) for mask in masks)
    return np.array([np.bincount(end, minlength=generation.size) for end in ends])
