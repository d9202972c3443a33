"""A store of schema version 3, whose items had their properties as JSON, as that version left it."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from graphkin.protocol.errors import StoreDamaged
from graphkin.similarity.kinds import kind_of
from graphkin.similarity.verify import verify
from graphkin.store import open_store
from graphkin.store.base import Generation, Store
from graphkin.store.embedded.catalog import SCHEMA_VERSION
from graphkin.store.transfer import copy_generation

OLDER = Path(__file__).parents[2] / "stores" / "version-3"
NAMES = ["ethanol", "propanol", "Zürich 東京", "butanol", "benzene", "toluene"]
LOG_P = [-0.31, 0.25, 0.05, 1.5, 2.13, np.nan]
NOTES = ['said "to burn"', None, "naïve", "007", None, "two\nlines"]


@pytest.fixture
def older(folder: Path) -> Iterator[Store]:
    shutil.copytree(OLDER, folder)
    with open_store(folder) as store:
        yield store


@pytest.fixture
def alcohols(older: Store) -> Iterator[Generation]:
    with older.open("alcohols") as generation:
        yield generation


def version(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "catalog.sqlite")) as database:
        (found,) = database.execute("PRAGMA user_version").fetchone()
    return int(found)


def test_it_is_read(alcohols: Generation) -> None:
    assert alcohols.items([0]) == [
        {
            "id": 0,
            "smiles": "CCO",
            "names": ["ethanol", "alcohol"],
            "inchikey": "LFQSCWFLJHTTHZ-UHFFFAOYSA-N",
            "properties": {
                "heavy_atoms": 3, "logP": -0.31, "molwt": 46.069, "names": 7, "note": 'said "to burn"', "rings": 0,
            },
            "degree": 2,
            "dropped": 0,
        }
    ]  # fmt: skip
    assert [item["names"][0] for item in alcohols.items(range(6))] == NAMES
    assert [item["properties"].get("note") for item in alcohols.items(range(6))] == NOTES
    assert [text for batch in alcohols.columns(["note"]) for text in batch["note"].to_pylist()] == NOTES
    np.testing.assert_array_equal(alcohols.column("logP"), LOG_P)
    assert [row for batch in alcohols.columns(["property.names", "id"], 1, 4) for row in batch.to_pylist()] == [
        {"property.names": 1.0, "id": 1},
        {"property.names": 2.0, "id": 2},
        {"property.names": None, "id": 3},
    ]
    assert alcohols.take(np.array([5, 0], np.int32), ["smiles"])["smiles"].to_pylist() == ["Cc1ccccc1", "CCO"]
    assert (alcohols.find("smiles", "CCO"), alcohols.find("name", "butanol")) == ([0], [3])
    assert alcohols.find("inchikey", "UHOVQNZJYSORNB-UHFFFAOYSA-N") == [4]
    assert [row["line"] for batch in alcohols.rejections() for row in batch.to_pylist()] == [10]


def test_it_is_searched_and_checked(older: Store, alcohols: Generation) -> None:
    kind = kind_of(alcohols)
    query = kind.read(kind.recipe(alcohols.manifest.recipe), "OCC", "smiles")
    assert kind.search(alcohols).search(query, None, 1).ids.tolist() == [0]
    for collection in ("alcohols", "small"):
        with older.open(collection) as generation:
            assert verify(generation, 100) == []
            assert generation.identity() == generation.id


def test_a_changed_item_is_damage(older: Store, folder: Path) -> None:
    with older.open("alcohols") as generation:
        (file,) = folder.glob(f"collections/alcohols/{generation.id}/items.sqlite")
    with closing(sqlite3.connect(file)) as items, items:
        items.execute("""UPDATE items SET properties = '{"rings": 1}' WHERE id = 3""")
    with older.open("alcohols") as generation, pytest.raises(StoreDamaged, match=r"items\.sqlite"):
        generation.items([0])


def test_it_is_written_to_beside_what_it_holds(older: Store, folder: Path, tmp_path: Path) -> None:
    """Copied, a generation gets the id that its items have today: what is ingested today has the same."""
    assert version(folder) == 3
    with open_store(tmp_path / "other", create=True) as other:
        for collection in ("alcohols", "small"):
            with older.open(collection) as source:
                copied = copy_generation(source, other)
            with other.open(collection) as copy, older.open(collection) as source:
                assert copied.generation not in (source.id, None)
                assert copy.items(range(copy.size)) == source.items(range(source.size))
                assert copy.check() == []
                assert copy_generation(copy, older).generation == copied.generation
    assert version(folder) == SCHEMA_VERSION
    assert [len(each.generations) for each in older.collections()] == [2, 2]
    for each in older.collections():
        for generation in each.generations:
            with older.open(each.name, generation) as opened:
                assert opened.check() == []
