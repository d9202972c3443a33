"""Output of commands: text, tables, JSON, notes and progress, and files that are written atomically.

Results go to standard output, notes and progress to standard error. Ids of generations are short in text, and whole in
JSON and in files.
"""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from graphkin.protocol.generations import short_id

if TYPE_CHECKING:
    from graphkin.ingest.progress import Progress
    from graphkin.protocol.manifest import Counts, Manifest

_VERBOSITY = "graphkin.verbosity"


def set_verbosity(context: click.Context, verbosity: str) -> None:
    """Set how much this command prints: "quiet" or "verbose"."""
    context.meta[_VERBOSITY] = verbosity


def is_verbose() -> bool:
    """Return whether the command that runs has --verbose."""
    return _verbosity() == "verbose"


def is_quiet() -> bool:
    """Return whether the command that runs has --quiet."""
    return _verbosity() == "quiet"


def _verbosity() -> str | None:
    context = click.get_current_context(silent=True)
    return None if context is None else context.meta.get(_VERBOSITY)


def progress() -> "Progress":
    """Return progress bars if standard error is a terminal, else one line per stage, or nothing with --quiet."""
    from graphkin.ingest.progress import Progress
    from graphkin.ingest.progress_bars import terminal_progress

    return Progress() if is_quiet() else terminal_progress()


def note(text: str) -> None:
    """Print a note to standard error, unless --quiet is set."""
    if not is_quiet():
        click.echo(text, err=True)


def print_json(value: Any) -> None:
    """Print a value as JSON on one line."""
    click.echo(json.dumps(value, ensure_ascii=False))


def print_purged(entities: int) -> None:
    """Print the number of entities that were deleted with the data of users."""
    click.echo(f"purged {entities:,} entities that no generation has")


def print_error(message: str) -> None:
    """Print an error to standard error. On a terminal, the names of its fields (given, expected, hint) are colored."""
    first, *fields = message.split("\n")
    click.echo(f"{_style('error:', 'red')} {first}", err=True)
    for field in fields:
        name, colon, value = field.partition(": ")
        known = name.strip() in ("given", "expected", "hint")
        click.echo(f"{_style(name + ':', 'cyan')} {value}" if known and colon else field, err=True)


def _style(text: str, color: str) -> str:
    """Return text with a color, which `click.echo` removes if it does not write to a terminal."""
    return text if os.environ.get("NO_COLOR") else click.style(text, fg=color, bold=True)


def print_table(columns: Mapping[str, str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table with a header to a terminal, and rows with tabs between the cells elsewhere.

    Args:
        columns: The header of each column, and its alignment: "left" or "right".
        rows: The cells of each row.
    """
    if not sys.stdout.isatty():
        for row in rows:
            click.echo("\t".join(map(str, row)))
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    cells = [[Text(str(cell)) for cell in row] for row in rows]
    if not cells:
        return
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for header, alignment in columns.items():
        table.add_column(header, justify="right" if alignment == "right" else "left", overflow="fold")
    for row in cells:
        table.add_row(*row)
    Console().print(table)


def discard_output() -> None:
    """Discard the remaining output, because the program that reads it has ended, as `head` does."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Open a binary file for writing. It appears at `path` when the block ends without an error.

    "-" is standard output, which is not atomic.

    Raises:
        InvalidInput: If the file cannot be written.
    """
    from graphkin.export.files import atomic_file as open_file

    if str(path) == "-":
        yield sys.stdout.buffer
        return
    with open_file(path) as file:
        yield file


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Yield the path of a new folder. The folder appears at `path` when the block ends without an error.

    Raises:
        InvalidInput: If `path` is a folder that is not empty, or cannot be written.
    """
    from graphkin.export.files import unwritable
    from graphkin.protocol.errors import InvalidInput
    from graphkin.runtime.files import atomic_path

    target = path.resolve()
    if target.is_dir() and any(target.iterdir()):
        raise InvalidInput(
            "this folder is not empty",
            given=str(path),
            expected="a new or empty folder",
            hint="name another folder in --output, or empty it",
        )
    try:
        with atomic_path(target) as temporary:
            temporary.mkdir()
            yield temporary
    except OSError as error:
        raise unwritable("folder", path, error) from error


def count_text(count: int, noun: str) -> str:
    """Return a count with its noun, such as "1 edge" or "2,000 edges"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def count_records(counts: "Counts") -> str:
    """Return the counts of read, duplicate and rejected records as text."""
    return f"{counts.read:,} records, {counts.duplicates:,} duplicates, {counts.rejected:,} rejected"


def summarize(collection: str, manifest: "Manifest") -> str:
    """Return the summary of an ingest, in a few lines of text."""
    from graphkin.ingest.progress import duration
    from graphkin.protocol.manifest import MANY_FRAGMENTS

    counts, id = manifest.counts, short_id(manifest.generation)
    removed = sum(removal.items for removal in manifest.removed)
    fragments = len(manifest.fragments)
    lines = [
        f"unchanged: generation {id} of {collection} already published"
        if manifest.unchanged
        else f"published {collection} generation {id}",
        f"  {counts.kept:,} items ({count_records(counts)}{f', {removed:,} removed' if removed else ''})",
        f"  {manifest.edges:,} edges with similarity ≥ {manifest.threshold:g} ({manifest.pairs_text})",
        f"  took {duration(sum(manifest.times.values()))}",
    ]
    if is_verbose():
        lines += [f"    {name}: {duration(seconds)}" for name, seconds in manifest.times.items()]
    if fragments > MANY_FRAGMENTS:
        lines.append(f"  read from {fragments} fragments; `graphkin compact` makes them one")
    return "\n".join(lines)


def print_manifest(manifest: "Manifest", **fields: Any) -> None:
    """Print the manifest as JSON: all fields but `fragments`, and in addition `unchanged` and `fields`."""
    content = manifest.model_dump(mode="json", exclude={"fragments"})
    print_json({**content, "unchanged": manifest.unchanged, **fields})


def note_truncation(manifest: "Manifest") -> None:
    """Print a note to standard error if similar pairs are missing because of the collection's top-k limit."""
    if manifest.truncation is not None:
        note(f"note: {manifest.truncation}")


def report_file(path: Path, as_json: bool, text: str, **fields: Any) -> None:
    """Report a file that was written: a line of text on standard error, or with --json an object on standard output.

    The command has called `require_json_apart` before it wrote the file.

    Args:
        path: The file.
        as_json: Whether --json is set.
        text: The line of text.
        **fields: The fields of the object, in addition to `output`, the path.
    """
    if as_json:
        print_json({"output": str(path), **fields})
    else:
        note(text)


def require_json_apart(output: Path, as_json: bool) -> None:
    """Raise `InvalidInput` if both the file and the JSON report would be on standard output."""
    from graphkin.protocol.errors import InvalidInput

    if as_json and str(output) == "-":
        raise InvalidInput(
            "--json and the file cannot both be on standard output",
            given="--output - --json",
            expected="one of them",
            hint="name a file in --output",
        )
