"""Opening of sources. The extension of a file, or an option, decides its format."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import IO, BinaryIO

import pyarrow as pa

from graphkin.ingest.readers.columns import OPTIONS, Options
from graphkin.ingest.readers.delimited import DELIMITERS, read_delimited
from graphkin.ingest.readers.fps import read_fps
from graphkin.ingest.readers.jsonl import read_jsonl
from graphkin.ingest.readers.lines import Line, read_lines
from graphkin.ingest.readers.memory import FileData, Input
from graphkin.ingest.readers.npy import read_array
from graphkin.ingest.readers.parquet import ParquetRecords
from graphkin.ingest.readers.raw import (
    COMPRESSED,
    Raw,
    as_utf8,
    open_decompressed,
    spool_to_disk,
    translate_read_errors,
)
from graphkin.ingest.readers.records import Record, batches, keep_properties, rename_properties
from graphkin.ingest.readers.sdf import read_sdf
from graphkin.ingest.readers.smi import read_smi
from graphkin.ingest.readers.source import STDIN, ReadOptions, Source, open_raw, open_raw_folder
from graphkin.ingest.readers.tu import read_tu
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.parameters import accepts, parameter
from graphkin.similarity.molecules.fingerprint_text import WITH_FINGERPRINT

EXTENSIONS = {
    ".smi": "smi",
    ".smiles": "smi",
    ".cxsmiles": "smi",
    ".txt": "smi",
    ".csv": "csv",
    ".tsv": "tsv",
    ".sdf": "sdf",
    ".sd": "sdf",
    ".parquet": "parquet",
    ".zip": "tu",
    ".graphml": "graphml",
    ".xml": "graphml",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".fps": "fps",
    ".npy": "npy",
    ".xlsx": "xlsx",
}
"""Format by file extension in lower case, without the extension of a compressed file. A folder has the format tu."""

MAX_GRAPH = 16_000_000
"""Maximum length of a JSON line, in bytes."""

_TU, _NPY = "tu", "npy"
_TABLES = ("csv", "tsv", "parquet", "xlsx")
_LINES = ("smi", "sdf", "fps", "jsonl", "csv", "tsv")
WHOLE = ("parquet", "graphml", "npz", "xlsx")
"""Formats whose files are held in memory as a whole while they are read."""


def open_source(
    path: Input,
    notations: Mapping[str, str],
    options: ReadOptions,
    stream: BinaryIO | None = None,
    names: str | None = None,
) -> Source:
    """Open a source, and read its header.

    The first bytes of a file, not its name, decide whether and how it is decompressed.

    Args:
        path: Path of a file or of a folder in TUDataset's layout, "-" for standard input, or data in memory.
        notations: Accepted formats, each with the notation of its records.
        options: Options for reading the source.
        stream: Stream to read instead of the file or of standard input. `path` is its name.
        names: Path of a second file with the names of the rows of an array, one per line.

    Raises:
        InvalidInput: The source cannot be opened, is empty, has a format that is not accepted or is not in its stated
            format, or lacks a column.
    """
    if isinstance(path, FileData):
        used_options = replace(options, encoding=None) if path.is_text else options
        return open_source(path.name, notations, used_options, BytesIO(path.content))
    if not isinstance(path, str):
        return path.open(notations, options)
    folder = path != STDIN and _TU in notations and Path(path).is_dir()
    format = choose_format(path, options.format or (_TU if folder else None), notations, EXTENSIONS)
    if format == _TU and path == STDIN:
        raise InvalidInput(
            "a collection in the TUDataset layout has several files, so it cannot come from standard input",
            given=path,
            expected="a folder or a zip archive",
            hint="name the folder or the archive",
        )
    if format != _TU and folder:
        raise InvalidInput(
            "a folder is read only in the TUDataset layout",
            given=f"{path} as {format}",
            expected=f"a file, or {parameter('--format', _TU)}",
            hint=f"name a file of the folder, or leave {parameter('--format')} out",
        )
    if options.fingerprint_column is not None and format not in _TABLES:
        raise InvalidInput(
            "only tables have a column of fingerprints",
            given=f"{path} as {format}",
            expected=" or ".join(_TABLES),
            hint=f"convert the file to {' or '.join(_TABLES)}, or leave {parameter('--fingerprint-column')} out",
        )
    if names is not None and format != _NPY:
        raise InvalidInput(
            "only NumPy arrays take their names from a separate file",
            given=f"{path} as {format}",
            expected="a .npy file",
            hint=f"leave {parameter('--names')} out: files in the format {format} hold names themselves",
        )
    with ExitStack() as resources:
        raw, bytes_total = open_raw_folder(path, resources) if folder else open_raw(path, stream, resources)
        companions: list[tuple[str, Raw]] = []
        if format == _TU:
            records = batches(read_tu(path))
        else:
            lines, companions = _names(names, resources)
            with translate_read_errors(path, raw):
                records = _batches(path, format, notations[format], options, raw, bytes_total, lines, resources)
        notation = notations[format] if options.fingerprint_column is None else WITH_FINGERPRINT
        return Source(path, notation, bytes_total, records, raw, resources.pop_all(), companions)


def _names(path: str | None, resources: ExitStack) -> tuple[Iterator[Line] | None, list[tuple[str, Raw]]]:
    """Return the lines of a file of names, and its raw stream, from which its digest is taken."""
    if path is None:
        return None, []
    raw, _ = open_raw(path, None, resources)
    with translate_read_errors(path, raw):
        stream, _ = open_decompressed(path, raw, "at least one name")
    return read_lines(path, stream), [(path, raw)]


def choose_format(path: str, requested: str | None, formats: Mapping[str, str], by_extension: Mapping[str, str]) -> str:
    """Return the requested format, or the format of the file's extension if none is requested.

    Raises:
        InvalidInput: The format is unknown or not accepted.
    """
    accepted = ", ".join(formats)
    if requested is None and path == STDIN:
        raise InvalidInput(
            "the format of standard input is unknown",
            given=path,
            expected=f"{parameter('--format')} with one of {accepted}",
            hint=f"add {parameter('--format')}",
        )
    extensions = {extension: format for extension, format in by_extension.items() if format in formats}
    format = requested or extensions.get(extension(path))
    if format is None and extension(path) == ".zip":
        raise InvalidInput(
            f"{path} is a zip archive, which may hold any files",
            expected=", ".join(extensions),
            hint="unpack the archive, and choose one of its files",
        )
    if format is None:
        raise InvalidInput(
            f"the format of {path} cannot be determined from its name",
            expected=f"{', '.join(extensions)}, with or without {', '.join(COMPRESSED)}",
            hint="rename the file"
            + (f", or add {parameter('--format')} with one of {accepted}" if accepts("--format") else ""),
        )
    if format not in formats:
        raise InvalidInput(
            "this format is not accepted here",
            given=format,
            expected=f"one of {accepted}",
            hint=f"choose one of the accepted formats with {parameter('--format')}",
        )
    return format


def extension(path: str) -> str:
    """Return a file's extension in lower case, ignoring the extension of a compressed file."""
    name = Path(path.lower())
    return (name.with_suffix("") if name.suffix in COMPRESSED else name).suffix


