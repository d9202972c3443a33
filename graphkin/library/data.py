"""Data that users pass to the library: files, tables, structures and arrays."""

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graphkin.ingest.readers.formats import EXTENSIONS, extension
from graphkin.ingest.readers.memory import (
    FileData,
    Input,
    RecordData,
    TableData,
    bit_records,
    graph_records,
    is_missing,
    structure_records,
    vector_records,
)
from graphkin.protocol.errors import InvalidInput, require
from graphkin.protocol.parameters import parameter
from graphkin.similarity.describer import Rejected
from graphkin.similarity.molecules.objects import molecule_text
from graphkin.similarity.packed import MAX_JOINED_WORDS
from graphkin.store.records import UInt64

Matrix: TypeAlias = Any
"""A NumPy array, or a sparse matrix of SciPy, which has no type information."""

_ROWS_PER_BLOCK = 4096


class Bits(NamedTuple):
    """Fingerprints in memory.

    Attributes:
        content: (n, bytes) uint8, packed with the least significant bit first.
        bits: Number of bits of a fingerprint.
    """

    content: NDArray[np.uint8]
    bits: int

    @property
    def words(self) -> UInt64:
        """The packed fingerprints, (n, W) uint64."""
        missing = -self.content.shape[1] % 8
        return np.ascontiguousarray(np.pad(self.content, ((0, 0), (0, missing)))).view("<u8")


class Files(tuple[str, ...]):
    """Paths of files."""


def arrange(data: Any, format: str | None = None) -> "Files | FileData | TableData | Matrix | list[Any]":
    """Return data in one of five forms: files, an open file, a table, a matrix with a row for each record, or a list.

    Args:
        data: A file or a list of files; a table; or a list, Series or array of structures, fingerprints or vectors. The
            documentation of `graphkin.ingest` lists all types. Texts in a list are files if the first one has the
            extension of a file format, or if `format` is set.
        format: Format of the files.

    Raises:
        InvalidInput: The type of the data is not accepted.
    """
    if isinstance(data, Files | TableData | FileData):
        return data
    if isinstance(data, str | PathLike):
        return Files([_path(fspath(data), format)])
    if hasattr(data, "read"):
        return FileData.from_file(data)
    content = _from_arrow(data)
    if isinstance(content, pa.Table):
        return _table(content, "Arrow table" if isinstance(data, pa.Table) else "data frame")
    if _is_matrix(content):
        return content if hasattr(content, "tocsr") else np.asarray(content)
    if not isinstance(content, Iterable) or isinstance(content, bytes | Mapping):
        raise InvalidInput(
            "this type of data cannot be read",
            given=type(data).__name__,
            expected="a file, a data frame, an array, or a list of structures",
            hint=_HINTS.get(type(data).__name__, "help(graphkin.ingest) lists the accepted types"),
        )
    items = [*content]
    return Files(map(fspath, items)) if items and _are_files(items, format) else items


_HINTS = {
    "Mol": "pass a list of molecules, such as [molecule]",
    "dict": "pass a data frame: pandas.DataFrame(data)",
    "LazyFrame": "pass the data frame that its method collect() returns",
    "StoredCollection": "pass the table that its method items() returns",
    "ServedCollection": "pass the table that its method items() returns",
}
"""Hints for data of a type that is not accepted, by the name of the type."""


def query_structure(query: Any) -> Any:
    """Return a query structure: the text of an RDKit molecule, no text for a missing value, and others unchanged.

    Raises:
        InvalidInput: The molecule has a feature that an item cannot represent.
    """
    if is_missing(query):
        return ""
    if type(query).__name__ != "Mol":
        return query
    try:
        return molecule_text(query)
    except Rejected as reason:
        raise InvalidInput(
            "this molecule cannot be compared",
            given=str(reason),
            expected="a molecule that graphkin.ingest accepts",
            hint="change the molecule",
        ) from reason


def _path(path: str, format: str | None) -> str:
    """Return a path. Raises `InvalidInput` if it seems to be something else, such as a SMILES."""
    if format is None and extension(path) not in EXTENSIONS and not Path(path).exists():
        raise InvalidInput(
            "there is no file of this name",
            given=path,
            expected="the path of a file, or a list of structures",
            hint='correct the path; for one structure pass a list, such as ["CCO"]',
        )
    return path


