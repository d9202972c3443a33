"""Results of blocks of molecules are cached by structure, and computed without a cache that cannot be used."""

import logging
import shutil
from pathlib import Path

import numpy as np
import pytest

from graphkin.collection.block_cache import BlockCache
from graphkin.store.records import Int64

BLOCK = ["CCO", "CC"]
LENGTHS = np.array([3, 2])


def open_cache(settings: str = "") -> BlockCache[Int64]:
    """Return a cache of the lengths of structures."""
    return BlockCache("lengths", settings, 2**20, lambda lengths: lengths, lambda lengths, size: len(lengths) == size)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the user's cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "graphkin"


def add(cache: BlockCache[Int64]) -> Int64 | None:
    return cache.add(cache.key(BLOCK), len(BLOCK), {"lengths": LENGTHS})


@pytest.mark.usefixtures("folder")
def test_block_is_read_by_its_structures_and_settings() -> None:
    cache = open_cache()
    added = add(cache)
    assert added is not None
    assert added.tolist() == [3, 2]
    again = open_cache()
    cached = again.get(again.key(BLOCK), len(BLOCK))
    assert cached is not None
    assert cached.tolist() == [3, 2]
    assert again.get(again.key(BLOCK[::-1]), len(BLOCK)) is None
    assert again.get(open_cache("other").key(BLOCK), len(BLOCK)) is None


@pytest.mark.usefixtures("folder")
def test_result_of_other_molecules_counts_as_missing() -> None:
    cache = open_cache()
    add(cache)
    assert cache.get(cache.key(BLOCK), len(BLOCK) + 1) is None


def test_folder_that_cannot_be_made_is_reported_once(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder.write_text("a file", encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        cache = open_cache()
        assert add(cache) is None
    assert [record.message.split(":")[0] for record in caplog.records] == ["lengths cannot be cached"]


def test_folder_that_disappears_is_reported_once(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache = open_cache()
    shutil.rmtree(folder)
    folder.write_text("a file", encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        assert cache.get(cache.key(BLOCK), len(BLOCK)) is None
        assert add(cache) is None
    assert [record.message.split(":")[0] for record in caplog.records] == ["lengths cannot be cached"]
