"""Files that killed writers and deletions leave in the folder of the embedded store."""

import os
import shutil
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphkin.protocol.errors import NotFound, StoreBusy
from graphkin.protocol.manifest import Manifest
from graphkin.store import open_store
from graphkin.store.base import Store
from graphkin.store.records import Edges


def _die_while_writing(folder: Path, write: Callable[..., Any]) -> None:
    draft = open_store(folder).draft("c", "molecule")
    write(draft)
    os._exit(9)


def _entries(folder: Path) -> set[str]:
    return {entry.name for entry in (folder / "collections" / "c").iterdir()}


def test_publication_leaves_one_folder_with_the_files_of_the_manifest(
    store: Store, folder: Path, publish: Callable[..., Manifest]
) -> None:
    manifest = publish(store)
    assert _entries(folder) == {manifest.generation}
    (whole,) = manifest.fragments
    assert {path.name for path in (folder / "collections/c" / whole.folder).iterdir()} == set(whole.files)


def test_discarded_draft_leaves_nothing(store: Store, folder: Path, write: Callable[..., Any]) -> None:
    with store.draft("c", "molecule") as draft:
        write(draft)
        assert len(_entries(folder)) == 1
    assert _entries(folder) == set()


def test_repeated_publication_leaves_one_folder(store: Store, folder: Path, publish: Callable[..., Manifest]) -> None:
    first, second = publish(store), publish(store)
    assert first == second
    assert _entries(folder) == {first.generation}


def test_deletion_removes_the_folder(store: Store, folder: Path, publish: Callable[..., Manifest]) -> None:
    deleted, remaining = publish(store).generation, publish(store, items=6).generation
    store.delete("c", deleted)
    assert _entries(folder) == {remaining}


def test_deletion_of_a_missing_generation_changes_nothing(store: Store, folder: Path) -> None:
    before = sorted(folder.parent.rglob("*"))
    for name in ("c", "../../outside"):
        with pytest.raises(NotFound):
            store.delete(name, "0" * 64)
    assert sorted(folder.parent.rglob("*")) == before


def test_deletion_needs_the_writers_lock(store: Store, publish: Callable[..., Manifest]) -> None:
    manifest = publish(store)
    with store.draft("c", "molecule"), pytest.raises(StoreBusy):
        store.delete("c", manifest.generation)
    store.delete("c", manifest.generation)


def test_next_writer_removes_the_files_of_a_killed_writer(
    store: Store, folder: Path, write: Callable[..., Any], publish: Callable[..., Manifest]
) -> None:
    before = publish(store, items=6)
    writer = get_context("fork").Process(target=_die_while_writing, args=(folder, write))
    writer.start()
    writer.join()
    assert writer.exitcode == 9
    assert len(_entries(folder)) == 2
    assert store.collection("c").generations == (before.generation,)
    after = publish(store)
    assert _entries(folder) == {before.generation, after.generation}


def test_crash_between_rename_and_commit_publishes_nothing(
    store: Store, folder: Path, tmp_path: Path, publish: Callable[..., Manifest]
) -> None:
    """The folder is complete, but no row of the catalog names it: the generation was not published."""
    with open_store(tmp_path / "elsewhere", create=True) as elsewhere:
        orphan = publish(elsewhere).generation
    shutil.copytree(tmp_path / "elsewhere/collections", folder / "collections")
    assert store.collections() == []
    with pytest.raises(NotFound):
        store.open("c", orphan)
    with store.draft("c", "molecule"):
        assert orphan not in _entries(folder)
    shutil.copytree(tmp_path / "elsewhere/collections/c", folder / "collections/c", dirs_exist_ok=True)
    (folder / "collections/c" / orphan / "indptr.npy").unlink()  # a repeated publication replaces the damaged folder
    assert publish(store).generation == orphan
    with store.open("c") as generation:
        assert generation.check() == []


def test_crash_between_deletion_and_unlinking_is_cleaned_up(
    store: Store, folder: Path, tmp_path: Path, publish: Callable[..., Manifest]
) -> None:
    deleted = publish(store).generation
    shutil.copytree(folder / "collections/c" / deleted, tmp_path / "copy")
    store.delete("c", deleted)
    (tmp_path / "copy").rename(folder / "collections/c" / deleted)
    remaining = publish(store, items=6).generation
    assert _entries(folder) == {remaining}


def test_failing_publication_publishes_nothing(
    store: Store, folder: Path, write: Callable[..., Any], publish: Callable[..., Manifest]
) -> None:
    beyond = Edges(np.array([0], np.int32), np.array([99], np.int32), np.array([0.5], np.float32))
    with pytest.raises(ValueError, match="shape"), store.draft("c", "molecule") as draft:  # noqa: PT012
        provenance = write(draft)
        draft.append_edges(beyond)
        draft.publish(provenance)
    assert store.collections() == []
    assert _entries(folder) == set()
    publish(store)
