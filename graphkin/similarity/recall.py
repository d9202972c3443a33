"""Recall: the share of the pairs with similarity ≥ a threshold that a candidate rule or the stored graph contains."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from graphkin.protocol.errors import InvalidInput
from graphkin.similarity.devices import Device
from graphkin.similarity.join import Pairs
from graphkin.similarity.kinds import kind_of
from graphkin.store.base import Generation
from graphkin.store.records import Int64


@dataclass(frozen=True)
class Recall:
    """Recall of a candidate rule or of the stored edges, estimated from a sample of items.

    The exact pairs are all pairs with similarity ≥ threshold that contain a sampled item. The found pairs are those
    that the rule, or the stored graph, contains. A pair counts once for each of its items in the sample.

    Attributes:
        rule: The candidate rule, or "stored" for the stored edges.
        threshold: Lowest similarity of a pair.
        sample: Number of sampled items.
        exact_pairs: Number of exact pairs.
        found_pairs: Number of found pairs.
        recall: found_pairs / exact_pairs, or None if there are no exact pairs.
        mean_degree: Mean number of exact and of found pairs of a sampled item.
        isolated_share: Share of the sampled items that have no exact, or no found, pair.
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
    generation: Generation,
    rule: Literal["window"] | None,
    sample: int,
    threshold: float | None = None,
    seed: int = 0,
    device: Device = "cpu",
) -> Recall:
    """Estimate the recall of a candidate rule or of the stored edges from a random sample of items.

    Args:
        generation: The generation to measure.
        rule: A candidate rule, or None for the stored edges.
        sample: Number of items to sample.
        threshold: Lowest similarity of a pair, by default the threshold τ of the generation. Only for a rule can it be
            below τ, but it must be above 0 then.
        seed: Seed of the sample.
        device: Where the sampled items are compared with all others.

    Raises:
        InvalidInput: The threshold is out of range, or this machine cannot compare such items on the device.
        Conflict: The generation cannot be searched.
    """
    (recall,) = measure_recalls(
        generation, rule, sample, [generation.manifest.threshold if threshold is None else threshold], seed, device
    )
    return recall


def measure_recalls(
    generation: Generation,
    rule: Literal["window"] | None,
    sample: int,
    thresholds: Sequence[float],
    seed: int = 0,
    device: Device = "cpu",
) -> list[Recall]:
    """Estimate the recall at several thresholds from the same sample; see `measure_recall`.

    Similarities are computed only once.
    """
    for threshold in thresholds:
        _require_measurable(generation, rule, threshold)
    ids = np.sort(np.random.default_rng(seed).choice(generation.size, min(sample, generation.size), replace=False))
    exact = kind_of(generation).search(generation).with_device(device).count_similar(ids, thresholds)
    if rule is None:
        degrees = _stored_degrees(generation, ids, thresholds)
    else:
        degrees = _window_degrees(generation, thresholds)[:, ids]
    return [
        Recall(
            rule=rule or "stored",
            threshold=threshold,
            sample=len(ids),
            exact_pairs=int(exact_degrees.sum()),
            found_pairs=int(rule_degrees.sum()),
            recall=float(rule_degrees.sum() / exact_degrees.sum()) if exact_degrees.any() else None,
            mean_degree={"exact": float(exact_degrees.mean()), "found": float(rule_degrees.mean())},
            isolated_share={"exact": float((exact_degrees == 0).mean()), "found": float((rule_degrees == 0).mean())},
        )
        for threshold, exact_degrees, rule_degrees in zip(thresholds, exact, degrees, strict=True)
    ]


def _require_measurable(generation: Generation, rule: Literal["window"] | None, threshold: float) -> None:
    stored = generation.manifest.threshold
    if not (stored <= threshold <= 1 or (rule is not None and 0 < threshold <= 1)):
        raise InvalidInput(
            "the recall at this threshold cannot be measured",
            given=threshold,
            expected=f"{0 if rule else stored:g} to 1",
            hint="choose a threshold above 0"
            if rule
            else f"the similarity graph has no pairs below {stored:g}: choose a higher threshold",
        )


def _stored_degrees(generation: Generation, ids: Int64, thresholds: Sequence[float]) -> Int64:
    """Return (T, n) int64: for each of T thresholds, the number of stored neighbors of each of the items `ids`."""
    return np.array(
        [[generation.neighbors(int(id), threshold, limit=0).total for id in ids] for threshold in thresholds], np.int64
    )


def _window_degrees(generation: Generation, thresholds: Sequence[float]) -> Int64:
    """Return (T, N) int64: for each of T thresholds, the degree of every item under the window rule."""
    kind = kind_of(generation)
    values = {**generation.manifest.recipe, "candidates": "window", "threshold": min(thresholds)}
    recipe = kind.recipe(values)
    descriptors = kind.load_descriptors(generation, recipe, kind.digests(generation, recipe))
    pairs = Pairs.concatenate(list(descriptors.pairs(0, 1, lambda _: None)))
    masks = (pairs.similarity >= threshold for threshold in thresholds)
    ends = (np.concatenate([pairs.left[mask], pairs.right[mask]]) for mask in masks)
    return np.array([np.bincount(end, minlength=generation.size) for end in ends])
