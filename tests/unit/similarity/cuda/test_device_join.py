"""The join on a GPU, interpreted on a CPU, finds the pairs and similarities of the join on a CPU."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphkin.similarity.cuda.sizes import Sizes
from graphkin.similarity.join import AppendJoin, Pairs, SelfJoin

pytest.importorskip("triton")

SMALL = Sizes(
    rows=32, columns=64, depth=64, square=2, tiles_per_task=4, tasks_per_launch=3, room=2048, block_bytes=128 * 512
)
"""Small tiles, four blocks, many tasks, and a buffer that the hits of some tasks exceed."""

WHOLE = Sizes(tiles_per_task=1, tasks_per_launch=2)
"""The tiles of a GPU, of which an interpreter multiplies few in a second."""


def fingerprints(count: int, bits: int) -> np.ndarray:
    """Return families of similar fingerprints, with duplicates, empty ones, full ones and single bits among them."""
    random = np.random.default_rng(bits)
    rows = (random.random((count // 10, bits)) < 0.08).repeat(10, axis=0) ^ (random.random((count, bits)) < 0.015)
    rows[[3, 40, count - 1]] = False
    rows[[5, 77]] = True
    rows[[8, 90]] = rows[20]
    rows[[9, 91]] = False
    rows[[9, 91], 7] = True
    return np.packbits(rows[random.permutation(count)], axis=1, bitorder="little").view(np.uint64)


FINGERPRINTS = {
    "long": fingerprints(450, 512),
    "odd": fingerprints(300, 192),
    "empty": np.zeros((70, 3), np.uint64),
    "none": np.zeros((0, 3), np.uint64),
}

CASES = {
    **{f"long at {threshold}": ("long", threshold, SMALL, 0, 0) for threshold in (0.3, 0.4, 0.55, 0.7, 1.0)},
    **{f"odd at {threshold}": ("odd", threshold, SMALL, 0, 0) for threshold in (0.05, 0.4)},
    "whole tiles": ("long", 0.5, WHOLE, 0, 0),
    "from a later task": ("long", 0.4, SMALL, 0, 7),
    "append": ("long", 0.4, SMALL, 270, 0),
    "append from a later task": ("long", 0.4, SMALL, 270, 9),
    "append to none": ("long", 0.7, SMALL, 0, 0),
    "append one": ("odd", 0.4, SMALL, 299, 0),
    "only empty ones": ("empty", 0.4, SMALL, 0, 0),
    "no items": ("none", 0.4, SMALL, 0, 0),
}
"""Fingerprints, threshold, sizes, number of old items and first task."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """Return the result of each case. One process computes all, because it takes seconds to start."""
    folder = tmp_path_factory.mktemp("cases")
    for name, (source, threshold, sizes, old_count, first_task) in CASES.items():
        np.savez(
            folder / f"{name}.npz",
            words=FINGERPRINTS[source], threshold=threshold, sizes=sizes, old_count=old_count, first_task=first_task,
        )  # fmt: skip
    script = Path(__file__).with_name("interpreted.py")
    subprocess.run([sys.executable, str(script), str(folder)], check=True, env=os.environ | {"TRITON_INTERPRET": "1"})
    return {name: dict(np.load(folder / f"{name}.result.npz")) for name in CASES}


def expected_pairs(name: str) -> Pairs:
    source, threshold, _, old_count, _ = CASES[name]
    words = FINGERPRINTS[source]
    join = AppendJoin.from_words(words, old_count, threshold) if old_count else SelfJoin(words, threshold)
    return Pairs.concatenate(list(join.pairs()))


def assert_equal_pairs(result: Mapping[str, Any], expected: Pairs) -> None:
    """Compare pairs, similarities and data types, whatever the order."""
    order, expected_order = (np.lexsort((right, left)) for left, right in (
        (result["left"], result["right"]), (expected.left, expected.right),
    ))  # fmt: skip
    for column in ("left", "right", "similarity"):
        assert result[column].dtype == getattr(expected, column).dtype
        np.testing.assert_array_equal(result[column][order], getattr(expected, column)[expected_order])


@pytest.mark.parametrize("name", [name for name in CASES if not CASES[name][4]])
def test_pairs_and_similarities_are_those_of_the_cpu(results: Mapping[str, Any], name: str) -> None:
    assert_equal_pairs(results[name], expected_pairs(name))


def test_cases_exceed_the_buffer_and_use_several_blocks(results: Mapping[str, Any]) -> None:
    assert results["odd at 0.05"]["counts"].max() > SMALL.room
    assert len(results["long at 0.4"]["counts"]) > SMALL.tasks_per_launch
    assert SMALL.block(FINGERPRINTS["long"].shape[1]) < 450 / 3


@pytest.mark.parametrize("name", CASES)
def test_each_task_yields_once_and_progress_adds_up(results: Mapping[str, Any], name: str) -> None:
    result = results[name]
    assert len(result["counts"]) == len(result["progress"]) - 1 == result["tasks"] - CASES[name][4]
    assert result["progress"].sum() == (len(FINGERPRINTS[CASES[name][0]]) if result["tasks"] else 0)


@pytest.mark.parametrize(
    ("name", "later"), [("long at 0.4", "from a later task"), ("append", "append from a later task")]
)
def test_join_continues_from_any_task(results: Mapping[str, Any], name: str, later: str) -> None:
    first = CASES[later][4]
    np.testing.assert_array_equal(results[later]["counts"], results[name]["counts"][first:])
    skipped = results[name]["counts"][:first].sum()
    for column in ("left", "right", "similarity"):
        np.testing.assert_array_equal(results[later][column], results[name][column][skipped:])
