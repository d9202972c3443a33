"""Recall: which share of the truly similar pairs a candidate rule, or the stored hierarchy, finds."""

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
    """Over the sampled items: pairs ≥ threshold that exist (`exact`), that the rule finds (`found`), their ratio
    (null where none exists), mean degree and the share of items without any neighbour, for both."""

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


def measure(
    generation: Generation, rule: Literal["window"] | None, sample: int, threshold: float | None = None, seed: int = 0
) -> Recall:
    """Compare the stored edges (rule None) or a candidate rule with every pair ≥ threshold, on `sample` random items.

    `threshold` defaults to the stored τ; the stored edges can be measured at τ or above, a rule at any threshold.
    A pair counts once for each sampled end. Raises `InvalidInput` and `Conflict`.
    """
    (found,) = measure_at(
        generation, rule, sample, [generation.manifest.threshold if threshold is None else threshold], seed
    )
    return found


def measure_at(
    generation: Generation, rule: Literal["window"] | None, sample: int, thresholds: Sequence[float], seed: int = 0
) -> list[Recall]:
    """What `measure` says at each of some thresholds, of the same items. Everything is compared once."""
    for threshold in thresholds:
        _require_measurable(generation, rule, threshold)
    ids = np.sort(np.random.default_rng(seed).choice(generation.size, min(sample, generation.size), replace=False))
    exact = _exact_degrees(generation, ids, thresholds)
    if rule is None:
        found = _stored_degrees(generation, ids, thresholds)
    else:
        found = _window_degrees(generation, thresholds)[:, ids]
    return [
        Recall(
            rule=rule or "stored",
            threshold=threshold,
            sample=len(ids),
            exact_pairs=int(all.sum()),
            found_pairs=int(own.sum()),
            recall=float(own.sum() / all.sum()) if all.any() else None,
            mean_degree={"exact": float(all.mean()), "found": float(own.mean())},
            isolated_share={"exact": float((all == 0).mean()), "found": float((own == 0).mean())},
        )
        for threshold, all, own in zip(thresholds, exact, found, strict=True)
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
    """(T, n) how many items are as similar to each of some items."""
    search = kind_of(generation).search(generation)
    degrees = np.empty((len(thresholds), len(ids)), np.int64)
    for place, id in enumerate(ids.tolist()):
        similarities = np.delete(search.similarities(id), id)
        similar = similarities[similarities > 0]
        degrees[:, place] = [(similar >= threshold).sum() for threshold in thresholds]
    return degrees


def _stored_degrees(generation: Generation, ids: Int64, thresholds: Sequence[float]) -> Int64:
    return np.array(
        [[generation.neighbors(int(id), least, limit=0).total for id in ids] for least in thresholds], np.int64
    )


def _window_degrees(generation: Generation, thresholds: Sequence[float]) -> Int64:
    """(T, N) degree of every item under the window rule."""
    kind = kind_of(generation)
    published = {**generation.manifest.recipe, "candidates": "window", "threshold": min(thresholds)}
    recipe = kind.recipe(published)
    descriptors = kind.descriptors_of(generation, recipe, kind.digests(generation, recipe))
    pairs = Pairs.concatenate(list(descriptors.pairs(0, 1, lambda _: None)))
    kept = (pairs.similarity >= threshold for threshold in thresholds)
    ends = (np.concatenate([pairs.left[each], pairs.right[each]]) for each in kept)
    return np.array([np.bincount(each, minlength=generation.size) for each in ends])
