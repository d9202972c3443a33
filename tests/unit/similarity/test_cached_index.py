"""The index that this machine keeps for a store that keeps none: found again, or made again, never believed."""

import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from io import BufferedReader
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from graphkin.runtime import array_cache, files
from graphkin.similarity.graphs.index import SubtreeIndex
from graphkin.similarity.graphs.wl import Features
from graphkin.similarity.stored_index import load_or_compute_index
from tests.modes import open_to_others

INDEX = SubtreeIndex.from_features(
    Features(np.array([0, 2, 3]), np.array([5, 9, 9], np.uint64), np.array([1, 2, 3], np.int32)),
)
OTHER = SubtreeIndex.from_features(
    Features(np.array([0, 1, 3]), np.array([5, 5, 7], np.uint64), np.array([4, 2, 3], np.int32)),
)

Opened = Callable[..., tuple[SubtreeIndex, int]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where indexes are kept; nothing is there yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "graphkin" / "indexes"


@pytest.fixture
def opened(folder: Path) -> Opened:
    """opened(index, generation, made_by): what is handed out for it, and how often it was made."""

    def ask(index: SubtreeIndex = INDEX, generation: str = "g", made_by: str = "m") -> tuple[SubtreeIndex, int]:
        of: Any = SimpleNamespace(id=generation, size=2)
        made = []

        def make() -> SubtreeIndex:
            made.append(index)
            return index

        return load_or_compute_index(of, made_by, SubtreeIndex, lambda found: found.is_valid_for(2), make), len(made)

    return ask


def _same(one: tuple[np.ndarray, ...], other: tuple[np.ndarray, ...]) -> bool:
    return all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def _entries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_dir())


def test_it_is_made_once_for_every_generation_and_way_of_making(folder: Path, opened: Opened) -> None:
    for made in (1, 0, 0):
        index, number = opened()
        assert number == made
        assert _same(index, INDEX)
    for other in ({"generation": "h"}, {"made_by": "n"}):
        index, number = opened(OTHER, **other)
        assert number == 1
        assert _same(index, OTHER)
    assert opened()[1] == 0
    assert len(_entries(folder)) == 3
    assert open_to_others(folder.parent) == []


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("spoil", [_cut, _flip, Path.unlink])
@pytest.mark.parametrize("victim", [*(f"{name}.npy" for name in SubtreeIndex._fields), "key.json"])
def test_a_damaged_one_is_made_again(folder: Path, opened: Opened, spoil: Any, victim: str) -> None:
    opened()
    (entry,) = _entries(folder)
    spoil(entry / victim)
    for made in (1, 0):
        index, number = opened()
        assert number == made
        assert _same(index, INDEX)


def _set_written_an_hour_ago(entry: Path) -> None:
    for path in entry.glob("*.npy"):
        written_at = path.stat().st_mtime_ns - 3600 * 10**9
        os.utime(path, ns=(written_at, written_at))


def test_later_processes_do_not_read_a_checked_entry_again(
    folder: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened()
    (entry,) = _entries(folder)
    _set_written_an_hour_ago(entry)
    read: list[str] = []

    def hash_file(file: BufferedReader) -> str:
        read.append(file.name)
        return files.sha256(file)

    monkeypatch.setattr(array_cache, "sha256", hash_file)
    for hashed in (len(SubtreeIndex._fields), 0, 0):
        read.clear()
        index, number = opened()
        assert number == 0
        assert _same(index, INDEX)
        assert len(read) == hashed


def test_an_entry_that_changes_after_its_check_is_made_again(folder: Path, opened: Opened) -> None:
    opened()
    (entry,) = _entries(folder)
    _set_written_an_hour_ago(entry)
    opened()
    _flip(entry / "graph.npy")
    assert opened()[1] == 1


def test_that_of_another_key_is_not_taken(folder: Path, opened: Opened) -> None:
    opened()
    (mine,) = _entries(folder)
    opened(OTHER, generation="h")
    (others,) = set(_entries(folder)) - {mine}
    for path in others.iterdir():
        (mine / path.name).write_bytes(path.read_bytes())
    index, number = opened()
    assert number == 1
    assert _same(index, INDEX)


@pytest.mark.parametrize("name", ["graph", "surplus"])
def test_one_that_kernels_could_not_read_is_not_taken_whatever_its_checksums(
    folder: Path, opened: Opened, name: str
) -> None:
    opened()
    (entry,) = _entries(folder)
    np.save(entry / f"{name}.npy", INDEX.graph + np.int32(2**30))
    key = json.loads((entry / "key.json").read_text())
    key["columns"][name] = sha256((entry / f"{name}.npy").read_bytes()).hexdigest()
    (entry / "key.json").write_text(json.dumps(key))
    index, number = opened()
    assert number == 1
    assert _same(index, INDEX)


def test_what_cannot_be_kept_is_handed_out_all_the_same(
    folder: Path, opened: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    folder.parent.mkdir()
    folder.touch()  # a file where there is to be a folder
    for _ in range(2):
        index, number = opened()
        assert number == 1
        assert _same(index, INDEX)
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 2


def test_many_at_once_get_the_same(folder: Path, opened: Opened) -> None:
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: opened(), range(32)))
    assert all(_same(index, INDEX) for index, _ in answers)
    assert len(_entries(folder)) == 1
    assert opened()[1] == 0
