"""The local cache: what it keeps, what it lets go, and what damage does to it."""

import logging
import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from graphkin.protocol.errors import Closed, InvalidInput
from graphkin.trainer.feed.cache import Arrays, Cache
from tests.modes import open_to_others

ROOM = 10**7


def arrays_of(number: int, rows: int = 100) -> dict[str, NDArray[Any]]:
    draws = np.random.default_rng(number)
    return {"ids": draws.integers(0, 2**31, (rows, 3), np.int32), "empty": np.empty((rows, 0), np.uint8)}


def never() -> Arrays:
    raise AssertionError("it should be there")


def same(found: Arrays, wanted: Arrays) -> bool:
    return found.keys() == wanted.keys() and all(
        np.array_equal(found[name], wanted[name]) and found[name].dtype == wanted[name].dtype for name in wanted
    )


def folders(folder: Path) -> list[Path]:
    return sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))


def size_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def test_what_was_made_is_kept(tmp_path: Path) -> None:
    first = Cache(tmp_path, ROOM).get({"epoch": 1, "seed": 2}, lambda: arrays_of(1))
    again = Cache(tmp_path, ROOM).get({"seed": 2, "epoch": 1}, never)
    assert same(first, arrays_of(1))
    assert same(again, arrays_of(1))


def test_cache_is_for_its_owner_alone(tmp_path: Path) -> None:
    Cache(tmp_path / "new" / "cache", ROOM).get({}, lambda: arrays_of(1))
    assert open_to_others(tmp_path / "new") == []


@pytest.mark.parametrize("key", [{"epochs": (0, 2)}, {"columns": ["a"], "built_at": 1}])
def test_any_json_is_a_key(tmp_path: Path, key: Mapping[str, Any]) -> None:
    assert same(Cache(tmp_path, ROOM).get(key, lambda: arrays_of(1)), arrays_of(1))
    assert same(Cache(tmp_path, ROOM).get(key, never), arrays_of(1))


def test_every_part_of_the_key_counts(tmp_path: Path) -> None:
    cache = Cache(tmp_path, ROOM)
    keys: list[Mapping[str, Any]] = [{"a": 1}, {"a": 2}, {"b": 1}, {"a": "1"}, {"a": 1, "b": None}, {}]
    for number, key in enumerate(keys):
        cache.get(key, partial(arrays_of, number))
    for number, key in enumerate(keys):
        assert same(cache.get(key, never), arrays_of(number))


def test_writing_to_what_was_handed_out_changes_nothing_kept(tmp_path: Path) -> None:
    cache = Cache(tmp_path, ROOM)
    cache.get({}, lambda: arrays_of(1))
    cache.get({}, never)["ids"][:] = 0
    assert same(cache.get({}, never), arrays_of(1))


def test_what_making_raises_is_raised_and_tried_again(tmp_path: Path) -> None:
    cache = Cache(tmp_path, ROOM)

    def fails() -> Arrays:
        raise Closed("gone")

    with pytest.raises(Closed):
        cache.get({}, fails)
    assert same(cache.get({}, lambda: arrays_of(1)), arrays_of(1))


def test_those_longest_unused_make_room(tmp_path: Path) -> None:
    """There is room for five entries."""
    room = 5 * 135_000
    cache = Cache(tmp_path, room)
    made: list[int] = []

    def ask(number: int) -> Arrays:
        def make() -> Arrays:
            made.append(number)
            return arrays_of(number, rows=10_000)

        return cache.get({"n": number}, make)

    for number in range(5):
        ask(number)
    held = ask(2)
    ask(0)
    for number in (5, 6, 7):
        ask(number)
        assert size_of(tmp_path) <= room
    made.clear()
    for number in (2, 0, 5, 6, 7):
        assert same(ask(number), arrays_of(number, rows=10_000))
    assert made == []
    for number in (1, 3, 4):
        ask(number)
    assert made == [1, 3, 4]
    assert same(held, arrays_of(2, rows=10_000)), "what was handed out stays readable"


def test_what_does_not_fit_is_handed_out_and_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache = Cache(tmp_path, 5000)
    for _ in range(2):
        assert same(cache.get({}, lambda: arrays_of(1)), arrays_of(1))
    assert folders(tmp_path) == []
    assert "too large" in caplog.text


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(InvalidInput) as refused:
        Cache(tmp_path / "file" / "cache", ROOM)
    assert refused.value.given == str(tmp_path / "file" / "cache")


def test_an_entry_that_cannot_be_written_is_handed_out_and_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache = Cache(tmp_path, ROOM)
    unwritable = {"a/b": np.zeros(3)}
    assert same(cache.get({}, lambda: unwritable), unwritable)
    assert "cannot write" in caplog.text
    assert folders(tmp_path) == []


def flipped(file: Path, at: int) -> None:
    data = bytearray(file.read_bytes())
    data[at % len(data)] ^= 1 << (at % 8)
    file.write_bytes(data)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "cut": lambda file: os.truncate(file, file.stat().st_size - 1),
    "half": lambda file: os.truncate(file, file.stat().st_size // 2),
    "emptied": lambda file: os.truncate(file, 0),
    "gone": lambda file: file.unlink(),
    "zeroed": lambda file: file.write_bytes(bytes(file.stat().st_size)),
    "another": lambda file: file.write_bytes(b'{"key": 1}'),
    "a list": lambda file: file.write_bytes(b"[]"),
}


@pytest.mark.parametrize("file", ["ids.npy", "key.json"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_entry_is_made_again(
    tmp_path: Path, file: str, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    cache = Cache(tmp_path, ROOM)
    cache.get({}, lambda: arrays_of(1))
    DAMAGES[damage](folders(tmp_path)[0] / file)
    assert same(cache.get({}, lambda: arrays_of(1)), arrays_of(1))
    assert "damaged" in caplog.text
    assert same(cache.get({}, never), arrays_of(1))


@pytest.mark.parametrize("file", ["ids.npy", "key.json"])
def test_no_flipped_bit_goes_unnoticed(tmp_path: Path, file: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    cache = Cache(tmp_path, ROOM)
    cache.get({}, lambda: arrays_of(1, rows=8))
    path = folders(tmp_path)[0] / file
    whole = path.read_bytes()
    for at in range(len(whole)):
        flipped(path, at)
        try:
            found = Cache(tmp_path, ROOM).get({}, lambda: arrays_of(2, rows=8))  # a process verifies an entry once
            assert same(found, arrays_of(2, rows=8)) or same(found, arrays_of(1, rows=8)), f"bit of byte {at}"
        finally:
            for entry in folders(tmp_path):
                entry.joinpath("ids.npy").unlink()
            cache.get({}, lambda: arrays_of(1, rows=8))


def test_threads_share_one_making(tmp_path: Path) -> None:
    cache = Cache(tmp_path, ROOM)
    made: list[int] = []
    ready = threading.Barrier(8)

    def make(number: int) -> Arrays:
        made.append(number)
        return arrays_of(number)

    def ask(number: int) -> bool:
        ready.wait()
        return same(cache.get({"n": number}, lambda: make(number)), arrays_of(number))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, [number % 4 for number in range(8)]))
    assert sorted(made) == [0, 1, 2, 3]