def as_inputs(
    data: Any, kind: str, *, format: str | None = None, names: str | PathLike[str] | Sequence[Any] = ()
) -> list[Input]:
    """Return data as files or as records in memory.

    Args:
        data: The data, as `arrange` accepts or returns it.
        kind: Plural of the kind of the items, such as "molecules".
        format: Format of the files.
        names: Names of the records of a list or an array. Names of files of names are ignored.

    Raises:
        InvalidInput: The data are not items of this kind.
    """
    content = arrange(data, format)
    if isinstance(content, Files):
        return [*content]
    if isinstance(content, TableData | FileData):
        require(
            isinstance(names, str | PathLike) or not len(names),
            "names",
            f"a list of names for a {content.name}",
            "the name of a column",
            hint=f"name the column with {parameter('--name-column')}",
        )
        return [content]
    records = _as_records(content, kind)
    return [records.with_names([] if isinstance(names, str | PathLike) else [*names])]


def _as_records(content: "Matrix | list[Any]", kind: str) -> RecordData:
    if kind == "vectors":
        return RecordData("array of vectors", "vector", vector_records(_vectors(content)))
    if kind in ("graphs", "nodes"):
        return RecordData("list of graphs", "graph", graph_records(content))
    if (bits := read_bits(content)) is not None:
        return RecordData("array of fingerprints", "fingerprint", bit_records(bits.content))
    return RecordData("list", "fingerprint" if kind == "fingerprints" else "smiles", structure_records(content))


