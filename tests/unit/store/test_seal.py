"""Damage to the catalog is always reported, and never read as another listing."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, suppress
from pathlib import Path

import numpy as np
import pytest

from graphkin.cli import run
from graphkin.protocol.errors import StoreDamaged, StoreError, StoreFormat
from graphkin.protocol.manifest import Manifest
from graphkin.store import open_store
from graphkin.store.base import Collection, Store

Publish = Callable[..., Manifest]


@pytest.fixture
def listing(store: Store, publish: Publish) -> list[Collection]:
    """Publish two collections, one of three generations of which one is deleted, and return the listing."""
    for items in (4, 5, 6):
        publish(store, "c", items)
    publish(store, "d")
    store.delete("c", store.collection("c").generations[1])
    return store.collections()


def manifests(store: Store, listing: list[Collection]) -> list[Manifest]:
    return [store.manifest(collection.name, id) for collection in listing for id in collection.generations]


def change(folder: Path, sql: str) -> None:
    with closing(sqlite3.connect(folder / "catalog.sqlite")) as database, database:
        database.execute(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE collections SET current = 'f' || substr(current, 2)",
        "UPDATE collections SET name = 'e' WHERE name = 'd'",
        "UPDATE collections SET kind = 'graph'",
        "DELETE FROM collections WHERE name = 'd'",
        "DELETE FROM generations WHERE collection = 'd'",
        "UPDATE generations SET deleted_at = NULL",
        "UPDATE generations SET deleted_at = 'now' WHERE collection = 'd'",
        "UPDATE generations SET position = position + 10 WHERE position = 1",
        "UPDATE generations SET digest = 'f' || digest",
        "UPDATE seal SET digest = 'f'",
        "DELETE FROM seal",
        "INSERT INTO seal SELECT digest FROM seal",
        "DROP TABLE seal",
        "DROP TABLE generations",
    ],
)
def test_changed_rows_are_damage_in_each_operation(
    store: Store, folder: Path, listing: list[Collection], publish: Publish, sql: str
) -> None:
    change(folder, sql)
    before = (folder / "catalog.sqlite").read_bytes()
    for operation in (
        store.collections,
        lambda: store.open("c"),
        lambda: store.manifest("c", listing[0].current),
        lambda: store.delete("c", listing[0].current),
        lambda: publish(store, "c", 9),
        lambda: open_store(folder),
        lambda: open_store(folder, create=True),
    ):
        with pytest.raises(StoreDamaged) as error:
            operation()
        assert (error.value.damage.file, error.value.damage.generation) == ("catalog.sqlite", None)
    assert (folder / "catalog.sqlite").read_bytes() == before


def test_changed_manifest_is_damage(store: Store, folder: Path, listing: list[Collection]) -> None:
    change(folder, "UPDATE generations SET manifest = replace(manifest, '\"edges\":2', '\"edges\":3')")
    assert store.collections() == listing
    with pytest.raises(StoreDamaged, match="the manifest of generation"):
        store.open("c")


def test_changed_bytes_never_change_the_listing(store: Store, folder: Path, listing: list[Collection]) -> None:
    """After a flipped bit or a cut, the listing and all manifests are unchanged, or an error is raised."""
    expected = manifests(store, listing)
    catalog = folder / "catalog.sqlite"
    data = catalog.read_bytes()
    random = np.random.default_rng(0)
    offsets = [*range(100), *random.integers(100, len(data), 150).tolist()]
    damaged = [
        data[:offset] + bytes([data[offset] ^ 1 << random.integers(8)]) + data[offset + 1 :] for offset in offsets
    ]
    damaged += [data[:keep] for keep in (0, 1, 99, 100, 4095, 4096, len(data) - 4096, len(data) - 1)]
    read = 0
    for content in damaged:
        catalog.write_bytes(content)
        with suppress(StoreFormat), open_store(folder) as reopened:
            assert (reopened.collections(), manifests(reopened, listing)) == (listing, expected)
            read += 1
    assert 0 < read < len(damaged) - 20


@pytest.mark.parametrize("keep", [0, 1, 100, 5000, -1])
def test_verify_reports_a_truncated_catalog(
    listing: list[Collection], folder: Path, keep: int, capfd: pytest.CaptureFixture[str]
) -> None:
    os.truncate(folder / "catalog.sqlite", keep % (folder / "catalog.sqlite").stat().st_size)
    assert run(["verify", "--store", str(folder)]) == 1
    captured = capfd.readouterr()
    assert captured.out.startswith("the store: 1 problems\n  catalog.sqlite: ")
    assert captured.err == ""
    assert run(["verify", "--store", str(folder), "--json"]) == 1
    assert run(["info", "--store", str(folder)]) == 4
    assert run(["serve", "--store", str(folder), "--port", "0"]) == 4
    assert capfd.readouterr().err.count("error: catalog.sqlite: ") == 2


def test_missing_folder_is_not_damage(store: Store, folder: Path, listing: list[Collection]) -> None:
    folder.rename(folder.with_name("elsewhere"))
    with pytest.raises(StoreError) as error:
        store.collections()
    assert not isinstance(error.value, StoreFormat)
    assert not folder.exists()


def test_generations_without_a_catalog_are_damage(listing: list[Collection], folder: Path) -> None:
    (folder / "catalog.sqlite").unlink()
    for create in (False, True):
        with pytest.raises(StoreDamaged, match="missing or empty"):
            open_store(folder, create=create)


def test_sealed_text_that_is_not_a_manifest_is_damage(
    store: Store,
    folder: Path,
    listing: list[Collection],
    edit_catalog: Callable[[Path], AbstractContextManager[sqlite3.Connection]],
) -> None:
    with edit_catalog(folder) as catalog:
        catalog.execute("UPDATE generations SET manifest = 'x' WHERE collection = 'd'")
    assert store.collections() == listing
    with pytest.raises(StoreDamaged, match="a manifest is not valid"):
        store.open("d")


def test_damaged_index_stops_the_next_change(
    store: Store, folder: Path, listing: list[Collection], publish: Publish
) -> None:
    catalog = folder / "catalog.sqlite"
    data = catalog.read_bytes()
    with closing(sqlite3.connect(catalog)) as database:
        (root,) = database.execute(
            "SELECT rootpage FROM sqlite_schema WHERE name LIKE '%autoindex_generations%'"
        ).fetchone()
        (size,) = database.execute("PRAGMA page_size").fetchone()
    page = range((root - 1) * size, root * size)
    offset = data.index(listing[1].current.encode(), page.start, page.stop)
    catalog.write_bytes(data[:offset] + b"g" + data[offset + 1 :])
    assert store.collections() == listing
    assert store.manifest("d").generation == listing[1].current
    with pytest.raises(StoreDamaged):
        publish(store, "e")


def test_folder_name_with_special_characters_is_opened(tmp_path: Path, listing: list[Collection], folder: Path) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "space in its name?#%41"))
    with open_store(copy) as store:
        assert store.collections() == listing
