import os
import stat
from pathlib import Path

import pytest

from graphkin.runtime.folders import make_private_folder, restrict_files


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_new_folders_are_private(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    make_private_folder(tmp_path / "a" / "b")
    assert [mode(tmp_path / name) for name in ("a", "a/b", ".")] == [0o700, 0o700, 0o755]


def test_open_folder_of_this_user_is_closed(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir(mode=0o755)
    make_private_folder(tmp_path / "a")
    assert mode(tmp_path / "a") == 0o700


def test_folder_of_another_user_stays_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir(mode=0o755)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    make_private_folder(tmp_path / "a")
    assert mode(tmp_path / "a") == 0o755


def test_close_files_makes_files_private(tmp_path: Path) -> None:
    (tmp_path / "a").touch(0o644)
    restrict_files(tmp_path)
    assert mode(tmp_path / "a") == 0o600
