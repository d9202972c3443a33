"""Fragments that appends create on disk, and how they are read and compacted."""

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
from tests.integration.append.conftest import OPTIONS, content, grow, write_parts

pytestmark = pytest.mark.usefixtures("parse_inline")

RECIPE = resolve(threshold=0.3, top_k=4)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "store", create=True) as store:
        yield store


@pytest.fixture(scope="module")
def lines(nci_file: Path) -> list[str]:
    return nci_file.read_text().splitlines()


@pytest.fixture
def three_files(store: Store, tmp_path: Path, lines: list[str]) -> list[str]:
    """Return the files from which `c` has grown, one generation per file."""
    files = write_parts(tmp_path, [lines[:60], lines[50:80], [*lines[80:90], "nonsense x"]], "smi")
    grow(store, "c", files, RECIPE)
    return files


def folders(tmp_path: Path, collection: str = "c") -> set[str]:
    return {entry.name for entry in (tmp_path / "store" / "collections" / collection).iterdir()}


def used_folders(store: Store, collection: str = "c") -> set[str]:
    ids = store.collection(collection).generations
    return {each.folder for id in ids for each in store.manifest(collection, id).fragments}


def test_generations_share_fragments(store: Store, three_files: list[str], tmp_path: Path) -> None:
    ids = store.collection("c").generations
    first, second, third = (store.manifest("c", id).fragments for id in ids)
    assert third[:2] == second
    assert second[:1] == first
    assert folders(tmp_path) == used_folders(store) == set(ids)
    assert [len(each.files) for each in third[1:]] == [1, 1]


def test_every_generation_equals_one_ingest_of_its_files(store: Store, three_files: list[str]) -> None:
    for count, id in enumerate(store.collection("c").generations, 1):
        ingest(store, "once", three_files[:count], RECIPE, OPTIONS)
        with store.open("c", id) as grown, store.open("once") as once:
            assert content(grown) == content(once)
            assert verify(grown, 1000) == []


def test_readers_of_the_older_generation_continue(
    store: Store, three_files: list[str], tmp_path: Path, lines: list[str]
) -> None:
    with store.open("c") as older:
        before = older.id
        append(store, "c", write_parts(tmp_path / "more", [lines[90:110]], "smi"), OPTIONS)
        compact(store, "c")
        store.delete("c", before)
        assert len(content(older)["items"][1]) == older.size
        assert older.check()  # The files are gone from the folder, and the check reports that.
        assert older.damage is None


@pytest.mark.parametrize("which", range(3))
def test_deletion_keeps_fragments_of_other_generations(
    store: Store, three_files: list[str], tmp_path: Path, which: int
) -> None:
    ids = store.collection("c").generations
    before = {}
    for id in ids:
        with store.open("c", id) as generation:
            before[id] = content(generation)
    store.delete("c", ids[which])
    assert folders(tmp_path) == used_folders(store)
    for id in store.collection("c").generations:
        with store.open("c", id) as generation:
            assert content(generation) == before[id]
            assert generation.check() == []


def test_last_deletion_removes_the_fragments(store: Store, three_files: list[str], tmp_path: Path) -> None:
    for id in store.collection("c").generations:
        store.delete("c", id)
    assert folders(tmp_path) == set()


def test_deleted_generation_can_be_ingested_again(store: Store, three_files: list[str], tmp_path: Path) -> None:
    first, *_ = store.collection("c").generations
    store.delete("c", first)
    assert ingest(store, "c", three_files[:1], RECIPE, OPTIONS).generation == first
    assert folders(tmp_path) == used_folders(store)
    for id in store.collection("c").generations:
        with store.open("c", id) as generation:
            assert generation.check() == []


def test_compacted_files_equal_one_ingest(store: Store, three_files: list[str], tmp_path: Path) -> None:
    once = ingest(store, "once", three_files, RECIPE, OPTIONS)
    id = store.collection("c").current
    with store.open("c") as reading:
        before = content(reading)
        compacted = compact(store, "c")
        assert content(reading) == before
    (whole,) = compacted.fragments
    assert whole.files == once.fragments[0].files
    assert compacted == store.manifest("c")
    assert (compacted.generation, store.collection("c").current) == (id, id)
    assert folders(tmp_path) == used_folders(store)
    with store.open("c") as generation:
        assert content(generation) == before
        assert generation.check() == []
    assert compact(store, "c") == compacted


