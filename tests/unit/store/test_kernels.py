"""The cache of compiled kernels, and its fallback if the folder is unusable."""

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


class Renamed:
    """A class that a later release does not have."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the cache folder that the environment names. Every user may enter it."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "kernels"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    (tmp_path / "kernels").mkdir()
    return tmp_path / "kernels"


def test_kernels_are_private_to_their_owner(folder: Path) -> None:
    assert kernel(double)(4) == 8
    files = [*folder.glob("*/*.nb?")]
    assert len(files) == 2
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert [stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()] == [0o700]


def test_folder_open_to_others_is_closed(folder: Path) -> None:
    kernel(double)
    (kernel_folder,) = folder.iterdir()
    kernel_folder.chmod(0o777)
    kernel(double)
    assert stat.S_IMODE(kernel_folder.stat().st_mode) == 0o700


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
def test_damaged_kernel_is_recompiled(
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
        recompiled = kernel(double)
        assert recompiled(4) == 8
    assert len(recompiled.stats.cache_hits) == 0
    assert f"{file} is damaged" in caplog.text
    reloaded = kernel(double)
    assert reloaded(4) == 8
    assert len(reloaded.stats.cache_hits) == 1


@pytest.mark.parametrize("key", ["signature", Renamed])
def test_files_that_name_a_class_that_is_gone_are_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: object
) -> None:
    files = _SealedFiles(str(tmp_path), "double", "source")
    files.save(key, Renamed())
    with monkeypatch.context() as patch:
        patch.delattr(f"{__name__}.Renamed")
        assert files.load("signature") is None
        files.save("signature", "code")
        assert files.load("signature") == "code"


def test_unwritable_cache_does_not_stop_a_kernel(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    compiled = kernel(double)
    (kernel_folder,) = folder.iterdir()
    kernel_folder.rmdir()
    kernel_folder.touch()
    assert compiled(4) == 8
    assert "cannot be read or written" in caplog.text


def test_code_of_other_source_is_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that was killed between index and code leaves the new index with the old code."""
    _SealedFiles(str(tmp_path), "double", "old source").save("signature", "old code")
    files = _SealedFiles(str(tmp_path), "double", "new source")
    with monkeypatch.context() as patch:
        patch.setattr(files, "_save_data", lambda *_: None)
        files.save("signature", "new code")
    assert files.load("signature") is None
    files.save("signature", "new code")
    assert files.load("signature") == "new code"
