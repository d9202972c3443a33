import pickle
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from graphkin.protocol.errors import InvalidInput, StoreBusy, StoreError
from graphkin.runtime.location import Location, Locked, UnknownFileSystem, Unreachable, without_credentials
from graphkin.store.lake.place import Place


@pytest.mark.parametrize("scheme", ["file", "memory"])
def test_files_are_read_by_their_names(tmp_path: Path, scheme: str) -> None:
    location = Location(f"{scheme}://{tmp_path}")
    location.write("a/b", b"content")
    assert location.names() == ["a/b"]
    assert location.sizes("a") == {"a/b": 7}
    assert location.read("a/b") == b"content"
    assert location.read_range("a/b", 1, 4) == b"ont"
    location.remove("a/b")
    assert location.names() == []


@pytest.mark.parametrize("scheme", ["file", "memory"])
def test_missing_file_is_no_failure_of_the_file_system(tmp_path: Path, scheme: str) -> None:
    with pytest.raises(FileNotFoundError):
        Location(f"{scheme}://{tmp_path}").read("missing")


def fail(*_: object, **__: object) -> bytes:
    """Fail as a file system whose library has an error of its own."""
    raise RuntimeError("no credentials")


def test_failure_of_a_file_system_has_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryFileSystem, "cat_file", fail)
    with pytest.raises(Unreachable, match=r"^no credentials$"):
        Location(f"memory://{tmp_path.name}").read("a")
    with pytest.raises(StoreError, match=r"^this folder cannot be read or written: no credentials\n"):
        Place(f"memory://{tmp_path.name}").read("a")


def test_unknown_file_system_is_refused() -> None:
    with pytest.raises(UnknownFileSystem, match="nowhere"):
        Location("nowhere://user:secret@host/folder")
    with pytest.raises(InvalidInput, match=r"this file system is not known here: .*nowhere") as caught:
        Place("nowhere://user:secret@host/folder")
    assert caught.value.given == "nowhere://host/folder"


def test_one_writer_holds_a_lock(tmp_path: Path) -> None:
    location = Location(str(tmp_path))
    release = location.lock(".writing")
    with pytest.raises(Locked):
        location.lock(".writing")
    with pytest.raises(StoreBusy, match="another process is writing this lake"):
        Place(str(tmp_path)).claim()
    release()
    assert location.names() == []
    location.lock(".writing")()


def test_pickle_holds_the_url_alone(tmp_path: Path) -> None:
    for kind in (Location, Place):
        copy = pickle.loads(pickle.dumps(kind(str(tmp_path))))
        assert type(copy) is kind
        assert copy.url == str(tmp_path)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("s3://key:secret@host/folder", "s3://host/folder"),
        ("s3://bucket/folder", "s3://bucket/folder"),
        ("/folder", "/folder"),
    ],
)
def test_messages_show_no_credentials(url: str, shown: str) -> None:
    assert without_credentials(url) == shown
