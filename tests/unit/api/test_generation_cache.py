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

from graphkin.api.generations.cache import GenerationCache
from graphkin.collection.ports import Ports, local_ports
from graphkin.collection.selection import Selector
from graphkin.protocol.errors import Deleted, NotFound, StoreDamaged
from graphkin.store import open_store
from graphkin.store.base import Generation, Store
from graphkin.store.sampling.base import Sampler
from tests.until import until

MOST_OPEN = 8


def in_this_process(sampler: Callable[[], Sampler], generation: Generation, selector: Selector) -> Ports:
    return replace(local_ports(generation, selector), sampler=sampler)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "store", create=True) as store:
        yield store


@pytest.fixture
def cache(store: Store) -> Iterator[GenerationCache]:
    cache = GenerationCache(store, "snapshot", in_this_process)
    yield cache
    cache.close()


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


def test_it_tells_what_the_store_lists(cache: GenerationCache, store: Store, molecules: Any, graphs: Any) -> None:
    assert cache.overview() == []
    published = [graphs.publish(store, "g"), molecules.publish(store, "m")]
    assert [(listed.name, listed.current, manifest, damage) for listed, manifest, damage in cache.overview()] == [
        (name, manifest.generation, manifest, None) for name, manifest in zip("gm", published, strict=True)
    ]
    listed, manifest, damage = cache.overview_of("m")
    assert (listed.generations, manifest, damage) == ((published[1].generation,), published[1], None)
    cache.require_ready()
    assert cache.damages() == []


def test_a_generation_is_opened_once_and_whoever_asks_gets_it(
    cache: GenerationCache, store: Store, molecules: Any
) -> None:
    generation = molecules.publish(store, "m").generation
    assert cache.get_cached("m", None) is None
    opened = cache.get("m")
    assert (opened.generation.id, opened.generation.size) == (generation, 10)
    for same in (cache.get("m", generation), cache.get_cached("m", None), cache.get_cached("m", generation)):
        assert same is opened
    assert cache.open_generations() == [opened]


@pytest.mark.parametrize(("collection", "generation"), [("n", None), ("n", "0" * 64), ("m", "0" * 64), ("m", "x")])
def test_what_is_not_there_is_not_found(
    cache: GenerationCache, store: Store, molecules: Any, collection: str, generation: str | None
) -> None:
    molecules.publish(store, "m")
    for ask in (cache.get, cache.overview_of):
        with pytest.raises(NotFound) as missing:
            ask(collection, generation)
        assert not isinstance(missing.value, Deleted)


def test_what_is_published_becomes_current_and_what_was_stays_to_be_named(
    cache: GenerationCache, store: Store, versions: Callable[[int], Any]
) -> None:
    old = versions(0).publish(store, "m").generation
    assert cache.get("m").generation.id == old
    new = versions(1).publish(store, "m").generation
    until(lambda: cache.get("m").generation.id == new)
    assert cache.get("m", old).generation.id == old
    assert cache.overview_of("m", old)[0].generations == (old, new)
    assert cache.overview_of("m")[1].generation == new


def test_what_is_deleted_is_let_go_of_and_said_to_be(
    cache: GenerationCache, store: Store, versions: Callable[[int], Any]
) -> None:
    old, new = (versions(number).publish(store, "m").generation for number in range(2))
    held = cache.get("m", old)
    cache.get("m", new)
    store.delete("m", old)
    until(lambda: [opened.generation.id for opened in cache.open_generations() if cache.catalog_entry("m")] == [new])
    assert held.generation.items([0])[0]["smiles"] == "CCO"  # who holds it goes on
    for ask in (cache.get, cache.overview_of):
        with pytest.raises(Deleted):
            ask("m", old)
    store.delete("m", new)
    until(lambda: cache.overview() == [])
    until(lambda: not listed(cache, "m"))
    with pytest.raises(Deleted):
        cache.get("m", new)
    with pytest.raises(NotFound):
        cache.get("m")
    assert cache.open_generations() == []


def test_what_a_deleted_generation_was_like_is_not_remembered(
    cache: GenerationCache, store: Store, versions: Callable[[int], Any]
) -> None:
    old = versions(0).publish(store, "m").generation
    ((_, manifest, _),) = cache.overview()
    told = weakref.ref(manifest)
    assert manifest.generation == old
    del manifest
    gc.collect()
    assert told() is not None
    versions(1).publish(store, "m")
    store.delete("m", old)
    cache.overview()
    gc.collect()
    assert told() is None


