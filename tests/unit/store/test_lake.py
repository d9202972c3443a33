"""A lake is published atomically and once, and its files are not trusted. `tests/contract` tests it too."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from graphkin.protocol.errors import Conflict, InvalidInput, NotFound, StoreBusy, StoreDamaged, StoreError, StoreFormat
from graphkin.store import open_lake, open_store
from graphkin.store.base import Store
from graphkin.store.lake.export_folder import ExportFolder
from graphkin.store.lake.store import LakeStore
from graphkin.store.transfer import copy_generation
from tests.lakes import part, plain

FILES = (
    *("items/part-00000.parquet", "rejections/part-00000.parquet", "edges/part-00000.parquet"),
    *("forest/part-00000.parquet", "fingerprints/part-00000.npy", "dropped/part-00000.npy"),
    *("graph/indptr-00000.npy", "graph/indices-00000.npy", "graph/similarity-00000.npy"),
)


@pytest.fixture
def reopen(tmp_path: Path) -> Callable[[], Store]:
    """Return a function that opens the lake as another process does."""
    return lambda: LakeStore(str(tmp_path / "lake"), create=True, cache=tmp_path / "cache")


@pytest.fixture
def lake(reopen: Callable[[], Store], molecules: Any, tmp_path: Path) -> Path:
    """Return the folder of a lake with the molecules."""
    molecules.publish(reopen(), "molecules")
    return tmp_path / "lake"


def _flip_bit(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def _edit_manifest(lake: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the values of the manifest, and seal it as a writer does."""
    values = json.loads((lake / "manifest.json").read_text())["lake"]
    change(values)
    digest = hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
    (lake / "manifest.json").write_text(json.dumps({"sha256": digest, "lake": values}))


def _files(lake: Path) -> list[str]:
    """Return the plain names of the files."""
    names = (path.relative_to(lake).as_posix() for path in lake.rglob("*") if path.is_file())
    return sorted(map(plain, names), key=lambda name: (name != "manifest.json", name))


def test_lake_holds_the_expected_files(lake: Path) -> None:
    assert _files(lake) == ["manifest.json", *sorted(FILES)]


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("harm", [_flip_bit, Path.unlink])
def test_damaged_file_is_named_and_not_copied(
    lake: Path, reopen: Callable[[], Store], file: str, harm: Callable[[Path], None], tmp_path: Path
) -> None:
    name = part(lake, file).relative_to(lake).as_posix()
    harm(lake / name)
    with reopen().open("molecules") as generation:
        (problem,) = generation.check()
        assert problem.startswith(f"{name}: ")
        assert generation.damage is not None
        assert generation.damage.file == name
    damage = reopen().damage("molecules")
    assert damage is not None
    assert damage.file == name
    with reopen().open("molecules") as generation, open_store(tmp_path / "target", create=True) as target:
        if not file.startswith("edges"):  # only other programs read the edges: the graph holds the same
            with pytest.raises(StoreDamaged, match=name):
                copy_generation(generation, target)
            assert target.collections() == []


def test_cached_content_is_readable_without_the_lake(lake: Path, reopen: Callable[[], Store]) -> None:
    with reopen().open("molecules") as generation:
        before = generation.items(range(10)), generation.neighbors(0).ids.tolist()
    manifest = (lake / "manifest.json").read_bytes()
    for file in FILES:
        part(lake, file).unlink()
    assert (lake / "manifest.json").read_bytes() == manifest
    with reopen().open("molecules") as generation:
        assert (generation.items(range(10)), generation.neighbors(0).ids.tolist()) == before


