"""What appends leave on the disk, who reads it, and how it is made one again."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rdkit import rdBase

from graphkin.ingest.append import append
from graphkin.ingest.pipeline import ingest
from graphkin.protocol.errors import Conflict, NotFound, StoreDamaged
from graphkin.similarity.compaction import compact
from graphkin.similarity.kinds import kind_of
from graphkin.similarity.molecules.recipe import resolve
from graphkin.similarity.verify import verify
from graphkin.store import open_store
from graphkin.store.base import Store
from tests.integration.append.conftest import OPTIONS, content, grow, written

pytestmark = pytest.mark.usefixtures("parsed_here")

RECIPE = resolve(threshold=0.3, top_k=4)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "store", create=True) as store:
        yield store


@pytest.fixture(scope="module")
def lines(nci_file: Path) -> list[str]:
    return nci_file.read_text().splitlines()


@pytest.fixture
def three(store: Store, tmp_path: Path, lines: list[str]) -> list[str]:
    """Files of which `c` is grown, with the generations of each step."""
    files = written(tmp_path, [lines[:60], lines[50:80], [*lines[80:90], "nonsense x"]], "smi")
    grow(store, "c", files, RECIPE)
    return files


def folders(tmp_path: Path, collection: str = "c") -> set[str]:
    return {entry.name for entry in (tmp_path / "store" / "collections" / collection).iterdir()}


def used(store: Store, collection: str = "c") -> set[str]:
    ids = store.collection(collection).generations
    return {each.folder for id in ids for each in store.manifest(collection, id).fragments}


def test_fragments_are_shared(store: Store, three: list[str], tmp_path: Path) -> None:
    ids = store.collection("c").generations
    first, second, third = (store.manifest("c", id).fragments for id in ids)
    assert third[:2] == second
    assert second[:1] == first
    assert folders(tmp_path) == used(store) == set(ids)
    assert [len(each.files) for each in third[1:]] == [1, 1]


def test_every_generation_is_what_one_ingest_of_its_files_gives(store: Store, three: list[str]) -> None:
    for count, id in enumerate(store.collection("c").generations, 1):
        ingest(store, "once", three[:count], RECIPE, OPTIONS)
        with store.open("c", id) as grown, store.open("once") as once:
            assert content(grown) == content(once)
            assert verify(grown, 1000) == []


def test_readers_of_the_older_generation_go_on(
    store: Store, three: list[str], tmp_path: Path, lines: list[str]
) -> None:
    with store.open("c") as older:
        before = older.id
        append(store, "c", written(tmp_path / "more", [lines[90:110]], "smi"), OPTIONS)
        compact(store, "c")
        store.delete("c", before)
        assert len(content(older)["items"][1]) == older.size
        assert older.check()  # its files are gone from the folder, and it says so
        assert older.damage is None


@pytest.mark.parametrize("which", range(3))
def test_what_others_are_read_from_outlives_a_deletion(
    store: Store, three: list[str], tmp_path: Path, which: int
) -> None:
    ids = store.collection("c").generations
    before = {}
    for id in ids:
        with store.open("c", id) as generation:
            before[id] = content(generation)
    store.delete("c", ids[which])
    assert folders(tmp_path) == used(store)
    for id in store.collection("c").generations:
        with store.open("c", id) as generation:
            assert content(generation) == before[id]
            assert generation.check() == []


def test_the_last_reference_removes(store: Store, three: list[str], tmp_path: Path) -> None:
    for id in store.collection("c").generations:
        store.delete("c", id)
    assert folders(tmp_path) == set()


def test_what_was_deleted_and_is_shared_can_be_ingested_again(store: Store, three: list[str], tmp_path: Path) -> None:
    first, *_ = store.collection("c").generations
    store.delete("c", first)
    assert ingest(store, "c", three[:1], RECIPE, OPTIONS).generation == first
    assert folders(tmp_path) == used(store)
    for id in store.collection("c").generations:
        with store.open("c", id) as generation:
            assert generation.check() == []


def test_compacted_files_are_those_of_one_ingest(store: Store, three: list[str], tmp_path: Path) -> None:
    once = ingest(store, "once", three, RECIPE, OPTIONS)
    id = store.collection("c").current
    with store.open("c") as reading:
        before = content(reading)
        compacted = compact(store, "c")
        assert content(reading) == before
    (whole,) = compacted.fragments
    assert whole.files == once.fragments[0].files
    assert compacted == store.manifest("c")
    assert (compacted.generation, store.collection("c").current) == (id, id)
    assert folders(tmp_path) == used(store)
    with store.open("c") as generation:
        assert content(generation) == before
        assert generation.check() == []
    assert compact(store, "c") == compacted


def test_ingesting_all_files_compacts_too(store: Store, three: list[str]) -> None:
    assert len(store.manifest("c").fragments) == 3
    manifest = ingest(store, "c", three, RECIPE, OPTIONS)
    assert len(manifest.fragments) == len(store.manifest("c").fragments) == 1


@pytest.mark.parametrize("appends", [12, pytest.param(50, marks=pytest.mark.long)])
def test_many_appends_then_compact(store: Store, tmp_path: Path, lines: list[str], appends: int) -> None:
    parts = [lines[start : start + 8] for start in range(0, 7 * appends, 7)]
    files = written(tmp_path, parts, "smi")
    grow(store, "c", files, RECIPE)
    once = ingest(store, "once", files, RECIPE, OPTIONS)
    with store.open("c") as grown, store.open("once") as other:
        assert content(grown) == content(other)
    assert compact(store, "c").fragments[0].files == once.fragments[0].files


def test_everything_is_found(store: Store, three: list[str]) -> None:
    with store.open("c") as generation:
        for item in generation.items(range(generation.size)):
            assert generation.find("smiles", str(item["smiles"])) == [item["id"]]
            for name in item["names"]:
                assert item["id"] in generation.find("name", name)
        assert generation.find("name", "nobody") == []


def test_searches_are_those_of_one_ingest(store: Store, three: list[str]) -> None:
    ingest(store, "once", three, RECIPE, OPTIONS)
    with store.open("c") as grown, store.open("once") as once:
        one, other = (kind_of(each).search(each) for each in (grown, once))
        for smiles in once.structures():
            query = kind_of(once).read(RECIPE, smiles, "smiles")
            for threshold in (None, 0.4):
                found, expected = one.search(query, threshold, 7), other.search(query, threshold, 7)
                assert np.array_equal(found.ids, expected.ids)
                assert np.array_equal(found.similarity, expected.similarity)
            assert one.find_identical(query) == other.find_identical(query)


def test_a_damaged_fragment_is_named(store: Store, three: list[str], tmp_path: Path) -> None:
    *_, fragment = store.manifest("c").fragments
    path = tmp_path / "store" / "collections" / "c" / fragment.folder / "increment.arrow"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with store.open("c") as generation, pytest.raises(StoreDamaged) as error:
        generation.neighbors(0)
    assert error.value.damage.file == f"{fragment.folder}/increment.arrow"
    damage = store.damage("c")
    assert damage is not None
    assert damage.file == f"{fragment.folder}/increment.arrow"
    with store.open("c", store.collection("c").generations[1]) as older:
        assert older.check() == []
    path.unlink()
    with pytest.raises(StoreDamaged, match="missing"):
        store.open("c")


def test_nothing_new(store: Store, three: list[str], tmp_path: Path) -> None:
    before = store.collection("c")
    appended = append(store, "c", three[:1], OPTIONS)
    assert (appended.items, appended.named, appended.manifest.generation) == (0, 0, before.current)
    assert store.collection("c") == before
    assert folders(tmp_path) == used(store)


def test_only_names_are_new(store: Store, three: list[str], tmp_path: Path, lines: list[str]) -> None:
    named = written(tmp_path / "named", [[f"{line.split()[0]} again" for line in lines[:5]]], "smi")
    appended = append(store, "c", named, OPTIONS)
    ingest(store, "once", [*three, *named], RECIPE, OPTIONS)
    assert (appended.items, appended.named) == (0, 5)
    with store.open("c") as grown, store.open("once") as once:
        assert content(grown)["items"] == content(once)["items"]
        assert grown.id == once.id
        assert len(grown.find("name", "again")) == 5


def test_what_does_not_grow(store: Store, three: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    ingest(store, "window", three[:1], resolve("paper"), OPTIONS)
    with pytest.raises(Conflict, match="window"):
        append(store, "window", three[1:], OPTIONS)
    with pytest.raises(NotFound):
        append(store, "nobody", three[1:], OPTIONS)
    monkeypatch.setattr(rdBase, "rdkitVersion", "1999.09.1")
    with pytest.raises(Conflict, match="other libraries") as error:
        append(store, "c", three[1:], OPTIONS)
    assert "1999.09.1" in str(error.value.given)


def test_compacting_what_never_grew(store: Store, three: list[str]) -> None:
    manifest: Any = ingest(store, "once", three, RECIPE, OPTIONS)
    assert compact(store, "once") == manifest
