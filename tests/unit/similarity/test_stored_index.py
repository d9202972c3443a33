"""A search index that does not fit is refused before any kernel reads it."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from graphkin.protocol.errors import StoreFormat
from graphkin.similarity.graphs.index import SubtreeIndex
from graphkin.similarity.graphs.wl import Features
from graphkin.similarity.planes import BitPlanes
from graphkin.similarity.stored_index import load_index

WORDS = np.random.default_rng(0).integers(0, 2**63, (700, 2), np.uint64)
FEATURES = Features(np.array([0, 2, 3]), np.array([5, 9, 9], np.uint64), np.array([1, 2, 3], np.int32))

Arrays = dict[str, Any]


def taken(arrays: Arrays, kind: type[Any], fits: Callable[[Any], bool]) -> Any:
    generation: Any = SimpleNamespace(id="0" * 64, collection="c", index=lambda: arrays)
    return load_index(generation, kind, fits)


def planes(arrays: Arrays) -> Any:
    return taken(arrays, BitPlanes, lambda planes: planes.is_valid_for(WORDS))


def subtrees(arrays: Arrays) -> Any:
    return taken(arrays, SubtreeIndex, lambda index: index.is_valid_for(2))


def same(found: Any, built: tuple[np.ndarray, ...]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(found, built, strict=True))


def test_what_an_ingest_writes_fits() -> None:
    built = BitPlanes.from_words(WORDS)
    assert same(planes(built._asdict()), built)
    index = SubtreeIndex.from_features(FEATURES)
    assert same(subtrees(index._asdict()), index)
    assert planes({}) is None
    none = np.empty((0, 2), np.uint64)
    assert taken(BitPlanes.from_words(none)._asdict(), BitPlanes, lambda planes: planes.is_valid_for(none)) is not None


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("order", lambda array: np.append(array[1:], 700).astype(np.int32)),
        ("order", lambda array: array[:-1]),
        ("order", lambda array: array.astype(np.int64)),
        ("popcounts", lambda array: array[::-1]),
        ("popcounts", lambda array: np.append(array[:-1], 10**9)),
        ("rank", lambda array: np.append(array[1:], 65535).astype(np.uint16)),
        ("lacking", lambda array: array[:-1]),
        ("lacking", lambda array: array[:, :-8]),
        ("lacking", lambda array: array.reshape(-1)),
        (None, lambda arrays: {name: array for name, array in arrays.items() if name != "rank"}),
        (None, lambda arrays: {**arrays, "more": np.zeros(1)}),
    ],
)
def test_planes_of_something_else(name: str | None, change: Callable[[Any], Any]) -> None:
    arrays = BitPlanes.from_words(WORDS)._asdict()
    with pytest.raises(StoreFormat, match="search index"):
        planes(change(arrays) if name is None else {**arrays, name: change(arrays[name])})


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("subtrees", lambda array: array[::-1]),
        ("subtrees", lambda array: array[:-1]),
        ("starts", lambda array: array + 1),
        ("starts", lambda array: np.array([0, 9, 3])),
        ("starts", lambda array: np.array([0, 1, 10**12])),
        ("graph", lambda array: array + 2**30),
        ("graph", lambda array: -array - 1),
        ("times", lambda array: array[:-1]),
        ("square", lambda array: array[:-1]),
    ],
)
def test_subtrees_of_something_else(name: str, change: Callable[[Any], Any]) -> None:
    arrays = SubtreeIndex.from_features(FEATURES)._asdict()
    with pytest.raises(StoreFormat, match="search index"):
        subtrees({**arrays, name: change(arrays[name])})


def test_a_collection_without_subtrees_is_similar_to_nothing() -> None:
    nothing = Features(np.array([0, 0]), np.empty(0, np.uint64), np.empty(0, np.int32))
    assert SubtreeIndex.from_features(nothing).products(FEATURES).tolist() == [0.0]
