"""The library over a folder, whose files are changed behind its back."""

import gc
import os
import shutil
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphkin.api.generations.cache import Library
from graphkin.collection.ports import Ports, in_process
from graphkin.collection.selection import Selections
from graphkin.protocol.errors import Deleted, NotFound, StoreDamaged
from graphkin.store import open_store
from graphkin.store.base import Generation, Store
from graphkin.store.sampling.base import Sampler
from tests.until import until

MOST_OPEN = 8


def in_this_process(sampler: Callable[[], Sampler], generation: Generation, selections: Selections) -> Ports:
    return replace(in_process(generation, selections), sampler=sampler)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "store", create=True) as store:
        yield store


@pytest.fixture
def library(store: Store) -> Iterator[Library]:
    library = Library(store, "snapshot", in_this_process)
    yield library
    library.close()


@pytest.fixture
def versions(molecules: Any) -> Callable[[int], Any]:
    """`versions(number)`: the molecules, by another recipe each."""
    return lambda number: replace(molecules, recipe={"threshold": 0.4, "top_k": number + 1})


def folder_of(store: Path, generation: str) -> Path:
    (found,) = store.glob(f"collections/*/{generation}")
    return found


def corrupt(file: Path) -> None:
    with file.open("r+b") as stream:
        stream.seek(-1, os.SEEK_END)
        (last,) = stream.read(1)
        stream.seek(-1, os.SEEK_END)
        stream.write(bytes([last ^ 1]))


def test_it_tells_what_the_store_lists(library: Library, store: Store, molecules: Any, graphs: Any) -> None:
    assert library.overview() == []
    published = [graphs.publish(store, "g"), molecules.publish(store, "m")]
    assert [(listed.name, listed.current, manifest, damage) for listed, manifest, damage in library.overview()] == [
        (name, manifest.generation, manifest, None) for name, manifest in zip("gm", published, strict=True)
    ]
    listed, manifest, damage = library.overview_of("m")
    assert (listed.generations, manifest, damage) == ((published[1].generation,), published[1], None)
    library.require_ready()
    assert library.damages() == []


def test_a_generation_is_opened_once_and_whoever_asks_gets_it(library: Library, store: Store, molecules: Any) -> None:
    generation = molecules.publish(store, "m").generation
    assert library.at_hand("m", None) is None
    opened = library.get("m")
    assert (opened.generation.id, opened.generation.size) == (generation, 10)
    for same in (library.get("m", generation), library.at_hand("m", None), library.at_hand("m", generation)):
        assert same is opened
    assert library.in_use() == [opened]


@pytest.mark.parametrize(("collection", "generation"), [("n", None), ("n", "0" * 64), ("m", "0" * 64), ("m", "x")])
def test_what_is_not_there_is_not_found(
    library: Library, store: Store, molecules: Any, collection: str, generation: str | None
) -> None:
    molecules.publish(store, "m")
    for ask in (library.get, library.overview_of):
        with pytest.raises(NotFound) as missing:
            ask(collection, generation)
        assert not isinstance(missing.value, Deleted)


def test_what_is_published_becomes_current_and_what_was_stays_to_be_named(
    library: Library, store: Store, versions: Callable[[int], Any]
) -> None:
    old = versions(0).publish(store, "m").generation
    assert library.get("m").generation.id == old
    new = versions(1).publish(store, "m").generation
    until(lambda: library.get("m").generation.id == new)
    assert library.get("m", old).generation.id == old
    assert library.overview_of("m", old)[0].generations == (old, new)
    assert library.overview_of("m")[1].generation == new


def test_what_is_deleted_is_let_go_of_and_said_to_be(
    library: Library, store: Store, versions: Callable[[int], Any]
) -> None:
    old, new = (versions(number).publish(store, "m").generation for number in range(2))
    held = library.get("m", old)
    library.get("m", new)
    store.delete("m", old)
    until(lambda: [opened.generation.id for opened in library.in_use() if library.listed("m")] == [new])
    assert held.generation.items([0])[0]["smiles"] == "CCO"  # who holds it goes on
    for ask in (library.get, library.overview_of):
        with pytest.raises(Deleted):
            ask("m", old)
    store.delete("m", new)
    until(lambda: library.overview() == [])
    until(lambda: not listed(library, "m"))
    with pytest.raises(Deleted):
        library.get("m", new)
    with pytest.raises(NotFound):
        library.get("m")
    assert library.in_use() == []


