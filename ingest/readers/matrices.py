"""Adjacency matrices: Matrix Market files, and compressed sparse rows in .npz files of SciPy or NumPy."""

from collections.abc import Iterator
from typing import IO
from zipfile import ZipFile

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphkin.ingest.readers.edgelist import NamedEdges, read_edgelist
from graphkin.ingest.readers.lines import count_blank
from graphkin.ingest.readers.raw import require_proportion
from graphkin.protocol.errors import InvalidInput
from graphkin.store.records import Int64

MAX_NODES = 10_000_000
"""Maximum number of nodes of a network, and so of rows of a matrix, because a small file can state any size."""

_MAX_HEADER_LINE = 1024  # bytes of a header line
_ROW = r"^[0-9]{1,18}$"
_ARRAYS = ("indptr", "indices", "labels")
_SPARSE = {"indptr", "indices"}


def read_matrix_market(path: str, stream: IO[bytes]) -> tuple[int, Iterator[NamedEdges]]:
    """Return the number N of nodes, which are named 1 to N, and the edges. Values are discarded.

    Raises:
        InvalidInput: The file is not a sparse square matrix. At the end of the iteration, the number of entries differs
            from the one that the header states.
    """
    banner = stream.readline(_MAX_HEADER_LINE)
    if banner.lower().split()[:3] != [b"%%matrixmarket", b"matrix", b"coordinate"]:
        raise InvalidInput(
            f"{path} is not a sparse matrix in the Matrix Market format",
            given=banner[:60].decode(errors="backslashreplace").strip(),
            expected="%%MatrixMarket matrix coordinate ...",
            hint="write the file again with scipy.io.mmwrite, from a sparse matrix",
        )
    number, line, blank = 2, stream.readline(_MAX_HEADER_LINE), 0
    while line.startswith(b"%") or line.isspace():
        blank = count_blank(path, number, line, blank)
        number, line = number + 1, stream.readline(_MAX_HEADER_LINE)
    sizes = line.split()
    if len(sizes) != 3 or not all(size.isdigit() for size in sizes):
        raise InvalidInput(
            f"line {number} of {path} does not give the size of the matrix",
            given=line[:60].decode(errors="backslashreplace").strip(),
            expected="numbers of rows, columns and entries",
            hint="write the file again with scipy.io.mmwrite, from a sparse matrix",
        )
    rows, columns, entries = map(int, sizes)
    _require_square(path, rows, columns)
    return rows, _entries(path, stream, number + 1, rows, entries)


def _entries(path: str, stream: IO[bytes], line: int, nodes: int, entries: int) -> Iterator[NamedEdges]:
    count = 0
    for edges in read_edgelist(path, stream, line, comment=b"%"):
        count += len(edges.line) + len(edges.faults)
        yield _move_outside_to_faults(edges, nodes)
    if count != entries:
        raise InvalidInput(
            f"{path} is truncated or damaged",
            given=f"{count:,} entries",
            expected=f"{entries:,} entries",
            hint="copy or write the file again",
        )


def _move_outside_to_faults(edges: NamedEdges, nodes: int) -> NamedEdges:
    """Return the edges. Entries outside the matrix become faults."""
    ends = [_row_numbers(names) for names in (edges.source, edges.target)]
    inside = np.logical_and.reduce([(end >= 1) & (end <= nodes) for end in ends])
    outside = np.flatnonzero(~inside).tolist()
    faults = [
        (
            int(edges.line[index]),
            f"{edges.source[index]} {edges.target[index]}",
            f"is outside a matrix of {nodes:,} rows",
        )
        for index in outside
    ]
    source, target = (pa.array(end[inside]).cast(pa.string()) for end in ends)
    return NamedEdges(edges.line[inside], source, target, sorted([*edges.faults, *faults]))


def _row_numbers(names: pa.StringArray) -> Int64:
    """Return the numbers of rows that the texts name, 0 for texts that are not numbers."""
    is_number = pc.match_substring_regex(names, _ROW)
    return np.asarray(pc.if_else(is_number, names, "0").cast(pa.int64()))


def read_npz(path: str, stream: IO[bytes]) -> tuple[int, NamedEdges, pa.StringArray | None]:
    """Return the number N of nodes, which are named 0 to N - 1, the edges, and the node labels if there are any.

    The file has the arrays `indptr`, (N + 1,), and `indices` in the layout of `scipy.sparse.save_npz`. It may have the
    array `labels`, (N,).

    Raises:
        InvalidInput: The file does not have these arrays.
    """
    try:
        arrays = _arrays(path, stream)
        indptr, indices = (arrays[name].astype(np.int64, casting="same_kind").ravel() for name in ("indptr", "indices"))
        nodes = len(indptr) - 1
        if nodes < 0 or indptr[0] != 0 or indptr[-1] != len(indices) or (np.diff(indptr) < 0).any():
            raise ValueError("indptr does not rise from 0 to the number of indices")
        if ((indices < 0) | (indices >= nodes)).any():
            raise ValueError(f"indices leave the {nodes:,} rows")
        labels = arrays.get("labels")
        if labels is not None and labels.shape != (nodes,):
            raise ValueError(f"labels has shape {labels.shape}, not ({nodes},)")
    except (ValueError, TypeError, KeyError, OSError) as error:
        raise InvalidInput(
            f"{path} does not hold a sparse matrix: {error}",
            given=path,
            expected="the arrays indptr (N + 1) and indices of a square matrix",
            hint="write the file with scipy.sparse.save_npz, from a CSR matrix",
        ) from error
    owner = np.repeat(np.arange(nodes), np.diff(indptr))
    source, target = (pa.array(end).cast(pa.string()) for end in (owner, indices))
    label_texts = None if labels is None else pa.array(labels.tolist()).cast(pa.string())
    return nodes, NamedEdges(owner + 1, source, target), label_texts


def _arrays(path: str, stream: IO[bytes]) -> dict[str, np.ndarray]:
    """Return the arrays that describe the graph. Their size is bounded in proportion to the file's."""
    with ZipFile(stream) as archive:
        for entry in archive.infolist():
            require_proportion(path, entry.file_size, entry.compress_size)
        names = {name.removesuffix(".npy") for name in archive.namelist()}
    stream.seek(0)
    with np.load(stream, allow_pickle=False) as file:
        if not names >= _SPARSE:
            raise ValueError(f"its arrays are {', '.join(sorted(names)) or 'none'}")
        if "shape" in names:
            rows, columns = (int(size) for size in file["shape"])
            _require_square(path, rows, columns)
        try:
            arrays: dict[str, np.ndarray] = {name: file[name] for name in _ARRAYS if name in names}
        except MemoryError as error:  # numpy allocates the stated size before it reads
            raise ValueError("its header claims arrays larger than this machine's memory") from error
    if strange := [name for name, array in arrays.items() if not isinstance(array, np.ndarray)]:
        raise ValueError(f"{strange[0]} is no array")
    return arrays


def _require_square(path: str, rows: int, columns: int) -> None:
    if rows != columns or not 1 <= rows <= MAX_NODES:
        raise InvalidInput(
            f"{path} does not hold the adjacency matrix of a network",
            given=f"{rows:,} rows and {columns:,} columns",
            expected=f"as many columns as rows, and 1 to {MAX_NODES:,} of them",
            hint="write the adjacency matrix, with one row and one column for each node",
        )