def _batches(
    path: str,
    format: str,
    notation: str,
    options: ReadOptions,
    raw: Raw,
    bytes_total: int | None,
    names: Iterator[Line] | None,
    resources: ExitStack,
) -> Iterator[pa.RecordBatch]:
    stream, compressed = open_decompressed(path, raw, "at least one record", whole=format in WHOLE)
    if options.encoding is not None and format in _LINES:
        stream = as_utf8(path, stream, options.encoding)
    column = options.structure_column or notation
    chosen_by = (f"--{notation}-column", OPTIONS[1])
    if format == _NPY:
        return batches(read_array(path, stream, notation, names))
    if format != "parquet":
        records = _records(path, format, stream, column, options, chosen_by)
        if options.properties is not None and format not in _TABLES:
            records = keep_properties(path, records, options.properties)
        return batches(_renamed(path, records, options))
    seekable = bytes_total is not None and not compressed
    content = resources.enter_context(pa.OSFile(path)) if seekable else spool_to_disk(stream, resources)
    columns = (column, options.name_column, chosen_by, options.fingerprint_column)
    parquet = ParquetRecords(path, content, *columns, notation, options.properties, options.decimal)
    return _hash_alongside(batches(_renamed(path, parquet, options)), raw, bytes_total, parquet.rows)


def _renamed(path: str, records: Iterable[Record], options: ReadOptions) -> Iterable[Record]:
    return rename_properties(path, records, dict(options.titles)) if options.titles else records


def _hash_alongside(
    batches: Iterator[pa.RecordBatch], raw: Raw, bytes_total: int | None, rows: int
) -> Iterator[pa.RecordBatch]:
    """Yield the batches, and hash the raw bytes of the file at the same pace.

    PyArrow reads the file by itself, so its bytes do not pass through `raw`.
    """
    for batch in batches:
        yield batch
        if bytes_total is not None:
            raw.read_to(bytes_total * batch["line"][-1].as_py() // rows)


def _records(
    path: str, format: str, stream: IO[bytes], column: str, options: ReadOptions, chosen_by: Options
) -> Iterator[Record]:
    match format:
        case "sdf":
            return read_sdf(path, stream, options.name_column)
        case "smi":
            return read_smi(read_lines(path, stream))
        case "fps":
            return read_fps(path, read_lines(path, stream))
        case "jsonl":
            return read_jsonl(read_lines(path, stream, MAX_GRAPH))
        case "graphml":
            from graphkin.ingest.readers.graphml import read_graphml  # importing NetworkX is slow

            return read_graphml(path, stream)
    columns = (column, options.name_column, chosen_by)
    if format == "xlsx":
        from graphkin.ingest.readers.xlsx import read_xlsx

        return read_xlsx(path, stream, *columns, options.fingerprint_column, options.properties, options.decimal)
    return read_delimited(
        path,
        read_lines(path, stream),
        options.delimiter or DELIMITERS[format],
        *columns,
        options.fingerprint_column,
        options.properties,
        options.decimal,
    )
