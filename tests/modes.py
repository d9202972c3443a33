"""Permissions of what is kept for one user."""

from pathlib import Path


def open_to_others(folder: Path) -> list[Path]:
    """The folders and files that other users may enter, read or write; empty files, which are locks, are left out."""
    every = [folder, *folder.rglob("*")]
    return [path for path in every if path.stat().st_mode & 0o077 and (path.is_dir() or path.stat().st_size)]
