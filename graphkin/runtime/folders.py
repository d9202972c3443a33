"""Folders that only the current user can read."""

import os
from pathlib import Path

FOLDER_MODE, FILE_MODE = 0o700, 0o600


def make_private_folder(folder: Path) -> None:
    """Create a folder, and its missing parents, that only this user can read.

    If the folder exists and belongs to this user, other users lose their access to it. If it belongs to another user,
    it stays unchanged.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(mode=FOLDER_MODE, exist_ok=True)
    status = folder.stat()
    if status.st_uid == os.geteuid() and status.st_mode & 0o077:
        folder.chmod(FOLDER_MODE)


def restrict_files(folder: Path) -> None:
    """Let only this user read and write the files in a folder."""
    for file in folder.iterdir():
        file.chmod(FILE_MODE)
