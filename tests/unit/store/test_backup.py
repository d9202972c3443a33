"""Copies of all generations of a store, file by file, and `prune`. tests/integration/neo4j/loading tests Neo4j."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from graphkin.cli import run
from graphkin.protocol.errors import StoreDamaged
from graphkin.protocol.keys import create_key
from graphkin.store import open_store
from graphkin.store.backup import CopyResult, copy_all, prune
from graphkin.store.base import Store
from graphkin.store.contract.hierarchies import Hierarchy


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "target", create=True) as target:
        yield target


def files(folder: Path) -> dict[str, bytes]:
    """Return the content of the collections of a store, by path."""
    paths = (path for path in (folder / "collections").rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def flip(path: Path) -> None:
    """Flip one bit of the last byte."""
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def catalog(store: Store) -> list[Any]:
    """Return each collection with the manifests of its generations, in order."""
    return [
        (collection, [store.manifest(collection.name, id) for id in collection.generations])
        for collection in store.collections()
    ]


def test_backup_copies_all_generations_unchanged(
    store: Store, folder: Path, target: Store, publish: Any, graphs: Any
) -> None:
    first, second = publish(store).generation, publish(store, items=4).generation
    other = graphs.publish(store, "g").generation
    assert copy_all(store, target) == CopyResult([("c", first), ("c", second), ("g", other)], [], [])
    assert catalog(target) == catalog(store)
    assert files(folder.with_name("target")) == files(folder)
    with target.open("c", first) as copy:
        assert copy.check() == []


def test_backup_copies_only_new_generations(store: Store, target: Store, publish: Any) -> None:
    first = publish(store).generation
    copy_all(store, target)
    second = publish(store, items=4).generation
    store.delete("c", first)
    assert copy_all(store, target) == CopyResult([("c", second)], [], [])
    assert target.collection("c").generations == (first, second)
    assert copy_all(store, target) == CopyResult([], [("c", second)], [])


def test_backup_has_the_current_generation_of_the_store(store: Store, target: Store, publish: Any) -> None:
    first, second = publish(store).generation, publish(store, items=4).generation
    copy_all(store, target)
    publish(store)
    assert copy_all(store, target) == CopyResult([], [("c", second), ("c", first)], [])
    assert target.collection("c").current == store.collection("c").current == first


def test_shared_fragments_are_copied_once(store: Store, folder: Path, target: Store) -> None:
    rows: list[dict[str, Any]] = [
        {"smiles": "C" * n, "inchikey": None, "names": [], "properties": {}} for n in (1, 2, 3)
    ]
    before = Hierarchy(rows[:2], {(0, 1): 0.5}, [], dropped=[0, 0])
    after = Hierarchy(rows, {(0, 1): 0.5, (1, 2): 0.5}, [], dropped=[0, 0, 0])
    generations = [before.publish(store, "c").generation, after.grow(store, "c", before).generation]
    assert copy_all(store, target).new == [("c", generation) for generation in generations]
    assert files(folder.with_name("target")) == files(folder)
    assert sum(path.endswith("/fingerprints.npy") for path in files(folder)) == 1
    with target.open("c") as copy:
        assert copy.check() == []


def test_keys_are_copied_and_revocations_are_kept(store: Store, target: Store) -> None:
    keys = [create_key(name, ["read"])[1] for name in ("first", "second", "third")]
    for key in keys[:2]:
        store.keys().add(key)
    copy_all(store, target)
    assert target.keys().all() == store.keys().all()
    now = datetime.now(UTC)
    target.keys().revoke(keys[0].id, now)
    store.keys().revoke(keys[1].id, now)
    store.keys().add(keys[2])
    copy_all(store, target)
    assert [key.state(now) for key in target.keys().all()] == ["revoked", "revoked", "valid"]


def test_generation_deleted_during_a_backup_is_reported(store: Store, target: Store, publish: Any) -> None:
    first, second = publish(store).generation, publish(store, items=4).generation

    @contextmanager
    def stage(name: str, total: int | None, unit: str) -> Iterator[Callable[[int], object]]:
        if name.startswith(f"c {first[:12]}"):
            store.delete("c", first)
        yield lambda _: None

    assert copy_all(store, target, stage) == CopyResult([("c", second)], [], [("c", first)])


def test_damaged_file_is_not_copied(store: Store, folder: Path, target: Store, publish: Any) -> None:
    path = folder / "collections" / "c" / publish(store).generation / "similarity.npy"
    flip(path)
    with pytest.raises(StoreDamaged, match="SHA-256"):
        copy_all(store, target)
    assert target.collections() == []
    target.draft("c", "molecule").discard()  # the writer's lock is free
    assert files(folder.with_name("target")) == {}


def test_backup_and_restore_round_trip(store: Store, folder: Path, tmp_path: Path, publish: Any, capfd: Any) -> None:
    generation = publish(store).generation
    backup, restored = tmp_path / "backup", tmp_path / "again"
    assert run(["backup", "--store", str(folder), "--to", str(backup)]) == 0
    assert capfd.readouterr().out == f"saved c {generation[:12]}\n1 generations saved, 0 already present\n"
    assert run(["restore", "--from", str(backup), "--to", str(restored)]) == 0
    assert capfd.readouterr().out == f"restored c {generation[:12]}\n1 generations restored, 0 already present\n"
    assert files(restored) == files(folder)
    assert run(["restore", "--from", str(backup), "--to", str(restored)]) == 0
    assert capfd.readouterr().out == "0 generations restored, 1 already present\n"


def test_failed_restore_leaves_no_store(store: Store, folder: Path, tmp_path: Path, publish: Any, capfd: Any) -> None:
    publish(store)
    path = folder / "collections" / "c" / publish(store, items=4).generation / "indices.npy"
    flip(path)
    assert run(["restore", "--from", str(folder), "--to", str(tmp_path / "again")]) == 4
    assert "indices.npy" in capfd.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_prune_keeps_the_newest_and_the_current_generation(store: Store, publish: Any, graphs: Any) -> None:
    first, second, third = (publish(store, items=items).generation for items in (3, 4, 5))
    publish(store, items=3)
    graphs.publish(store, "g")
    assert prune(store, 1) == [("c", second)]
    assert store.collection("c").generations == (first, third)


def test_prune_reports_deleted_generations(store: Store, folder: Path, publish: Any, capfd: Any) -> None:
    first, _ = publish(store).generation, publish(store, items=4)
    options = ("--store", str(folder), "--keep", "1")
    assert run(["prune", *options]) == 0
    assert capfd.readouterr().out == f"deleted c {first[:12]}\n"
    assert run(["prune", *options]) == 0
    assert capfd.readouterr().out == "nothing to delete\n"
    assert run(["prune", *options, "--collection", "nothing"]) == 3
