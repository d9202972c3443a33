"""A lake is whole or not there, is written once, and no file of it is believed. See also `tests/contract`."""

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
from graphkin.store.lake.place import Place
from graphkin.store.lake.store import LakeStore
from graphkin.store.transfer import copy_generation
from tests.lakes import part, plain

FILES = (
    *("items/part-00000.parquet", "rejections/part-00000.parquet", "edges/part-00000.parquet"),
    *("forest/part-00000.parquet", "fingerprints/part-00000.npy", "dropped/part-00000.npy"),
    *("graph/indptr-00000.npy", "graph/indices-00000.npy", "graph/similarity-00000.npy"),
)


@pytest.fixture
def opened(tmp_path: Path) -> Callable[[], Store]:
    """The lake, as another process opens it."""
    return lambda: LakeStore(str(tmp_path / "lake"), create=True, cache=tmp_path / "cache")


@pytest.fixture
def lake(opened: Callable[[], Store], molecules: Any, tmp_path: Path) -> Path:
    """With the molecules."""
    molecules.publish(opened(), "molecules")
    return tmp_path / "lake"


def _altered(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def _changed(lake: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change what the manifest says, and seal it again as a writer would."""
    values = json.loads((lake / "manifest.json").read_text())["lake"]
    change(values)
    digest = hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
    (lake / "manifest.json").write_text(json.dumps({"sha256": digest, "lake": values}))


def _files(lake: Path) -> list[str]:
    """Their plain names."""
    names = (path.relative_to(lake).as_posix() for path in lake.rglob("*") if path.is_file())
    return sorted(map(plain, names), key=lambda name: (name != "manifest.json", name))


def test_it_holds_these_files(lake: Path) -> None:
    assert _files(lake) == ["manifest.json", *sorted(FILES)]


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("harm", [_altered, Path.unlink])
def test_a_damaged_file_is_named_and_its_content_not_passed_on(
    lake: Path, opened: Callable[[], Store], file: str, harm: Callable[[Path], None], tmp_path: Path
) -> None:
    name = part(lake, file).relative_to(lake).as_posix()
    harm(lake / name)
    with opened().open("molecules") as generation:
        (problem,) = generation.check()
        assert problem.startswith(f"{name}: ")
        assert generation.damage is not None
        assert generation.damage.file == name
    damage = opened().damage("molecules")
    assert damage is not None
    assert damage.file == name
    with opened().open("molecules") as generation, open_store(tmp_path / "target", create=True) as target:
        if not file.startswith("edges"):  # for other programs alone: the graph says the same
            with pytest.raises(StoreDamaged, match=name):
                copy_generation(generation, target)
            assert target.collections() == []


def test_what_was_read_once_is_there_when_the_lake_is_away(lake: Path, opened: Callable[[], Store]) -> None:
    with opened().open("molecules") as generation:
        before = generation.items(range(10)), generation.neighbors(0).ids.tolist()
    manifest = (lake / "manifest.json").read_bytes()
    for file in FILES:
        part(lake, file).unlink()
    assert (lake / "manifest.json").read_bytes() == manifest
    with opened().open("molecules") as generation:
        assert (generation.items(range(10)), generation.neighbors(0).ids.tolist()) == before


def test_items_are_found_by_an_index_that_is_made_once(
    lake: Path, opened: Callable[[], Store], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """By each reader, where that was damaged too; without the items once it is there."""
    with opened().open("molecules") as generation:
        assert generation.find("name", "alcohol") == [0, 1, 3]
    (index,) = (path.parent for path in (tmp_path / "cache").glob("*/owners.npy"))
    _altered(index / "content.npy")
    with opened().open("molecules") as generation:
        assert generation.find("name", "alcohol") == [0, 1, 3]
    assert "removing a damaged entry" in caplog.text
    made = (index / "key.json").read_bytes()
    part(lake, FILES[0]).unlink()
    with opened().open("molecules") as generation:
        assert generation.find("name", "alcohol", after=0, limit=1) == [1]
        assert generation.find("name", "alcoho") == []
    assert (index / "key.json").read_bytes() == made


def test_edges_that_are_not_those_of_the_graph_are_told(
    lake: Path, opened: Callable[[], Store], molecules: Any, tmp_path: Path
) -> None:
    """Those of another lake of the same items, sealed as if they belonged here."""
    other = LakeStore(str(tmp_path / "other"), create=True, cache=tmp_path / "cache")
    replace(molecules, pairs=dict.fromkeys(molecules.pairs, 0.5)).publish(other, "molecules")
    edges = part(tmp_path / "other", FILES[2])
    shutil.copyfile(edges, lake / "edges" / edges.name)
    parts = json.loads((tmp_path / "other" / "manifest.json").read_text())["lake"]["parts"]["edges"]
    _changed(lake, lambda values: values["parts"].update(edges=parts))
    with opened().open("molecules") as generation:
        assert generation.check() == ["edges: they are not those of the graph"]


def test_without_its_manifest_it_is_no_lake(lake: Path) -> None:
    (lake / "manifest.json").unlink()
    with pytest.raises(NotFound, match="no lake"):
        open_lake(str(lake))


def test_a_draft_is_no_lake_and_what_it_left_is_removed(
    opened: Callable[[], Store], molecules: Any, graphs: Any, tmp_path: Path
) -> None:
    molecules.publish(opened(), "molecules")
    (tmp_path / "lake" / "manifest.json").unlink()  # as of a writer that was killed
    (tmp_path / "lake" / ".writing").touch()
    assert opened().collections() == []
    graphs.publish(opened(), "graphs")
    assert set(_files(tmp_path / "lake")) <= {"manifest.json", *FILES}
    part(tmp_path / "lake", FILES[0])  # that of the graphs alone
    with opened().open("graphs") as generation:
        assert generation.check() == []


def test_a_discarded_draft_leaves_no_file(opened: Callable[[], Store], molecules: Any, tmp_path: Path) -> None:
    with opened().draft("molecules", "molecule") as draft:
        molecules.write(draft)
    assert not [path for path in (tmp_path / "lake").rglob("*") if path.is_file()]


def test_it_is_written_once(lake: Path, opened: Callable[[], Store], molecules: Any, graphs: Any) -> None:
    with pytest.raises(Conflict, match="written once"):
        graphs.publish(opened(), "graphs")
    with opened().open("molecules") as generation:
        assert generation.check() == []


def test_second_writer_of_a_folder_is_refused_at_once(
    opened: Callable[[], Store], molecules: Any, graphs: Any, tmp_path: Path
) -> None:
    with opened().draft("molecules", "molecule") as draft:
        molecules.write(draft)
        with pytest.raises(StoreBusy, match="another process is writing this lake"):
            graphs.publish(opened(), "graphs")
        draft.publish(molecules.provenance(1.0))
    with opened().open("molecules") as generation:
        assert generation.check() == []
    assert _files(tmp_path / "lake") == ["manifest.json", *sorted(FILES)]


def test_first_writer_of_an_object_store_wins(molecules: Any, graphs: Any, tmp_path: Path) -> None:
    """Both have written everything before either publishes."""

    def bucket() -> LakeStore:
        return LakeStore(f"memory://{tmp_path.name}/lake", create=True, cache=tmp_path / "cache")

    with bucket().draft("graphs", "graph") as late:
        graphs.write(late)
        molecules.publish(bucket(), "molecules")
        with pytest.raises(StoreError, match="another writer has published this lake meanwhile") as error:
            late.publish(graphs.provenance(1.0))
        assert error.value.exit_code == 4
    with bucket().open("molecules") as generation:
        assert generation.check() == []
    lake = json.loads(Place(f"memory://{tmp_path.name}/lake").read("manifest.json"))["lake"]
    listed = {part["name"] for group in lake["parts"].values() for part in group}
    assert set(Place(f"memory://{tmp_path.name}/lake").names()) == {"manifest.json", *listed}


def test_file_that_is_removed_before_it_has_its_name_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(f"memory://{tmp_path.name}/lake")
    move = MemoryFileSystem.mv

    def swept(files: MemoryFileSystem, beside: str, path: str) -> None:
        files.rm_file(beside)
        move(files, beside, path)

    monkeypatch.setattr(MemoryFileSystem, "mv", swept)
    with pytest.raises(StoreError, match="another writer has published"):
        place.write("items/part-00000.parquet", b"a")
    assert place.names() == []


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("scheme", ["file", "memory"])
def test_a_file_is_created_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str, links: bool) -> None:
    if not links:
        monkeypatch.setattr(os, "link", no_link)
    place = Place(f"{scheme}://{tmp_path}")
    assert place.create("a", b"first")
    assert not place.create("a", b"second")
    assert place.create("a", b"first")  # a write that was done, whose reply was lost
    assert place.read("a") == b"first"
    assert place.names() == ["a"]


def no_link(*_: object) -> None:
    """Fail as on a file system without hard links."""
    raise PermissionError("no links")


def test_nothing_else_is_overwritten(opened: Callable[[], Store], molecules: Any, tmp_path: Path) -> None:
    letter = tmp_path / "lake" / "letter.txt"
    letter.parent.mkdir()
    letter.write_text("Dear lake")
    with pytest.raises(Conflict, match="other files"):
        molecules.publish(opened(), "molecules")
    assert letter.read_text() == "Dear lake"


def test_manifest_of_a_killed_writer_does_not_block_the_next(
    opened: Callable[[], Store], molecules: Any, tmp_path: Path
) -> None:
    leftover = tmp_path / "lake" / "manifest.json.0123.partial"
    leftover.parent.mkdir()
    leftover.write_text("{")
    molecules.publish(opened(), "molecules")
    assert not leftover.exists()


def test_deleting_it_takes_all_its_files(lake: Path, opened: Callable[[], Store]) -> None:
    store = opened()
    store.delete("molecules", store.collection("molecules").current)
    assert not [path for path in lake.rglob("*") if path.is_file()]


def test_an_altered_manifest_is_told(lake: Path, opened: Callable[[], Store]) -> None:
    text = (lake / "manifest.json").read_text()
    (lake / "manifest.json").write_text(text.replace('"edges": 10', '"edges": 11', 1))
    with pytest.raises(StoreDamaged, match=r"manifest\.json"):
        opened().collections()


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"sha256": "", "lake": 1}', "\x00"])
def test_another_manifest_is_refused(lake: Path, opened: Callable[[], Store], text: str) -> None:
    (lake / "manifest.json").write_text(text)
    with pytest.raises(StoreError):
        opened().collections()


def test_a_newer_lake_is_refused(lake: Path, opened: Callable[[], Store]) -> None:
    _changed(lake, lambda values: values.update(format=2))
    with pytest.raises(StoreFormat, match="newer graphkin"):
        opened().collections()


@pytest.mark.parametrize("name", ["../secret.npy", "/etc/passwd", "items/../../part-00000.parquet"])
def test_no_part_lies_elsewhere(lake: Path, opened: Callable[[], Store], name: str) -> None:
    _changed(lake, lambda values: values["parts"]["items"][0].update(name=name))
    with pytest.raises(StoreDamaged, match="what cannot be"):
        opened().collections()


def test_a_manifest_of_other_sizes_is_told(lake: Path, opened: Callable[[], Store]) -> None:
    _changed(lake, lambda values: values["manifest"]["counts"].update(kept=9))
    with pytest.raises(StoreDamaged, match="do not fit"):
        opened().open("molecules")


@pytest.mark.parametrize("url", ["nowhere://bucket/lake", "http+nowhere://x"])
def test_a_file_system_that_is_not_known(url: str) -> None:
    with pytest.raises(InvalidInput, match="not known here"):
        open_store(url)


def test_errors_name_no_password() -> None:
    with pytest.raises(InvalidInput) as error:
        open_store("nowhere://me:secret@host/lake")
    assert "secret" not in str(error.value)
