"""Cache folders that only one user can read. Needs only the standard library."""

import os
from pathlib import Path

FOLDER_MODE, FILE_MODE = 0o700, 0o600


def private_folder(folder: Path) -> None:
    """Create a folder and its missing parents for this user only.

    An existing folder is closed to other users if it belongs to this user. Folders of other users stay unchanged.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(mode=FOLDER_MODE, exist_ok=True)
    status = folder.stat()
    if status.st_uid == os.geteuid() and status.st_mode & 0o077:
        folder.chmod(FOLDER_MODE)


def close_files(folder: Path) -> None:
    """Restrict the files of a folder to this user."""
    for file in folder.iterdir():
        file.chmod(FILE_MODE)
