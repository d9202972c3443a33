"""Arrays that others wrote are checked by hand-made arrays: a right one, and each with one thing wrong."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from graphkin.protocol.errors import GraphkinError
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.eigenvectors import laplacian_eigenvectors
from graphkin.trainer.feed.validation import (
    require_corpus,
    require_linked,
    require_negatives,
    require_pairs,
    require_positives,
    require_similarities,
)
from graphkin.trainer.strategy import Policy, Sampling

POSITIVES = np.array([[1, 2], [0, 0], [1, 0], [-1, -1]], np.int32)
"""Positives of four items, the last of them isolated."""
PAIRS = np.array([[0, 1], [0, 3], [2, 3]], np.int32)


class Refused(GraphkinError):
    """Raised by the checks; names the problem."""


def draws(**policy: Any) -> Sampling:
    return Sampling(Policy("first_order", k=2, **policy))


def changed(array: NDArray[Any], place: Any, value: Any) -> NDArray[Any]:
    copy = array.copy()
    copy[place] = value
    return copy


def check_positives(positives: NDArray[Any], *, sampled: bool = True, **policy: Any) -> None:
    require_positives(positives, 4, draws(**policy), Refused, anchors=3, is_sampled=sampled)


def test_positives_as_the_policy_draws_them_pass() -> None:
    check_positives(POSITIVES)
    check_positives(changed(POSITIVES, (0, 1), 0), pad="self")
    check_positives(changed(POSITIVES, 0, [0, 3]), sampled=False)
    require_positives(np.empty((0, 2), np.int32), 0, draws(), Refused, anchors=None, is_sampled=True)


@pytest.mark.parametrize(
    ("positives", "problem"),
    [
        (changed(POSITIVES, (0, 0), -2), "positive -2 is outside -1 to 3"),
        (changed(POSITIVES, (0, 0), 4), "positive 4 is outside"),
        (POSITIVES[:3], r"of shape \(3, 2\)"),
        (POSITIVES[:, :1], r"of shape \(4, 1\)"),
        (POSITIVES.astype(np.int64), "int64"),
        (POSITIVES.astype(np.float32), "float32"),
        (changed(POSITIVES, (0, 1), -1), "anchor 0 has fewer than 2 positives"),
        (changed(POSITIVES, (0, 0), -1), "anchor 0 has fewer than 2 positives"),
        (changed(POSITIVES, 2, -1), "2 anchors have positives, and 3 items have a neighbor"),
        (changed(POSITIVES, (0, 0), 3), "anchor 0 has a positive that has no neighbor"),
        (changed(POSITIVES, (0, 1), 0), "anchor 0 is its own positive"),
        (np.where(POSITIVES < 0, -1, 0).astype(np.int32), "anchor 0 is its own positive"),
    ],
)
def test_other_positives_are_refused(positives: NDArray[Any], problem: str) -> None:
    with pytest.raises(Refused, match=problem):
        check_positives(positives)


def test_an_anchor_pads_at_the_end_alone() -> None:
    with pytest.raises(Refused, match="anchor 0 is its own positive"):
        check_positives(changed(POSITIVES, 0, [0, 1]), pad="self")


@pytest.mark.parametrize(
    ("negatives", "problem"),
    [
        ([[0, 1], [2, -1]], "negative -1 is outside 0 to 3"),
        ([[0, 1], [2, 4]], "negative 4"),
        ([[0, 1], [2, 2]], "batch 1 has a negative twice"),
        ([[0, 1]], r"shape \(1, 2\)"),
        ([[0], [1]], r"shape \(2, 1\)"),
    ],
)
def test_other_negatives_are_refused(negatives: list[list[int]], problem: str) -> None:
    require_negatives(np.array([[0, 1], [2, 0]], np.int32), 4, 2, 2, Refused)
    with pytest.raises(Refused, match=problem):
        require_negatives(np.array(negatives, np.int32), 4, 2, 2, Refused)


def test_isolated_negatives_are_refused() -> None:
    require_linked(np.array([[0, 1]], np.int32), POSITIVES, Refused)
    with pytest.raises(Refused, match="negative 3 has no neighbor"):
        require_linked(np.array([[0, 3]], np.int32), POSITIVES, Refused)


@pytest.mark.parametrize(
    ("pairs", "problem"),
    [
        (changed(PAIRS, (0, 0), -1), "end of a pair -1"),
        (changed(PAIRS, (2, 1), 4), "end of a pair 4"),
        (PAIRS[:, ::-1].copy(), "pair 0 does not name the lower item first"),
        (changed(PAIRS, 1, [2, 2]), "pair 1 does not name the lower item first"),
        (PAIRS[::-1].copy(), "pair 1 does not come after"),
        (PAIRS[[0, 0, 1]], "pair 1 does not come after"),
        (PAIRS.astype(np.int64), "int64"),
        (PAIRS.reshape(-1), r"shape \(6,\)"),
        (np.array(3, np.int32), r"shape \(\)"),
    ],
)
def test_other_pairs_are_refused(pairs: NDArray[Any], problem: str) -> None:
    require_pairs(PAIRS, 4, Refused)
    require_pairs(PAIRS[:0], 4, Refused)
    with pytest.raises(Refused, match=problem):
        require_pairs(pairs, 4, Refused)


@pytest.mark.parametrize("value", [0.29, 1.01, np.nan, -np.inf])
def test_other_similarities_are_refused(value: float) -> None:
    require_similarities(np.array([0.3, 1.0], np.float32), 0.3, Refused)
    with pytest.raises(Refused, match=r"of pair 1 is not a number from 0\.3 to 1"):
        require_similarities(np.array([0.3, value], np.float32), 0.3, Refused)


@pytest.mark.parametrize(
    ("column", "place", "value", "problem"),
    [
        ("atom_type", 0, 120, "atom type 120 is outside 0 to 119"),
        ("chirality", 5, 3, "chirality 3 is outside 0 to 2"),
        ("bond", 0, 12, "bond 12 is outside 0 to 11"),
        ("source", 0, 4, "item 0 has 4 atoms, and a bond from atom 4"),
        ("degree", 0, 9, "bonds leave atom 0, and 9 end at it"),
        ("atom_offsets", 0, 1, "atom_offsets do not ascend from 0"),
        ("edge_offsets", 1, 255, "edge_offsets do not ascend from 0"),
        ("eigenvectors", (3, 1), np.nan, "eigenvectors are not finite"),
        ("centre", 1, 9, "item 1 has 9 nodes, and node 9 as its center"),
    ],
)
def test_other_features_are_refused(
    random_corpus: Callable[..., Corpus], column: str, place: Any, value: Any, problem: str
) -> None:
    plain = random_corpus([4, 9, 3, 7, 5])
    corpus = plain.around(plain.atoms // 2, laplacian_eigenvectors(plain))
    require_corpus(plain, 5, Refused)
    require_corpus(corpus, 5, Refused)
    with pytest.raises(Refused, match="features of 5 items, and the generation has 6"):
        require_corpus(corpus, 6, Refused)
    altered = Corpus("x", **{**corpus.columns, column: changed(corpus.columns[column], place, value)})
    with pytest.raises(Refused, match=problem):
        require_corpus(altered, 5, Refused)


def test_features_of_another_type_are_refused(random_corpus: Callable[..., Corpus]) -> None:
    corpus = random_corpus([4, 9])
    for name in ("atom_type", "degree", "bond"):
        altered = Corpus("x", **{**corpus.columns, name: corpus.columns[name].astype(np.float64)})
        with pytest.raises(Refused, match=f"{name} is float64"):
            require_corpus(altered, 2, Refused)
