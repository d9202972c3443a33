"""Operations on 512 bits at once equal those on Python's integers."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numba import njit

from graphkin.similarity.lanes import BITS, WORDS, all_set, load, prefetch, spread, store

number = st.integers(0, 2**BITS - 1)


def _words(value: int) -> np.ndarray:
    return np.array([value >> 64 * word & (2**64 - 1) for word in range(WORDS)], np.uint64)


def _number(words: np.ndarray) -> int:
    return sum(int(word) << 64 * place for place, word in enumerate(words))


@njit
def _both(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    store(c, np.uint64(0), load(a, np.uint64(0)) & load(b, np.uint64(0)))


@njit
def _either(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    store(c, np.uint64(0), load(a, np.uint64(0)) | load(b, np.uint64(0)))


@njit
def _exclusive(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    store(c, np.uint64(0), load(a, np.uint64(0)) ^ load(b, np.uint64(0)))


@njit
def _shifted(source: np.ndarray, start: int, target: np.ndarray) -> None:
    store(target, np.uint64(start), load(source, np.uint64(start)))


@njit
def _prefetch(words: np.ndarray, start: int) -> None:
    prefetch(words, np.uint64(start))


@njit
def _spread(bit: int, target: np.ndarray) -> None:
    store(target, np.uint64(0), spread(np.uint64(bit)))


@njit
def _all_set(words: np.ndarray) -> bool:
    return all_set(load(words, np.uint64(0)))


@pytest.mark.parametrize(
    ("compiled", "plain"), [(_both, operator.and_), (_either, operator.or_), (_exclusive, operator.xor)]
)
@given(a=number, b=number)
def test_operations_work_lane_by_lane(compiled: Any, plain: Callable[[int, int], int], a: int, b: int) -> None:
    result = np.zeros(WORDS, np.uint64)
    compiled(_words(a), _words(b), result)
    assert _number(result) == plain(a, b)


@pytest.mark.parametrize("start", range(5))
def test_load_and_store_may_start_at_any_word(start: int) -> None:
    source = np.arange(100, 116, dtype=np.uint64)
    target = np.zeros(16, np.uint64)
    _shifted(source, start, target)
    assert target.tolist() == [100 + word if start <= word < start + WORDS else 0 for word in range(16)]


@pytest.mark.parametrize("bit", [0, 1])
def test_spread_copies_a_bit_to_all_lanes(bit: int) -> None:
    result = np.full(WORDS, 7, np.uint64)
    _spread(bit, result)
    assert _number(result) == bit * (2**BITS - 1)


@given(st.integers(0, BITS - 1))
@example(0)
@example(BITS - 1)
def test_all_set_detects_a_missing_bit(missing: int) -> None:
    assert _all_set(_words(2**BITS - 1))
    assert not _all_set(_words(2**BITS - 1 - (1 << missing)))
    assert not _all_set(_words(1 << missing))


@pytest.mark.parametrize("start", [0, 3, 2**50])
def test_prefetch_changes_nothing_wherever_it_points(start: int) -> None:
    """A prefetch of an address that is not mapped has no effect."""
    words = np.arange(24, dtype=np.uint64)
    _prefetch(words, start)
    assert words.tolist() == list(range(24))
