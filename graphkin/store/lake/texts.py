"""Sorted texts of a lake, for `find`. They are computed once per machine and cached."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from graphkin.runtime.files import ArrayWriter
from graphkin.store.records import Int32, Int64

_ARRAYS = {"starts": "int64", "offsets": "int64", "content": "uint8", "owners": "int32"}


@dataclass(frozen=True)
class TextIndex:
    """The texts of a column, in one run per part of the item table, each sorted by the bytes of the texts.

    Attributes:
        starts: (runs + 1,) int64 start of each run.
        offsets: (texts + 1,) int64 start of each text in `content`.
        content: (bytes,) uint8.
        owners: (texts,) int32 item that has the text.
    """

    starts: Int64
    offsets: Int64
    content: NDArray[np.uint8]
    owners: Int32

    def find(self, value: str, after: int, limit: int) -> list[int]:
        """Return the ids > `after` of items that have this text, ascending, at most `limit`."""
        encoded = value.encode(errors="surrogatepass")
        hits: list[int] = []
        for begin, end in pairwise(self.starts.tolist()):
            run = range(begin, end)
            first = bisect_left(run, encoded, key=self._text)
            if first == len(run) or self._text(run[first]) != encoded:
                continue
            last = bisect_right(run, encoded, first, key=self._text)
            ids = np.unique(self.owners[begin + first : begin + last])
            hits += ids[ids > after].tolist()
            if len(hits) >= limit:
                break
        return hits[:limit]

    def _text(self, place: int) -> bytes:
        return self.content[self.offsets[place] : self.offsets[place + 1]].tobytes()


def write_index(folder: Path, parts: Iterable[tuple[int, pa.Array]]) -> None:
    """Write the arrays of an index into a folder, one file per array.

    `parts` are pairs of the first id of a part and its texts or lists of texts. Only one part at a time is in memory.
    """
    with ExitStack() as files:
        writers = {
            name: files.enter_context(closing(ArrayWriter(folder / f"{name}.npy", dtype)))
            for name, dtype in _ARRAYS.items()
        }
        texts = size = 0
        for first, column in parts:
            lengths, content, owners = _sort_texts(column)
            ends = size + np.cumsum(lengths)
            writers["starts"].append(np.array([texts]))
            writers["offsets"].append(ends - lengths)
            writers["content"].append(content)
            writers["owners"].append(first + owners)
            texts += len(lengths)
            size += len(content)
        writers["starts"].append(np.array([texts]))
        writers["offsets"].append(np.array([size]))


def _sort_texts(column: pa.Array) -> tuple[Int64, NDArray[np.uint8], Int64]:
    """Sort the texts of a part.

    Returns:
        The lengths of the texts, their concatenated bytes, and the row of each text.
    """
    rows = np.arange(len(column))
    if pa.types.is_list(column.type):
        rows = pc.list_parent_indices(column).to_numpy()
        column = column.flatten()
    order = pc.sort_indices(column).to_numpy()[: len(column) - column.null_count]  # nulls are last
    texts = column.take(pa.array(order)).cast(pa.large_binary())
    lengths = pc.binary_length(texts).to_numpy()
    content = texts.buffers()[2]
    whole = np.frombuffer(content, np.uint8, int(lengths.sum())) if content is not None else np.empty(0, np.uint8)
    return lengths, whole, rows[order]