def test_ingesting_all_files_compacts_too(store: Store, three_files: list[str]) -> None:
    assert len(store.manifest("c").fragments) == 3
    manifest = ingest(store, "c", three_files, RECIPE, OPTIONS)
    assert len(manifest.fragments) == len(store.manifest("c").fragments) == 1


@pytest.mark.parametrize("appends", [12, pytest.param(50, marks=pytest.mark.long)])
def test_many_appends_then_compact(store: Store, tmp_path: Path, lines: list[str], appends: int) -> None:
    parts = [lines[start : start + 8] for start in range(0, 7 * appends, 7)]
    files = write_parts(tmp_path, parts, "smi")
    grow(store, "c", files, RECIPE)
    once = ingest(store, "once", files, RECIPE, OPTIONS)
    with store.open("c") as grown, store.open("once") as other:
        assert content(grown) == content(other)
    assert compact(store, "c").fragments[0].files == once.fragments[0].files


def test_lookups_find_every_item(store: Store, three_files: list[str]) -> None:
    with store.open("c") as generation:
        for item in generation.items(range(generation.size)):
            assert generation.find("smiles", str(item["smiles"])) == [item["id"]]
            for name in item["names"]:
                assert item["id"] in generation.find("name", name)
        assert generation.find("name", "nobody") == []


def test_searches_equal_one_ingest(store: Store, three_files: list[str]) -> None:
    ingest(store, "once", three_files, RECIPE, OPTIONS)
    with store.open("c") as grown, store.open("once") as once:
        one, other = (kind_of(each).search(each) for each in (grown, once))
        for smiles in once.structures():
            query = kind_of(once).read(RECIPE, smiles, "smiles")
            for threshold in (None, 0.4):
                hits, expected = one.search(query, threshold, 7), other.search(query, threshold, 7)
                assert np.array_equal(hits.ids, expected.ids)
                assert np.array_equal(hits.similarity, expected.similarity)
            assert one.find_identical(query) == other.find_identical(query)


def test_error_names_the_damaged_fragment(store: Store, three_files: list[str], tmp_path: Path) -> None:
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


def test_append_of_known_items_changes_nothing(store: Store, three_files: list[str], tmp_path: Path) -> None:
    before = store.collection("c")
    result = append(store, "c", three_files[:1], OPTIONS)
    assert (result.items, result.named, result.manifest.generation) == (0, 0, before.current)
    assert store.collection("c") == before
    assert folders(tmp_path) == used_folders(store)


def test_append_of_names_equals_one_ingest(
    store: Store, three_files: list[str], tmp_path: Path, lines: list[str]
) -> None:
    name_files = write_parts(tmp_path / "named", [[f"{line.split()[0]} again" for line in lines[:5]]], "smi")
    result = append(store, "c", name_files, OPTIONS)
    ingest(store, "once", [*three_files, *name_files], RECIPE, OPTIONS)
    assert (result.items, result.named) == (0, 5)
    with store.open("c") as grown, store.open("once") as once:
        assert content(grown)["items"] == content(once)["items"]
        assert grown.id == once.id
        assert len(grown.find("name", "again")) == 5


def test_collections_that_cannot_grow_are_refused(
    store: Store, three_files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(store, "window", three_files[:1], resolve("paper"), OPTIONS)
    with pytest.raises(Conflict, match="window"):
        append(store, "window", three_files[1:], OPTIONS)
    with pytest.raises(NotFound):
        append(store, "nobody", three_files[1:], OPTIONS)
    monkeypatch.setattr(rdBase, "rdkitVersion", "1999.09.1")
    with pytest.raises(Conflict, match="the installed libraries describe items differently") as error:
        append(store, "c", three_files[1:], OPTIONS)
    assert "1999.09.1" in str(error.value.given)


def test_compacting_a_single_fragment_changes_nothing(store: Store, three_files: list[str]) -> None:
    manifest: Any = ingest(store, "once", three_files, RECIPE, OPTIONS)
    assert compact(store, "once") == manifest
