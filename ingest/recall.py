"""Recall: which share of the truly similar pairs a candidate rule, or the stored hierarchy, finds."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numba import njit

from ingest.items import Descriptors
from ingest.join import Pairs
from ingest.popcount import common, minimum_common
from ingest.recipe import Recipe
from ingest.window import window_pairs
from store.base import Generation
from store.errors import Conflict, InvalidInput
from store.identity import content_digest
from store.records import Int32, Int64, UInt64


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
    recipe = Recipe.model_validate(_molecules_only(generation).manifest.recipe)
    threshold = recipe.threshold if threshold is None else threshold
    if not 0 < threshold <= 1 or (rule is None and threshold < recipe.threshold):
        raise InvalidInput(
            "this threshold cannot be measured",
            given=threshold,
            expected=f"from {0 if rule else recipe.threshold} to 1",
            hint="the stored hierarchy holds no pair below its own threshold" if rule is None else None,
        )
    ids = np.sort(np.random.default_rng(seed).choice(generation.size, min(sample, generation.size), replace=False))
    exact = _exact_degrees(generation, ids, threshold)
    found = _stored_degrees(generation, ids, threshold) if rule is None else _window(generation, recipe, threshold)[ids]
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


def _molecules_only(generation: Generation) -> Generation:
    if generation.manifest.kind != "molecule":
        raise Conflict("recall is measured on molecules", given=generation.manifest.kind, expected="molecule")
    return generation


def _exact_degrees(generation: Generation, ids: Int64, threshold: float) -> Int64:
    prints = generation.fingerprints()
    least = minimum_common(threshold, 2 * int(prints.popcounts.max()))
    return _count_similar(prints.words, prints.popcounts, least, ids)


@njit(nogil=True, cache=True)
def _count_similar(words: UInt64, popcounts: Int32, least: Int64, ids: Int64) -> Int64:
    counts = np.zeros(len(ids), np.int64)
    for place in range(len(ids)):
        row = ids[place]
        for other in range(len(words)):
            if other != row and common(words, row, other) >= least[popcounts[row] + popcounts[other]]:
                counts[place] += 1
    return counts


def _stored_degrees(generation: Generation, ids: Int64, threshold: float) -> Int64:
    return np.array([generation.neighbors(int(id), threshold, limit=0).total for id in ids], np.int64)


def _window(generation: Generation, recipe: Recipe, threshold: float) -> Int64:
    """(N,) degree of every item under the window rule."""
    smiles = (text for batch in generation.scan() for text in batch["smiles"].to_pylist())
    digests = b"".join(content_digest(text, recipe.tie_seed) for text in smiles)
    descriptors = Descriptors(
        words=generation.fingerprints().words,
        molwt=generation.column("molwt"),
        rings=generation.column("rings").astype(np.int32),
        heavy_atoms=generation.column("heavy_atoms").astype(np.int32),
        tie=np.frombuffer(digests, "<u8").reshape(-1, 2)[:, 0].copy(),
    )
    pairs = Pairs.concatenate(list(window_pairs(descriptors, recipe, threshold)))
    return np.bincount(np.concatenate([pairs.left, pairs.right]), minlength=generation.size)
