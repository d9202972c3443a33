"""The folder of compiled kernels, and what happens where it cannot be used."""

import logging
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from numba.core import config

from graphkin.store.kernels import _SealedFiles, kernel


def double(number: int) -> int:
    return 2 * number


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the environment names for kernels, which everybody may enter."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "kernels"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    (tmp_path / "kernels").mkdir()
    return tmp_path / "kernels"


def test_kernels_are_for_their_owner_alone(folder: Path) -> None:
    assert kernel(double)(4) == 8
    files = [*folder.glob("*/*.nb?")]
    assert len(files) == 2
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert [stat.S_IMODE(each.stat().st_mode) for each in folder.iterdir()] == [0o700]


def test_folder_that_others_can_enter_is_closed(folder: Path) -> None:
    kernel(double)
    (own,) = folder.iterdir()
    own.chmod(0o777)
    kernel(double)
    assert stat.S_IMODE(own.stat().st_mode) == 0o700


def test_folder_of_another_user_is_not_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert kernel(double)(4) == 8
    assert f"{folder}" in caplog.text
    assert "belongs to another user" in caplog.text
    assert "compiled kernels are not kept" in caplog.text
    assert not [*folder.glob("*/*.nb?")]


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize(
    "harm", [lambda content: content[:-1], lambda content: b"", lambda content: b"x" + content[1:]]
)
def test_damaged_file_is_compiled_again(
    folder: Path, caplog: pytest.LogCaptureFixture, ending: str, harm: Callable[[bytes], bytes]
) -> None:
    kernel(double)(4)
    (file,) = folder.glob(f"*/*.{ending}")
    whole = file.read_bytes()
    loaded = kernel(double)
    assert loaded(4) == 8
    assert len(loaded.stats.cache_hits) == 1
    file.write_bytes(harm(whole))
    with caplog.at_level(logging.WARNING):
        again = kernel(double)
        assert again(4) == 8
    assert len(again.stats.cache_hits) == 0
    assert f"{file} is damaged" in caplog.text
    once_more = kernel(double)
    assert once_more(4) == 8
    assert len(once_more.stats.cache_hits) == 1


def test_cache_that_cannot_be_written_ends_no_run(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    compiled = kernel(double)
    (own,) = folder.iterdir()
    own.rmdir()
    own.touch()
    assert compiled(4) == 8
    assert "cannot be read or written" in caplog.text


def test_code_of_another_source_is_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that was killed between index and code leaves the new index over the old code."""
    _SealedFiles(str(tmp_path), "double", "old source").save("signature", "old code")
    files = _SealedFiles(str(tmp_path), "double", "new source")
    with monkeypatch.context() as patch:
        patch.setattr(files, "_save_data", lambda *_: None)
        files.save("signature", "new code")
    assert files.load("signature") is None
    files.save("signature", "new code")
    assert files.load("signature") == "new code"