def read_bits(data: "Files | FileData | TableData | Matrix | list[Any]") -> Bits | None:
    """Return fingerprints in memory, or None if the data is of another type.

    Args:
        data: An (n, bits) array of 0 and 1, an (n, bits / 64) uint64 array of packed bits, a sparse matrix of SciPy, or
            a list of RDKit bit vectors, as `arrange` returns them.

    Raises:
        InvalidInput: The array has another shape or holds other numbers, or the bit vectors have different lengths.
    """
    if _is_matrix(data):
        return _bits_of_matrix(data)
    if isinstance(data, list) and data and isinstance(data[0], np.ndarray):
        return _bits_of_matrix(_stack(data))
    if isinstance(data, list) and data and type(data[0]).__name__ == "ExplicitBitVect":
        from graphkin.similarity.molecules.fingerprints import pack

        words, bits = pack(data), data[0].GetNumBits()
        return Bits(words.view(np.uint8)[:, : -(-bits // 8)], bits)
    return None


def _stack(rows: Sequence[Any]) -> NDArray[Any]:
    try:
        return np.stack(rows)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            "the arrays of this list have different shapes",
            given=str(error)[:200],
            expected="one array of bits for each fingerprint, all of one length",
            hint="pass an array of shape (n, bits)",
        ) from error


def _is_matrix(data: Any) -> bool:
    """Return whether the data is an array with two or more dimensions, or a sparse matrix."""
    return hasattr(data, "tocsr") or (hasattr(data, "__array__") and np.ndim(data) != 1)


def _bits_of_matrix(data: Any) -> Bits:
    matrix = data.tocsr() if hasattr(data, "tocsr") else np.asarray(data)
    require(
        len(matrix.shape) == 2 and matrix.shape[1] > 0,
        "array of fingerprints",
        f"shape {matrix.shape}",
        "two dimensions: one row for each fingerprint, one column for each bit",
        hint="pass an array of shape (n, bits)",
    )
    if matrix.dtype.kind == "u" and matrix.dtype.itemsize == 8 and isinstance(matrix, np.ndarray):
        require(
            matrix.shape[1] <= MAX_JOINED_WORDS,
            "array of packed fingerprints",
            f"uint64 with shape {matrix.shape}",
            f"shape (n, bits / 64) with at most {MAX_JOINED_WORDS:,} columns",
            hint="pass an array of 0 and 1 as array.astype('uint8')",
        )
        return Bits(np.ascontiguousarray(matrix, "<u8").view(np.uint8), 64 * matrix.shape[1])
    values = matrix if isinstance(matrix, np.ndarray) else matrix.data
    if values.dtype.kind not in "biufO" or not ((values == 0) | (values == 1)).all():
        raise InvalidInput(
            "this is not an array of fingerprints",
            given=f"an array of {matrix.dtype} with other values than 0 and 1",
            expected="an array of 0 and 1 with shape (n, bits), or packed bits as uint64 with shape (n, bits / 64)",
            hint="counts become bits with array > 0, and packed bytes become words with array.view('uint64')",
        )
    blocks = (matrix[start : start + _ROWS_PER_BLOCK] for start in range(0, matrix.shape[0], _ROWS_PER_BLOCK))
    dense = (block if isinstance(block, np.ndarray) else block.toarray() for block in blocks)
    packed = [np.packbits(block.astype(np.bool_), axis=1, bitorder="little") for block in dense]
    content = np.concatenate(packed) if packed else np.empty((0, -(-matrix.shape[1] // 8)), np.uint8)
    return Bits(content, matrix.shape[1])


def _vectors(data: Any) -> NDArray[np.floating[Any]]:
    try:
        vectors = np.asarray(data.toarray() if hasattr(data, "tocsr") else data)
        vectors = vectors if vectors.dtype.kind == "f" else vectors.astype(np.float64, casting=_casting(vectors))
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            "these are not vectors of numbers",
            given=str(error)[:200],
            expected="an array of shape (n, numbers), or a list of vectors of one length",
            hint="pass an array of floating-point numbers",
        ) from error
    require(
        vectors.ndim == 2,
        "array of vectors",
        f"shape {vectors.shape}",
        "two dimensions: one row for each vector",
        hint="pass an array of shape (n, numbers)",
    )
    return vectors


def _casting(vectors: NDArray[Any]) -> Literal["same_kind", "unsafe"]:
    """Return the rule for the conversion of numbers, which must not drop an imaginary part."""
    return "same_kind" if vectors.dtype.kind == "c" else "unsafe"


def _are_files(items: Sequence[Any], format: str | None) -> bool:
    first = items[0]
    return isinstance(first, PathLike) or (
        isinstance(first, str) and (format is not None or extension(first) in EXTENSIONS)
    )


def _from_arrow(data: Any) -> Any:
    """Return a table or a column of another library as an Arrow table or as a list, and other data unchanged."""
    if type(data).__module__.partition(".")[0] == "pandas":
        return _from_pandas(data) if hasattr(data, "columns") else data.tolist()
    if hasattr(data, "__arrow_c_stream__"):
        column = pa.chunked_array(data)
    elif hasattr(data, "__arrow_c_array__"):
        column = pa.chunked_array([pa.array(data)])
    else:
        return data
    return pa.Table.from_struct_array(column) if pa.types.is_struct(column.type) else column.to_pylist()


def _from_pandas(frame: Any) -> pa.Table:
    """Return a data frame of pandas as an Arrow table. Levels of the index with a name become columns."""
    levels = [level for level in frame.index.names if level is not None and level not in frame.columns]
    frame = frame.reset_index(levels) if levels else frame
    columns = [_pandas_column(frame.iloc[:, position]) for position in range(frame.shape[1])]
    return pa.Table.from_arrays(columns, [str(title) for title in frame.columns])


def _pandas_column(series: Any) -> pa.Array | pa.ChunkedArray:
    try:
        return pa.Array.from_pandas(series)
    except (pa.ArrowException, UnicodeError):  # a column of mixed types, such as numbers and texts
        return pa.array([None if is_missing(value) else _text(value) for value in series], pa.string())


def _text(value: Any) -> str:
    if type(value).__name__ == "Mol":
        from rdkit import Chem

        return Chem.MolToCXSmiles(value)
    text = str(value).removesuffix(".0") if isinstance(value, float) else str(value)
    return text.encode(errors="backslashreplace").decode()


def _table(table: pa.Table, name: str) -> TableData:
    """Return a table as data. A column without any value counts as text, because its type says nothing."""
    columns = [
        pa.nulls(len(column), pa.string()) if column.null_count == len(column) else column for column in table.columns
    ]
    return TableData(name, pa.Table.from_arrays(columns, table.column_names))
