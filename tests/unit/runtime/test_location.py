import pickle
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from graphkin.protocol.errors import InvalidInput, StoreBusy, StoreError
from graphkin.runtime.location import Location, Locked, UnknownFileSystem, Unreachable, without_credentials
from graphkin.store.lake.export_folder import ExportFolder


@pytest.mark.parametrize("scheme", ["file", "memory"])
def test_files_are_written_and_read_by_name(tmp_path: Path, scheme: str) -> None:
    location = Location(f"{scheme}://{tmp_path}")
    location.write("a/b", b"content")
    assert location.names() == ["a/b"]
    assert location.sizes("a") == {"a/b": 7}
    assert location.read("a/b") == b"content"
    assert location.read_range("a/b", 1, 4) == b"ont"
    location.remove("a/b")
    assert location.names() == []


@pytest.mark.parametrize("scheme", ["file", "memory"])
def test_files_are_matched_and_downloaded(tmp_path: Path, scheme: str) -> None:
    location = Location(f"{scheme}://{tmp_path}/store")
    for name in ("a-1.smi", "a-2.smi", "b.smi"):
        location.write(name, name.encode())
    assert sorted(location.matches("a-*.smi")) == ["a-1.smi", "a-2.smi"]
    location.download("a-2.smi", tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == b"a-2.smi"


@pytest.mark.parametrize("scheme", ["file", "memory"])
def test_version_changes_with_the_content(tmp_path: Path, scheme: str) -> None:
    location = Location(f"{scheme}://{tmp_path}/store")
    location.write("a", b"content")
    version = location.version("a")
    assert location.version("a") == version
    location.write("a", b"another")
    assert location.version("a") != version


@pytest.mark.parametrize("scheme", ["file", "memory"])
def test_missing_file_raises_file_not_found(tmp_path: Path, scheme: str) -> None:
    with pytest.raises(FileNotFoundError):
        Location(f"{scheme}://{tmp_path}").read("missing")


def fail(*_: object, **__: object) -> bytes:
    """Raise the error of a file system's own library."""
    raise RuntimeError("no credentials")


def test_file_system_error_keeps_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryFileSystem, "cat_file", fail)
    with pytest.raises(Unreachable, match=r"^no credentials$"):
        Location(f"memory://{tmp_path.name}").read("a")
    with pytest.raises(StoreError, match=r"^this folder cannot be read or written: no credentials\n"):
        ExportFolder(f"memory://{tmp_path.name}").read("a")


def test_unknown_file_system_is_refused() -> None:
    with pytest.raises(UnknownFileSystem, match="nowhere"):
        Location("nowhere://user:secret@host/folder")
    with pytest.raises(InvalidInput, match=r"this kind of URL cannot be opened: .*nowhere") as error:
        ExportFolder("nowhere://user:secret@host/folder")
    assert error.value.given == "nowhere://host/folder"


def test_one_writer_holds_a_lock(tmp_path: Path) -> None:
    location = Location(str(tmp_path))
    release = location.lock(".writing")
    with pytest.raises(Locked):
        location.lock(".writing")
    with pytest.raises(StoreBusy, match="another process is writing this lake"):
        ExportFolder(str(tmp_path)).claim()
    release()
    assert location.names() == []
    location.lock(".writing")()


def test_pickle_holds_only_the_url(tmp_path: Path) -> None:
    for kind in (Location, ExportFolder):
        copy = pickle.loads(pickle.dumps(kind(str(tmp_path))))
        assert type(copy) is kind
        assert copy.url == str(tmp_path)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("s3://key:secret@host/folder", "s3://host/folder"),
        ("s3://bucket/folder", "s3://bucket/folder"),
        ("/folder", "/folder"),
    ],
)
def test_credentials_are_removed_from_urls(url: str, expected: str) -> None:
    assert without_credentials(url) == expected
