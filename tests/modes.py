"""Permissions of files that only one user may read."""

from pathlib import Path


def open_to_others(folder: Path) -> list[Path]:
    """Return the folders and files that other users may read, write or enter.

    Empty files are left out, because they are locks.
    """
    paths = [folder, *folder.rglob("*")]
    return [path for path in paths if path.stat().st_mode & 0o077 and (path.is_dir() or path.stat().st_size)]
