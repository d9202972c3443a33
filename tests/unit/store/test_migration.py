"""Stores of every earlier version become ones of this version."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graphkin.cli import run
from graphkin.protocol.manifest import NEWEST_FORMAT
from graphkin.store import open_store
from graphkin.store.base import Store
from graphkin.store.migration import migrate
from graphkin.store.records import Item
from graphkin.store.transfer import copy_generation

VERSIONS = sorted((Path(__file__).parents[2] / "stores").glob("version-*"))


@pytest.mark.parametrize("version", VERSIONS, ids=lambda path: path.name)
def test_all_is_of_today_afterwards(version: Path, folder: Path) -> None:
    shutil.copytree(version, folder)
    with open_store(folder) as store:
        before = {each.name: (each, items(store, each.name)) for each in store.collections()}
        formats = {
            (each.name, id): store.manifest(each.name, id).format
            for each, _ in before.values()
            for id in each.generations
        }
        done = migrate(store)
        assert {(name, old) for name, old, _ in done} == {
            pair for pair, format in formats.items() if format != NEWEST_FORMAT
        }
        for name, (was, held) in before.items():
            now = store.collection(name)
            renamed = {old: new for collection, old, new in done if collection == name}
            assert set(now.generations) == {renamed.get(id, id) for id in was.generations}
            assert now.current == renamed.get(was.current, was.current)
            assert items(store, name) == held
            for id in now.generations:
                with store.open(name, id) as opened:
                    assert opened.manifest.format == NEWEST_FORMAT
                    assert opened.check() == []
        assert migrate(store) == []


def test_the_same_one_stays_current(folder: Path, tmp_path: Path) -> None:
    """Also where it is not the newest, or of the format of today beside an older one."""
    shutil.copytree(VERSIONS[0], folder)
    with open_store(folder) as store, open_store(tmp_path / "other", create=True) as other:
        with store.open("alcohols") as older:
            copied = copy_generation(older, other).generation
        with other.open("alcohols") as newer:
            copy_generation(newer, store)
        (_, _, after), *_ = (each for each in migrate(store) if each.collection == "alcohols")
        assert after == copied
        assert store.collection("alcohols").generations == (copied,)


def test_one_of_older_format_is_copied_whole_where_it_is_held_already(folder: Path, molecules: Any) -> None:
    """Into the very store that holds it: what has its id today is another generation, and is not there."""
    shutil.copytree(VERSIONS[0], folder)
    with open_store(folder) as store:
        older = store.manifest("alcohols")
        molecules.publish(store, "alcohols")
        with store.open("alcohols", older.generation) as source:
            copied = copy_generation(source, store)
            with store.open("alcohols", copied.generation) as copy:
                assert copied.generation != older.generation
                assert copy.graph().edges == source.graph().edges > 0
                assert copy.check() == []


def test_a_store_without_seals_keeps_its_generations(
    store: Store, folder: Path, publish: Any, unseal: Callable[[Path], None]
) -> None:
    generation = publish(store).generation
    unseal(folder)
    assert run(["migrate", "--store", str(folder)]) == 0
    assert store.collection("c").current == generation


def test_it_is_told(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(VERSIONS[0], folder)
    with open_store(folder) as store:
        before = {each.name: each.current for each in store.collections()}
        assert run(["migrate", "--store", str(folder)]) == 0
        expected = [f"{name} {id} is now {store.collection(name).current}" for name, id in before.items()]
    assert capfd.readouterr().out.splitlines() == expected
    assert run(["migrate", "--store", str(folder)]) == 0
    assert "nothing to migrate" in capfd.readouterr().out


def items(store: Store, collection: str) -> list[Item]:
    with store.open(collection) as opened:
        return opened.items(range(opened.size))
