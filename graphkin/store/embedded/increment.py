"""Increments: what a fragment adds to the earlier fragments of its generation.

An increment is one file, `increment.arrow`, of consecutive Arrow streams. More files would exceed the limit on open
files sooner, because a generation keeps the files of all its fragments open.
"""

import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from io import BufferedReader
from pathlib import Path

import pyarrow as pa

from graphkin.protocol.errors import StoreDamaged
from graphkin.store import csr
from graphkin.store.embedded.fragment import FragmentFiles
from graphkin.store.identity import DIGEST_SIZE, block_count
from graphkin.store.records import EDGE_SCHEMA, Change, Edges, Int32, UInt64

INCREMENT = "increment.arrow"

_DROPPED = pa.schema([("id", pa.int32()), ("dropped", pa.int32())])
_WORDS = pa.schema([("word", pa.uint64())])
_BLOCKS = pa.schema([("block", pa.binary(DIGEST_SIZE))])


@dataclass(frozen=True)
class Increment:
    """The content of a fragment after the first.

    Attributes:
        items: The new items, with 64-bit offsets.
        names: New names of older items (`ADDED_NAMES`), with 64-bit offsets.
        rejections: The new rejected records, with 64-bit offsets.
        words: (n, W) uint64 fingerprints of the new items.
        edges: The change of the similarity graph.
        forest: The change of the spanning forest.
        ids: (c,) int32 items whose number of truncated pairs differs from the previous generation.
        dropped: (c,) int32 number of truncated pairs of these items.
        blocks: The hashes of the blocks of the whole item table.
    """

    items: pa.RecordBatch
    names: pa.RecordBatch
    rejections: pa.RecordBatch
    words: UInt64
    edges: Change
    forest: Change
    ids: Int32
    dropped: Int32
    blocks: Sequence[bytes]

    def write(self, path: Path) -> None:
        """Write the streams into a new file."""
        words = pa.record_batch([self.words.reshape(-1)], schema=_WORDS)
        dropped = pa.record_batch([self.ids, self.dropped], schema=_DROPPED)
        changes = (self.edges.removed, self.edges.added, self.forest.removed, self.forest.added)
        edges = (pa.record_batch([*vars(each).values()], schema=EDGE_SCHEMA) for each in changes)
        blocks = pa.record_batch([self.blocks], schema=_BLOCKS)
        with path.open("wb") as file:
            for batch in (self.items, self.names, self.rejections, words, dropped, *edges, blocks):
                with pa.ipc.new_stream(file, batch.schema) as stream:
                    stream.write_batch(batch)

    @classmethod
    def read(cls, file: BufferedReader, width: int) -> "Increment":
        """Map a file.

        Raises:
            ValueError: The file is not an intact increment, or its fingerprints do not have `width` words.
        """
        try:
            mapped = pa.BufferReader(pa.py_buffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)))
            table, names, rejections, words, dropped, *edges = (_batch(mapped) for _ in range(9))
            blocks = _blocks(mapped)
        except (pa.ArrowException, OSError, StopIteration) as error:
            raise ValueError(f"not a complete increment: {error}") from error
        columns = ([column.to_numpy() for column in batch.columns] for batch in (words, dropped, *edges))
        (words,), (ids, counts), *changes = columns
        removed, added, forest_removed, forest_added = (Edges(*change) for change in changes)
        return cls(
            table, names, rejections, words.reshape(table.num_rows, width), Change(removed, added),
            Change(forest_removed, forest_added), ids, counts, blocks,
        )  # fmt: skip


def _batch(mapped: pa.BufferReader) -> pa.RecordBatch:
    (batch,) = pa.ipc.open_stream(mapped)
    batch.validate()
    return batch


def _blocks(mapped: pa.BufferReader) -> list[bytes]:
    batch = _batch(mapped)
    if batch.schema != _BLOCKS:
        raise ValueError(f"hashes of blocks as {batch.schema.to_string()}")
    blocks: list[bytes] = batch["block"].to_pylist()
    return blocks


class IncrementFragment:
    """A fragment after the first, checked at its first use.

    Every method raises `StoreDamaged` for a file that differs from what was written or does not fit the manifest.

    Args:
        files: The files of the fragment.
        offset: The number of items of the earlier fragments, which is the first id of this one.
        width: The number of words of a fingerprint.
    """

    def __init__(self, files: FragmentFiles, offset: int, width: int) -> None:
        self._files = files
        self.fragment = files.fragment
        self.offset = offset
        self._width = width
        files.require_names([INCREMENT])

    def damage_error(self, problem: str) -> StoreDamaged:
        """Return the error for a damaged increment, and remember the damage."""
        return self._files.damage_error(INCREMENT, problem)

    @cached_property
    def content(self) -> Increment:
        """The increment, after a check of its file."""
        self._files.require(INCREMENT)
        try:
            increment = Increment.read(self._files.file(INCREMENT), self._width)
        except ValueError as error:
            raise self.damage_error(str(error)) from error
        problem = self._problem(increment)
        if problem is not None:
            raise self.damage_error(problem)
        return increment

    def _problem(self, increment: Increment) -> str | None:
        """Return the first value that is out of range or differs from the manifest, as an error text, or None."""
        expected = (self.fragment.items, self.fragment.rejected, self.fragment.edges)
        if (increment.items.num_rows, increment.rejections.num_rows, len(increment.edges.added)) != expected:
            return "its numbers of rows differ from the manifest's"
        named_ids, items = increment.names["id"].to_numpy(), self.offset + self.fragment.items
        if not ((named_ids >= 0) & (named_ids < self.offset)).all():
            return "it adds names to items that do not exist"
        if not ((increment.ids >= 0) & (increment.ids < items)).all() or (increment.dropped < 0).any():
            return "it counts truncated pairs of items that do not exist, or has a negative count"
        if len(increment.blocks) != block_count(items):
            return "its number of item blocks differs from the manifest's"
        for change in (increment.edges, increment.forest):
            for edges in (change.removed, change.added):
                problem = csr.edges_flaw(edges, items)
                if problem is not None:
                    return problem
        return None
