"""Recall: which share of the truly similar pairs a candidate rule, or the stored hierarchy, finds."""

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
    stored = generation.manifest.threshold
    threshold = stored if threshold is None else threshold
    if not (stored <= threshold <= 1 or (rule is not None and 0 < threshold <= 1)):
        raise InvalidInput(
            "this threshold cannot be measured",
            given=threshold,
            expected=f"from {0 if rule else stored:g} to 1",
            hint="the stored hierarchy holds no pair below its own threshold" if rule is None else None,
        )
    ids = np.sort(np.random.default_rng(seed).choice(generation.size, min(sample, generation.size), replace=False))
    exact = _exact_degrees(generation, ids, threshold)
    found = _stored_degrees(generation, ids, threshold) if rule is None else _window_degrees(generation, threshold)[ids]
    return Recall(
        rule=rule or "stored",
        threshold=threshold,
        sample=len(ids),
        exact_pairs=int(exact.sum()),
        found_pairs=int(found.sum()),
        recall=float(found.sum() / exact.sum()) if exact.any() else None,
        mean_degree={"exact": float(exact.mean()), "found": float(found.mean())},
        isolated_share={"exact": float((exact == 0).mean()), "found": float((found == 0).mean())},
    )


def _exact_degrees(generation: Generation, ids: Int64, threshold: float) -> Int64:
    search = kind_of(generation).search(generation)
    found = (np.delete(search.similarities(id), id) for id in ids.tolist())
    return np.array([((each >= threshold) & (each > 0)).sum() for each in found], np.int64)


def _stored_degrees(generation: Generation, ids: Int64, threshold: float) -> Int64:
    return np.array([generation.neighbors(int(id), threshold, limit=0).total for id in ids], np.int64)


def _window_degrees(generation: Generation, threshold: float) -> Int64:
    """(N,) degree of every item under the window rule."""
    kind = kind_of(generation)
    published = {**generation.manifest.recipe, "candidates": "window", "threshold": threshold}
    descriptors = kind.descriptors_of(generation, kind.recipe(published))
    pairs = Pairs.concatenate(list(descriptors.pairs(0, 1, lambda _: None)))
    return np.bincount(np.concatenate([pairs.left, pairs.right]), minlength=generation.size)
