"""Folders of caches, which belong to one user alone. Needs the standard library alone."""

import os
from pathlib import Path

FOLDER_MODE, FILE_MODE = 0o700, 0o600


def private_folder(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for this user alone.

    A folder that is there already is closed to others where it belongs to this user; others are left as they are.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=FOLDER_MODE, exist_ok=True)
    status = folder.stat()
    if status.st_uid == os.geteuid() and status.st_mode & 0o077:
        folder.chmod(FOLDER_MODE)


def close_files(folder: Path) -> None:
    """Let this user alone read and write the files of a folder."""
    for file in folder.iterdir():
        file.chmod(FILE_MODE)
