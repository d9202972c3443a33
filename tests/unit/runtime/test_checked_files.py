"""A check of files is remembered until the system starts again or one of them changes."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from graphkin.runtime import checked_files
from graphkin.runtime.checked_files import file_states, is_checked, record_check
from tests.modes import open_to_others

HOUR = 3600 * 10**9


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with two checked files that were written an hour ago."""
    _start_system(tmp_path, monkeypatch, "one")
    folder = tmp_path / "entry"
    folder.mkdir(mode=0o700)
    for name in ("a.npy", "b.npy"):
        (folder / name).write_bytes(b"content")
        _set_age(folder / name, HOUR)
    (folder / "a.npy").chmod(0o600)
    (folder / "b.npy").chmod(0o600)
    record_check(folder, file_states(folder))
    return folder


def _start_system(folder: Path, monkeypatch: pytest.MonkeyPatch, id: str) -> None:
    """Start another run of the operating system, as this module sees it."""
    (folder / "run").write_text(f"{id}\n")
    monkeypatch.setattr(checked_files, "_RUN_ID", folder / "run")


def _set_age(path: Path, nanoseconds: int) -> None:
    changed_at = path.stat().st_mtime_ns - nanoseconds
    os.utime(path, ns=(changed_at, changed_at))


def _replace(path: Path) -> None:
    """Replace a file by another one of the same size and time."""
    status = path.stat()
    other = path.with_name("other")
    other.write_bytes(b"damaged")
    os.utime(other, ns=(status.st_mtime_ns, status.st_mtime_ns))
    other.replace(path)


def test_unchanged_files_stay_checked(folder: Path) -> None:
    assert is_checked(folder, file_states(folder))
    assert open_to_others(folder) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.write_bytes(b"damaged"),
        lambda path: path.write_bytes(b"longer content"),
        Path.unlink,
        _replace,
        lambda path: path.with_name("c.npy").touch(),
    ],
)
def test_changed_files_are_not_checked(folder: Path, change: Callable[[Path], object]) -> None:
    change(folder / "b.npy")
    assert not is_checked(folder, file_states(folder))


def test_check_ends_with_the_run_of_the_system(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _start_system(tmp_path, monkeypatch, "two")
    assert not is_checked(folder, file_states(folder))
    record_check(folder, file_states(folder))
    assert is_checked(folder, file_states(folder))


def test_system_without_an_id_remembers_nothing(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "run").unlink()
    assert not is_checked(folder, file_states(folder))
    record_check(folder, file_states(folder))
    assert not is_checked(folder, file_states(folder))


def test_check_of_a_file_that_was_just_written_does_not_count(folder: Path) -> None:
    """A change within the same step of the clock would leave its time as it is."""
    (folder / "a.npy").write_bytes(b"content")
    record_check(folder, file_states(folder))
    assert not is_checked(folder, file_states(folder))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"run": "one", "recorded_at": null, "files": {}}', "\x00"])
def test_unreadable_record_does_not_count(folder: Path, text: str) -> None:
    (folder / "checked.json").write_text(text)
    assert not is_checked(folder, file_states(folder))


def test_record_that_cannot_be_written_is_left_out(folder: Path) -> None:
    (folder / "checked.json").unlink()
    (folder / "checked.json").mkdir()
    record_check(folder, file_states(folder))
    assert not is_checked(folder, file_states(folder))
