"""Output of commands: files and folders that are written atomically, and summaries of generations."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import click

from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.manifest import MANY_FRAGMENTS, Counts, Manifest
from graphkin.runtime.files import atomic_path


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Open a binary file for writing. It gets its name when the block ends without an error.

    "-" is standard output, which is not atomic.

    Raises:
        InvalidInput: If the file cannot be written.
    """
    if str(path) == "-":
        yield sys.stdout.buffer
        return
    try:
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            yield file
    except OSError as error:
        raise InvalidInput(f"cannot write the file: {error}", given=str(path), expected="a writable path") from error


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Yield the path of a new folder. It gets its name when the block ends without an error.

    Raises:
        InvalidInput: If `path` is a folder that is not empty, or cannot be written.
    """
    target = path.resolve()
    if target.is_dir() and any(target.iterdir()):
        raise InvalidInput("this folder is not empty", given=str(path), expected="a new or empty folder")
    try:
        with atomic_path(target) as temporary:
            temporary.mkdir()
            yield temporary
    except OSError as error:
        raise InvalidInput(f"cannot write the folder: {error}", given=str(path), expected="a writable path") from error


def count_records(counts: Counts) -> str:
    """Return the counts of read, duplicate and rejected records as text."""
    return f"{counts.read:,} records, {counts.duplicates:,} duplicates, {counts.rejected:,} rejected"


def summarize(collection: str, manifest: Manifest) -> str:
    """Return the summary of an ingest, in a few lines of text."""
    counts = manifest.counts
    removed = sum(removal.items for removal in manifest.removed)
    fragments = len(manifest.fragments)
    fragments_note = (
        f"\n  read from {fragments} fragments; `graphkin compact` makes them one" if fragments > MANY_FRAGMENTS else ""
    )
    unchanged = f"unchanged: generation {manifest.generation} of {collection} already published"
    headline = unchanged if manifest.unchanged else f"published {collection} generation {manifest.generation}"
    return (
        f"{headline}\n"
        f"  {counts.kept:,} items ({count_records(counts)}{f', {removed:,} removed' if removed else ''})\n"
        f"  {manifest.edges:,} edges with similarity ≥ {manifest.threshold:g} ({manifest.pairs_text})\n"
        f"  seconds: {json.dumps(manifest.times)}{fragments_note}"
    )


def summary_json(manifest: Manifest, **fields: Any) -> str:
    """Return the manifest as JSON, without its fragments and with `unchanged` and `fields` in addition."""
    content = manifest.model_dump(mode="json", exclude={"fragments"})
    return json.dumps({**content, "unchanged": manifest.unchanged, **fields})


def note_truncation(manifest: Manifest) -> None:
    """Print a note to standard error if similar pairs are missing because of the collection's top-k limit."""
    if manifest.truncation is not None:
        click.echo(f"note: {manifest.truncation}", err=True)