def test_items_are_found_by_an_index_that_is_built_once(
    lake: Path, reopen: Callable[[], Store], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A damaged index is rebuilt. An existing index is used without the items."""
    with reopen().open("molecules") as generation:
        assert generation.find("name", "alcohol") == [0, 1, 3]
    (index,) = (path.parent for path in (tmp_path / "cache").glob("*/owners.npy"))
    _flip_bit(index / "content.npy")
    with reopen().open("molecules") as generation:
        assert generation.find("name", "alcohol") == [0, 1, 3]
    assert "removing a damaged entry" in caplog.text
    key = (index / "key.json").read_bytes()
    part(lake, FILES[0]).unlink()
    with reopen().open("molecules") as generation:
        assert generation.find("name", "alcohol", after=0, limit=1) == [1]
        assert generation.find("name", "alcoho") == []
    assert (index / "key.json").read_bytes() == key


def test_edges_that_differ_from_the_graph_are_reported(
    lake: Path, reopen: Callable[[], Store], molecules: Any, tmp_path: Path
) -> None:
    """The edges are those of another lake of the same items, with a valid seal."""
    other = LakeStore(str(tmp_path / "other"), create=True, cache=tmp_path / "cache")
    replace(molecules, pairs=dict.fromkeys(molecules.pairs, 0.5)).publish(other, "molecules")
    edges = part(tmp_path / "other", FILES[2])
    shutil.copyfile(edges, lake / "edges" / edges.name)
    parts = json.loads((tmp_path / "other" / "manifest.json").read_text())["lake"]["parts"]["edges"]
    _edit_manifest(lake, lambda values: values["parts"].update(edges=parts))
    with reopen().open("molecules") as generation:
        assert generation.check() == ["edges: they are not those of the graph"]


def test_folder_without_a_manifest_is_not_a_lake(lake: Path) -> None:
    (lake / "manifest.json").unlink()
    with pytest.raises(NotFound, match="no Parquet export"):
        open_lake(str(lake))


def test_folder_of_a_lake_opens_as_its_url_does(lake: Path) -> None:
    with open_store(lake) as by_folder, open_store(f"file://{lake}") as by_url:
        assert isinstance(by_folder, LakeStore)
        assert by_folder.collections() == by_url.collections()


def test_folder_of_a_lake_is_not_written_as_a_store(lake: Path, graphs: Any) -> None:
    with open_store(lake, create=True) as store, pytest.raises(Conflict, match="written once"):
        graphs.publish(store, "graphs")
    assert _files(lake) == ["manifest.json", *sorted(FILES)]


def test_manifest_without_items_does_not_make_a_lake(tmp_path: Path) -> None:
    """Exported epochs have a manifest.json too."""
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(StoreFormat, match="not a graphkin store"):
        open_store(tmp_path)


def test_store_with_a_manifest_and_items_opens_as_a_store(tmp_path: Path) -> None:
    open_store(tmp_path, create=True).close()
    (tmp_path / "manifest.json").write_text("{}")
    (tmp_path / "items").mkdir()
    with open_store(tmp_path) as store:
        assert not isinstance(store, LakeStore)


def test_error_about_an_unfinished_lake_names_its_manifest(lake: Path) -> None:
    (lake / "manifest.json").unlink()
    with pytest.raises(StoreFormat, match=r"lake without manifest\.json is unfinished"):
        open_store(lake)


def test_abandoned_draft_is_not_a_lake_and_is_removed(
    reopen: Callable[[], Store], molecules: Any, graphs: Any, tmp_path: Path
) -> None:
    molecules.publish(reopen(), "molecules")
    (tmp_path / "lake" / "manifest.json").unlink()  # like a killed writer
    (tmp_path / "lake" / ".writing").touch()
    assert reopen().collections() == []
    graphs.publish(reopen(), "graphs")
    assert set(_files(tmp_path / "lake")) <= {"manifest.json", *FILES}
    part(tmp_path / "lake", FILES[0])  # only the part of the graphs is left
    with reopen().open("graphs") as generation:
        assert generation.check() == []


def test_discarded_draft_leaves_no_file(reopen: Callable[[], Store], molecules: Any, tmp_path: Path) -> None:
    with reopen().draft("molecules", "molecule") as draft:
        molecules.write(draft)
    assert not [path for path in (tmp_path / "lake").rglob("*") if path.is_file()]


def test_lake_is_written_once(lake: Path, reopen: Callable[[], Store], molecules: Any, graphs: Any) -> None:
    with pytest.raises(Conflict, match="written once"):
        graphs.publish(reopen(), "graphs")
    with reopen().open("molecules") as generation:
        assert generation.check() == []


def test_second_writer_of_a_folder_is_refused_at_once(
    reopen: Callable[[], Store], molecules: Any, graphs: Any, tmp_path: Path
) -> None:
    with reopen().draft("molecules", "molecule") as draft:
        molecules.write(draft)
        with pytest.raises(StoreBusy, match="another process is writing this lake"):
            graphs.publish(reopen(), "graphs")
        draft.publish(molecules.provenance(1.0))
    with reopen().open("molecules") as generation:
        assert generation.check() == []
    assert _files(tmp_path / "lake") == ["manifest.json", *sorted(FILES)]


def test_first_writer_of_an_object_store_wins(molecules: Any, graphs: Any, tmp_path: Path) -> None:
    """Both writers have written all parts before either publishes."""

    def bucket() -> LakeStore:
        return LakeStore(f"memory://{tmp_path.name}/lake", create=True, cache=tmp_path / "cache")

    with bucket().draft("graphs", "graph") as late:
        graphs.write(late)
        molecules.publish(bucket(), "molecules")
        with pytest.raises(StoreError, match="another process published this lake first") as error:
            late.publish(graphs.provenance(1.0))
        assert error.value.exit_code == 4
    with bucket().open("molecules") as generation:
        assert generation.check() == []
    lake = json.loads(ExportFolder(f"memory://{tmp_path.name}/lake").read("manifest.json"))["lake"]
    listed = {part["name"] for group in lake["parts"].values() for part in group}
    assert set(ExportFolder(f"memory://{tmp_path.name}/lake").names()) == {"manifest.json", *listed}


def test_file_removed_before_its_rename_is_a_lost_race(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export_folder = ExportFolder(f"memory://{tmp_path.name}/lake")
    move = MemoryFileSystem.mv

    def sweep_and_move(files: MemoryFileSystem, temporary: str, path: str) -> None:
        files.rm_file(temporary)
        move(files, temporary, path)

    monkeypatch.setattr(MemoryFileSystem, "mv", sweep_and_move)
    with pytest.raises(StoreError, match="another process published"):
        export_folder.write("items/part-00000.parquet", b"a")
    assert export_folder.names() == []


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("scheme", ["file", "memory"])
def test_file_is_created_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str, links: bool) -> None:
    if not links:
        monkeypatch.setattr(os, "link", no_link)
    export_folder = ExportFolder(f"{scheme}://{tmp_path}")
    assert export_folder.create("a", b"first")
    assert not export_folder.create("a", b"second")
    assert export_folder.create("a", b"first")  # a repeated write after a lost response
    assert export_folder.read("a") == b"first"
    assert export_folder.names() == ["a"]


def no_link(*_: object) -> None:
    """Fail like a file system without hard links."""
    raise PermissionError("no links")


def test_foreign_files_are_not_overwritten(reopen: Callable[[], Store], molecules: Any, tmp_path: Path) -> None:
    letter = tmp_path / "lake" / "letter.txt"
    letter.parent.mkdir()
    letter.write_text("Dear lake")
    with pytest.raises(Conflict, match="other files"):
        molecules.publish(reopen(), "molecules")
    assert letter.read_text() == "Dear lake"


def test_manifest_of_a_killed_writer_does_not_block_the_next(
    reopen: Callable[[], Store], molecules: Any, tmp_path: Path
) -> None:
    leftover = tmp_path / "lake" / "manifest.json.0123.partial"
    leftover.parent.mkdir()
    leftover.write_text("{")
    molecules.publish(reopen(), "molecules")
    assert not leftover.exists()


def test_deletion_removes_all_files(lake: Path, reopen: Callable[[], Store]) -> None:
    store = reopen()
    store.delete("molecules", store.collection("molecules").current)
    assert not [path for path in lake.rglob("*") if path.is_file()]


def test_altered_manifest_is_damage(lake: Path, reopen: Callable[[], Store]) -> None:
    text = (lake / "manifest.json").read_text()
    (lake / "manifest.json").write_text(text.replace('"edges": 10', '"edges": 11', 1))
    with pytest.raises(StoreDamaged, match=r"manifest\.json"):
        reopen().collections()


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"sha256": "", "lake": 1}', "\x00"])
def test_invalid_manifest_is_refused(lake: Path, reopen: Callable[[], Store], text: str) -> None:
    (lake / "manifest.json").write_text(text)
    with pytest.raises(StoreError):
        reopen().collections()


def test_newer_lake_is_refused(lake: Path, reopen: Callable[[], Store]) -> None:
    _edit_manifest(lake, lambda values: values.update(format=2))
    with pytest.raises(StoreFormat, match="newer version of graphkin"):
        reopen().collections()


@pytest.mark.parametrize("name", ["../secret.npy", "/etc/passwd", "items/../../part-00000.parquet"])
def test_part_outside_of_the_lake_is_refused(lake: Path, reopen: Callable[[], Store], name: str) -> None:
    _edit_manifest(lake, lambda values: values["parts"]["items"][0].update(name=name))
    with pytest.raises(StoreDamaged, match="is not valid"):
        reopen().collections()


def test_manifest_with_wrong_sizes_is_damage(lake: Path, reopen: Callable[[], Store]) -> None:
    _edit_manifest(lake, lambda values: values["manifest"]["counts"].update(kept=9))
    with pytest.raises(StoreDamaged, match="do not fit"):
        reopen().open("molecules")


@pytest.mark.parametrize("url", ["nowhere://bucket/lake", "http+nowhere://x"])
def test_unknown_file_system_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be opened"):
        open_store(url)


def test_errors_show_no_password() -> None:
    with pytest.raises(InvalidInput) as error:
        open_store("nowhere://me:secret@host/lake")
    assert "secret" not in str(error.value)