def listed(cache: GenerationCache, collection: str) -> bool:
    try:
        cache.catalog_entry(collection)
    except NotFound:
        return False
    return True


def test_only_the_most_recently_used_stay_open_and_others_close_once_nobody_reads_them(
    cache: GenerationCache, store: Store, versions: Callable[[int], Any]
) -> None:
    generations = [versions(number).publish(store, "m").generation for number in range(MOST_OPEN + 2)]
    held = cache.get("m", generations[0])
    gone = weakref.ref(cache.get("m", generations[1]))
    for generation in generations[2:]:
        cache.get("m", generation)
    assert [opened.generation.id for opened in cache.open_generations()] == generations[2:]
    assert gone() is None
    assert held.generation.items([3])[0]["id"] == 3
    assert cache.get("m", generations[0]) is not held


def test_a_damaged_generation_is_refused_and_shown_and_the_others_are_not(
    cache: GenerationCache, store: Store, versions: Callable[[int], Any], tmp_path: Path
) -> None:
    whole, bad = (versions(number).publish(store, "m").generation for number in range(2))
    opened = cache.get("m", bad)
    corrupt(folder_of(tmp_path / "store", bad) / "forest.target.npy")
    with pytest.raises(StoreDamaged, match=r"forest\.target\.npy"):
        opened.generation.forest()
    assert cache.get_cached("m", bad) is None
    for ask in (cache.get, cache.get):
        with pytest.raises(StoreDamaged) as refused:
            ask("m", bad)
        assert (refused.value.damage.file, refused.value.damage.generation) == ("forest.target.npy", bad)
    assert cache.open_generations() == []
    assert cache.overview_of("m", bad)[2] == cache.overview()[0][2] == refused.value.damage
    cache.require_ready()
    assert cache.damages() == [refused.value.damage]
    assert cache.get("m", whole).generation.graph().nodes == 10
    assert cache.overview_of("m", whole)[2] is None


def test_one_that_cannot_even_be_opened_is_remembered_too(
    cache: GenerationCache, store: Store, versions: Callable[[int], Any], tmp_path: Path
) -> None:
    bad, whole = (versions(number).publish(store, "m").generation for number in range(2))
    shutil.rmtree(folder_of(tmp_path / "store", bad))
    with pytest.raises(StoreDamaged):
        cache.get("m", bad)
    (damage,) = cache.damages()  # it is not current
    assert damage.generation == bad
    assert cache.get("m").generation.id == whole


def test_one_that_was_deleted_and_published_again_is_another(
    cache: GenerationCache, store: Store, molecules: Any, tmp_path: Path
) -> None:
    generation = molecules.publish(store, "m").generation
    (folder_of(tmp_path / "store", generation) / "similarity.npy").unlink()
    with pytest.raises(StoreDamaged):
        cache.get("m")
    store.delete("m", generation)
    assert molecules.publish(store, "m", seconds=2.0).generation == generation
    assert cache.get("m").generation.graph().edges == len(molecules.pairs)
    assert cache.overview()[0][2] is None


def test_nobody_waits_for_what_is_at_hand(cache: GenerationCache, store: Store, molecules: Any) -> None:
    """Where another thread is at the cache, `at_hand` says so at once rather than wait."""
    molecules.publish(store, "m")
    opened = cache.get("m")
    found: list[Any] = []
    with cache._lock:
        asking = threading.Thread(target=lambda: found.append(cache.get_cached("m", None)))
        asking.start()
        asking.join()
    assert found == [None]
    assert cache.get_cached("m", None) is opened


def test_what_is_computed_for_a_generation_is_computed_once(
    cache: GenerationCache, store: Store, molecules: Any
) -> None:
    molecules.publish(store, "m")
    opened = cache.get("m")
    assert opened.collection.sampler is opened.collection.sampler
    assert opened.collection.components(0.5) is opened.collection.components(0.5)
    assert opened.collection.components(0.5) is not opened.collection.components(0.6)
    texts = opened.encode_items([3, 0, 3])
    assert [text.count(b"CCO") for text in texts] == [0, 1, 0]
    assert texts == opened.encode_items([3, 0, 3])
    with pytest.raises(NotFound, match="10"):
        opened.encode_items([0, 10])
