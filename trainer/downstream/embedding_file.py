"""Writers of files with embeddings."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from graphkin.protocol.errors import InvalidInput


class Block(NamedTuple):
    """Consecutive records of the input, and the embeddings of the readable ones.

    Attributes:
        first: Row of the first record in the input, from 0.
        texts: (n,) SMILES or JSON, as in the input.
        readable: (m,) int64. Indices of the readable records in `texts`, ascending.
        vectors: (m, D) float32. Embeddings of the readable records.
    """

    first: int
    texts: Sequence[str]
    readable: NDArray[np.int64]
    vectors: NDArray[np.float32]


class EmbeddingFile(ABC):
    """Writer of embeddings. As a context manager, it completes the file at the end of the block.

    Errors:
        All methods raise `OSError` if the file cannot be written.

    Args:
        file: File to write to.
        width: Number of dimensions of an embedding, D.
        column: Name of the column of texts, for formats that have one.
    """

    @abstractmethod
    def __init__(self, file: BinaryIO, width: int, column: str) -> None: ...

    @abstractmethod
    def add(self, block: Block) -> None:
        """Write the next block."""

    @abstractmethod
    def finish(self) -> None:
        """Complete the file."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()


def embedding_format(path: Path) -> type[EmbeddingFile]:
    """Return the class of writers for the ending of a file name.

    Raises:
        InvalidInput: The name ends neither in .npy nor in .parquet.
    """
    formats: dict[str, type[EmbeddingFile]] = {".npy": NpyFile, ".parquet": ParquetFile}
    if path.suffix.lower() not in formats:
        raise InvalidInput(
            "embeddings cannot be written in this format",
            given=str(path),
            expected=f"a file name in {' or '.join(formats)}",
            hint="name the output .npy or .parquet",
        )
    return formats[path.suffix.lower()]


class NpyFile(EmbeddingFile):
    """Writer of an array for `numpy.load`, (rows, D) float32, with one row per record. Unreadable records are NaN."""

    def __init__(self, file: BinaryIO, width: int, column: str) -> None:  # noqa: ARG002
        self._file = file
        self._shape = (0, width)
        self._write_header()

    def add(self, block: Block) -> None:
        rows, width = self._shape
        vectors = np.full((len(block.texts), width), np.nan, "<f4")
        vectors[block.readable] = block.vectors
        self._file.write(vectors.data)
        self._shape = (rows + len(vectors), width)

    def finish(self) -> None:
        self._file.seek(0)
        self._write_header()

    def _write_header(self) -> None:
        """Write the header. Its length does not depend on the number of rows, because numpy pads it."""
        header = {"descr": "<f4", "fortran_order": False, "shape": self._shape}
        np.lib.format.write_array_header_1_0(self._file, header)


class ParquetFile(EmbeddingFile):
    """Writer of a Parquet table with one row per readable record.

    The columns are `row` (int64, from 0), the texts, and `embedding` (D float32).
    """

    def __init__(self, file: BinaryIO, width: int, column: str) -> None:
        columns = [("row", pa.int64()), (column, pa.string()), ("embedding", pa.list_(pa.float32(), width))]
        self._schema = pa.schema(columns)
        self._width = width
        self._writer = pq.ParquetWriter(file, self._schema)

    def add(self, block: Block) -> None:
        texts = [block.texts[index] for index in block.readable]
        embeddings = pa.FixedSizeListArray.from_arrays(pa.array(block.vectors.reshape(-1)), self._width)
        columns = [pa.array(block.first + block.readable), pa.array(texts, pa.string()), embeddings]
        self._writer.write_table(pa.table(columns, schema=self._schema))

    def finish(self) -> None:
        self._writer.close()
