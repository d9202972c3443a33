"""Folders and files that differ from those that the embedded store writes."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, suppress
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from graphkin.protocol.errors import NotFound, StoreDamaged, StoreError, StoreFormat
from graphkin.protocol.manifest import Manifest
from graphkin.runtime import files
from graphkin.store import open_store
from graphkin.store.base import Store
from graphkin.store.embedded.catalog import SCHEMA_VERSION
from graphkin.store.embedded.generation import EmbeddedGeneration

OLDER = "ingest again, into a new store, or open it with the graphkin that wrote it (0.1 for schema version 3)"
NO_ID = "the hashes of the blocks of its items do not make the generation id"


def _generation(folder: Path) -> Path:
    (path,) = (folder / "collections" / "c").iterdir()
    return path


@pytest.fixture
def whole(store: Store, folder: Path, publish: Callable[..., Manifest]) -> Path:
    """Return the folder of a published generation."""
    publish(store)
    return _generation(folder)


def test_missing_store_is_not_found(folder: Path) -> None:
    with pytest.raises(NotFound, match="no store"):
        open_store(folder)
    folder.mkdir()
    with pytest.raises(NotFound, match="no store"):
        open_store(folder)
    assert list(folder.iterdir()) == []


def test_create_makes_parents_and_opens_an_existing_store(tmp_path: Path, publish: Callable[..., Manifest]) -> None:
    folder = tmp_path / "a" / "b"
    with open_store(folder, create=True) as store:
        manifest = publish(store)
    for create in (False, True):
        with open_store(str(folder), create=create) as store:
            assert store.collection("c").current == manifest.generation


@pytest.mark.parametrize("create", [False, True])
def test_foreign_folder_is_refused(folder: Path, create: bool) -> None:
    folder.mkdir()
    (folder / "thesis.tex").write_text("precious")
    with pytest.raises(StoreFormat, match="not a graphkin store"):
        open_store(folder, create=create)
    assert [entry.name for entry in folder.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("create", [False, True])
def test_catalog_that_is_not_a_database_is_refused(folder: Path, create: bool) -> None:
    folder.mkdir()
    (folder / "catalog.sqlite").write_bytes(b"not a database\n" * 500)
    with pytest.raises(StoreFormat, match="not a graphkin store"):
        open_store(folder, create=create)
    assert (folder / "catalog.sqlite").read_bytes() == b"not a database\n" * 500


@pytest.mark.parametrize("create", [False, True])
def test_foreign_database_is_refused(folder: Path, create: bool) -> None:
    folder.mkdir()
    with closing(sqlite3.connect(folder / "catalog.sqlite")) as database:
        database.execute("CREATE TABLE collections (title TEXT)")
    before = (folder / "catalog.sqlite").read_bytes()
    with pytest.raises(StoreFormat, match="belongs to another program"):
        open_store(folder, create=create)
    assert (folder / "catalog.sqlite").read_bytes() == before


@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize(
    ("version", "hint"),
    [(SCHEMA_VERSION + 1, "upgrade graphkin"), (SCHEMA_VERSION - 1, OLDER)],
)
def test_other_schema_version_is_refused(whole: Path, folder: Path, create: bool, version: int, hint: str) -> None:
    with closing(sqlite3.connect(folder / "catalog.sqlite")) as database:
        database.execute(f"PRAGMA user_version = {version}")
    with pytest.raises(StoreFormat, match=f"schema version {version}") as error:
        open_store(folder, create=create)
    assert error.value.hint == hint


def test_store_that_crashed_at_creation_is_created_again(folder: Path, publish: Callable[..., Manifest]) -> None:
    folder.mkdir()
    (folder / "catalog.sqlite").touch()
    (folder / "catalog.sqlite-journal").touch()
    with open_store(folder, create=True) as store:
        assert store.collections() == []
        publish(store)


@pytest.mark.parametrize("damage", ["corrupt", "remove"])
def test_catalog_damaged_while_the_store_is_open_is_an_error(
    store: Store, whole: Path, folder: Path, damage: str
) -> None:
    catalog = folder / "catalog.sqlite"
    if damage == "remove":
        catalog.unlink()
    else:
        data = catalog.read_bytes()
        catalog.write_bytes(data[:100] + b"\xff" * (len(data) - 100))
    for call in (store.collections, lambda: store.open("c"), lambda: store.open("c", whole.name)):
        with pytest.raises(StoreError):
            call()


@pytest.mark.parametrize("create", [False, True])
def test_file_at_the_path_of_the_store_is_refused(folder: Path, create: bool) -> None:
    folder.write_text("a file")
    for path in (folder, folder / "below"):
        with pytest.raises((StoreError, NotFound)):
            open_store(path, create=create)


def test_unwritable_folder_publishes_nothing(store: Store, folder: Path, publish: Callable[..., Manifest]) -> None:
    (folder / "collections").write_text("a file in the way")
    with pytest.raises(StoreError, match="cannot write the store"):
        publish(store)
    assert store.collections() == []
    (folder / "collections").unlink()
    publish(store)


def test_missing_file_is_damage_at_opening(store: Store, whole: Path) -> None:
    for name in [path.name for path in whole.iterdir()]:
        (whole / name).rename(whole / "elsewhere")
        with pytest.raises(StoreFormat, match="damaged"):
            store.open("c")
        (whole / "elsewhere").rename(whole / name)
    with store.open("c") as generation:
        assert generation.check() == []


def test_missing_folder_is_damage_at_opening(store: Store, whole: Path) -> None:
    shutil.rmtree(whole)
    with pytest.raises(StoreFormat, match="damaged"):
        store.open("c")


@pytest.mark.parametrize("keep", [0, 1, 60, -1])
def test_truncated_array_is_damage_at_opening(store: Store, whole: Path, keep: int) -> None:
    arrays = [path for path in whole.glob("*.npy") if path.stat().st_size > 128]
    assert len(arrays) == 13
    for path in arrays:
        data = path.read_bytes()
        path.write_bytes(data[:keep])
        with pytest.raises(StoreFormat, match="damaged"):
            store.open("c")
        path.write_bytes(data)


@pytest.mark.parametrize("name", ["indptr", "indices", "similarity", "fingerprints", "popcounts", "dropped"])
def test_arrays_of_the_wrong_length_are_damage_at_opening(store: Store, whole: Path, name: str) -> None:
    path = whole / f"{name}.npy"
    array = np.load(path)
    for wrong in (array[:-1], np.concatenate([array, array[:1]]), array[:0]):
        np.save(path, wrong)
        with pytest.raises(StoreFormat, match="damaged"):
            store.open("c")


def test_any_changed_byte_is_reported(store: Store, whole: Path) -> None:
    """It is reported at opening or by check(), in any file and at any position."""
    random = np.random.default_rng(0)
    for path in sorted(whole.iterdir()):
        data = path.read_bytes()
        offsets = {*random.integers(0, len(data), 15).tolist(), *random.integers(0, min(len(data), 128), 10).tolist()}
        for offset in offsets:
            changed = bytearray(data)
            changed[offset] ^= int(random.integers(1, 256))
            path.write_bytes(changed)
            with suppress(StoreDamaged), store.open("c") as generation:
                assert any(path.name in problem for problem in generation.check())
            damage = store.damage("c")
            assert damage is not None
            assert damage.file == path.name
        path.write_bytes(data)
    with store.open("c") as generation:
        assert generation.check() == []


def test_file_lost_while_reading_is_reported_by_check(store: Store, whole: Path) -> None:
    with store.open("c") as generation:
        (whole / "dropped.npy").unlink()
        assert any("dropped.npy" in problem for problem in generation.check())


def test_items_of_another_id_are_reported(
    store: Store, whole: Path, folder: Path, edit_catalog: Callable[[Path], AbstractContextManager[sqlite3.Connection]]
) -> None:
    """Files and checksums agree, but belong to other content."""
    other = "f" * 64
    whole.rename(whole.with_name(other))
    with edit_catalog(folder) as database:
        database.execute(
            "UPDATE generations SET generation = ?, manifest = replace(manifest, ?, ?)", (other, whole.name, other)
        )
        database.execute("UPDATE collections SET current = ?", (other,))
    with store.open("c") as generation:
        assert generation.id == other
        assert any("content hash" in problem for problem in generation.check())


def test_block_hashes_of_another_id_are_reported_and_not_extended(
    store: Store, whole: Path, folder: Path, edit_catalog: Callable[[Path], AbstractContextManager[sqlite3.Connection]]
) -> None:
    """A faulty writer could leave them. The next generation would get an id that does not match its items."""
    path = whole / "blocks.npy"
    before = files.file_sha256(path)
    np.save(path, np.load(path) ^ np.uint8(1))
    with edit_catalog(folder) as database:
        database.execute("UPDATE generations SET manifest = replace(manifest, ?, ?)", (before, files.file_sha256(path)))
    with store.open("c") as generation:
        assert generation.check() == [f"blocks.npy: {NO_ID}"]
    with store.open("c") as generation, pytest.raises(StoreDamaged, match=NO_ID):
        _ = cast(EmbeddedGeneration, generation).blocks


def test_damaged_generation_can_be_replaced(store: Store, whole: Path, publish: Callable[..., Manifest]) -> None:
    """The hint of the error says how: delete it, then ingest again."""
    (whole / "indices.npy").unlink()
    with pytest.raises(StoreFormat) as error:
        store.open("c")
    assert "delete" in str(error.value.hint)
    store.delete("c", whole.name)
    assert publish(store).generation == whole.name
    with store.open("c") as generation:
        assert generation.check() == []
