"""Copy a published generation from one embedded store to another, file by file.

A fragment that several generations share is copied once.
"""

import hashlib
from collections.abc import Callable
from io import BufferedReader
from pathlib import Path

from graphkin.protocol.manifest import Fragment
from graphkin.runtime.files import rename_durably, temporary_path
from graphkin.store.embedded.integrity import CheckedFiles

_CHUNK = 1 << 20  # bytes


def copy_fragment(files: CheckedFiles, fragment: Fragment, collection: Path, advance: Callable[[int], object]) -> None:
    """Copy a fragment into the folder of a collection, unless the folder has it. The copy is atomic.

    Args:
        files: The files of the generation.
        fragment: The fragment to copy.
        collection: The folder of the collection in the target.
        advance: A function that is called with the number of bytes after each chunk.

    Raises:
        StoreDamaged: A file differs from what was written.
    """
    target = collection / fragment.folder
    if target.exists():
        return
    with temporary_path(target) as temporary:  # the next writer removes this folder if the process dies
        temporary.mkdir(parents=True)
        for name, digest in fragment.files.items():
            key = files.key_of(fragment, name)
            if _copy(files[key], temporary / name, advance) != digest:
                raise files.damage_error(key, "its SHA-256 differs from the manifest's")
        rename_durably(temporary, target)


def _copy(file: BufferedReader, to: Path, advance: Callable[[int], object]) -> str:
    """Copy a file and return the SHA-256 of the bytes that were read."""
    digest = hashlib.sha256()
    file.seek(0)
    with to.open("wb") as copy:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            copy.write(chunk)
            advance(len(chunk))
    return digest.hexdigest()