def test_what_a_deleted_generation_was_like_is_not_remembered(
    library: Library, store: Store, versions: Callable[[int], Any]
) -> None:
    old = versions(0).publish(store, "m").generation
    ((_, manifest, _),) = library.overview()
    told = weakref.ref(manifest)
    assert manifest.generation == old
    del manifest
    gc.collect()
    assert told() is not None
    versions(1).publish(store, "m")
    store.delete("m", old)
    library.overview()
    gc.collect()
    assert told() is None


def listed(library: Library, collection: str) -> bool:
    try:
        library.listed(collection)
    except NotFound:
        return False
    return True


def test_only_the_most_recently_used_stay_open_and_others_close_once_nobody_reads_them(
    library: Library, store: Store, versions: Callable[[int], Any]
) -> None:
    generations = [versions(number).publish(store, "m").generation for number in range(MOST_OPEN + 2)]
    held = library.get("m", generations[0])
    gone = weakref.ref(library.get("m", generations[1]))
    for generation in generations[2:]:
        library.get("m", generation)
    assert [opened.generation.id for opened in library.in_use()] == generations[2:]
    assert gone() is None
    assert held.generation.items([3])[0]["id"] == 3
    assert library.get("m", generations[0]) is not held


def test_a_damaged_generation_is_refused_and_shown_and_the_others_are_not(
    library: Library, store: Store, versions: Callable[[int], Any], tmp_path: Path
) -> None:
    whole, bad = (versions(number).publish(store, "m").generation for number in range(2))
    opened = library.get("m", bad)
    corrupt(folder_of(tmp_path / "store", bad) / "forest.target.npy")
    with pytest.raises(StoreDamaged, match=r"forest\.target\.npy"):
        opened.generation.forest()
    assert library.at_hand("m", bad) is None
    for ask in (library.get, library.get):
        with pytest.raises(StoreDamaged) as refused:
            ask("m", bad)
        assert (refused.value.damage.file, refused.value.damage.generation) == ("forest.target.npy", bad)
    assert library.in_use() == []
    assert library.overview_of("m", bad)[2] == library.overview()[0][2] == refused.value.damage
    library.require_ready()
    assert library.damages() == [refused.value.damage]
    assert library.get("m", whole).generation.graph().nodes == 10
    assert library.overview_of("m", whole)[2] is None


def test_one_that_cannot_even_be_opened_is_remembered_too(
    library: Library, store: Store, versions: Callable[[int], Any], tmp_path: Path
) -> None:
    bad, whole = (versions(number).publish(store, "m").generation for number in range(2))
    shutil.rmtree(folder_of(tmp_path / "store", bad))
    with pytest.raises(StoreDamaged):
        library.get("m", bad)
    (damage,) = library.damages()  # it is not current
    assert damage.generation == bad
    assert library.get("m").generation.id == whole


def test_one_that_was_deleted_and_published_again_is_another(
    library: Library, store: Store, molecules: Any, tmp_path: Path
) -> None:
    generation = molecules.publish(store, "m").generation
    (folder_of(tmp_path / "store", generation) / "similarity.npy").unlink()
    with pytest.raises(StoreDamaged):
        library.get("m")
    store.delete("m", generation)
    assert molecules.publish(store, "m", seconds=2.0).generation == generation
    assert library.get("m").generation.graph().edges == len(molecules.pairs)
    assert library.overview()[0][2] is None


def test_nobody_waits_for_what_is_at_hand(library: Library, store: Store, molecules: Any) -> None:
    """Where another thread is at the cache, `at_hand` says so at once rather than wait."""
    molecules.publish(store, "m")
    opened = library.get("m")
    found: list[Any] = []
    with library._lock:
        asking = threading.Thread(target=lambda: found.append(library.at_hand("m", None)))
        asking.start()
        asking.join()
    assert found == [None]
    assert library.at_hand("m", None) is opened


def test_what_is_computed_for_a_generation_is_computed_once(library: Library, store: Store, molecules: Any) -> None:
    molecules.publish(store, "m")
    opened = library.get("m")
    assert opened.collection.sampler is opened.collection.sampler
    assert opened.collection.components(0.5) is opened.collection.components(0.5)
    assert opened.collection.components(0.5) is not opened.collection.components(0.6)
    texts = opened.item_texts([3, 0, 3])
    assert [text.count(b"CCO") for text in texts] == [0, 1, 0]
    assert texts == opened.item_texts([3, 0, 3])
    with pytest.raises(NotFound, match="10"):
        opened.item_texts([0, 10])
