"""The generation id: a content hash that is the same in every store (docs/develop/architecture.md)."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from graphkin.protocol.manifest import Provenance
from graphkin.store.columns import texts
from graphkin.store.records import Links, UInt64

BLOCK_SIZE = 4096
"""The number of items in one block of an item table. The last block may have fewer."""
DIGEST_SIZE = 32
"""The number of bytes of the hash of a block."""
_NO_LENGTH = pa.scalar(-1, pa.int32())


def content_digest(content: str, seed: int) -> bytes:
    """Return a seeded 128-bit hash of the content of an item.

    It identifies the item when duplicates collapse, and ranks items of equal similarity.
    """
    return content_digests([content], seed)


def content_digests(contents: Iterable[str], seed: int) -> bytes:
    """Return the `content_digest` of each content, concatenated."""
    seeded_hash = hashlib.blake2b(digest_size=16, salt=seed.to_bytes(16, "little"))
    digests = []
    for content in contents:
        item_hash = seeded_hash.copy()
        item_hash.update(content.encode())
        digests.append(item_hash.digest())
    return b"".join(digests)


def tie_ranks(digests: bytes | NDArray[Any]) -> UInt64:
    """Return the numbers that order items of equal similarity, (N,) uint64.

    The number of an item is the first half of its digest.

    Args:
        digests: The `content_digest` of each item, concatenated.
    """
    return np.frombuffer(digests, "<u8")[::2].copy()


class BlockHasher:
    """Computes the SHA-256 of each block of an item table, whose rows are added one batch after the other.

    The hash of a block depends only on its own rows. So parts that begin at a multiple of `BLOCK_SIZE` can be hashed
    separately, and appended rows leave the full blocks before them unchanged. Two different blocks never feed the same
    bytes to the hash.
    """

    def __init__(self) -> None:
        self._blocks: list[bytes] = []
        self._pending: list[pa.RecordBatch] = []
        self._rows = 0

    def update(self, items: pa.RecordBatch) -> None:
        """Add the next rows, in id order."""
        start = 0
        while start < items.num_rows:
            part = items.slice(start, BLOCK_SIZE - self._rows)
            self._pending.append(part)
            self._rows += part.num_rows
            start += part.num_rows
            if self._rows == BLOCK_SIZE:
                self._blocks.append(_digest(self._pending))
                self._pending, self._rows = [], 0

    @property
    def blocks(self) -> list[bytes]:
        """The SHA-256 of each block so far, including a last block that is not full."""
        return [*self._blocks, _digest(self._pending)] if self._pending else self._blocks


def block_count(items: int) -> int:
    """Return the number of blocks of an item table, including a last block that is not full."""
    return -(-items // BLOCK_SIZE)


def generation_id(provenance: Provenance, blocks: Sequence[bytes]) -> str:
    """Return the generation id: 64 hexadecimal digits.

    It is the SHA-256 of the recipe, the versions of the libraries that describe and compare items, the types of the
    properties, the blocks of the item table, the big graph whose nodes the items are, if there is one, and the way in
    which an append merges values of duplicates, unless it keeps the first.
    """
    content = {
        "recipe": provenance.recipe,
        "libraries": {name: provenance.versions[name] for name in provenance.libraries},
        "properties": provenance.properties,
        "items": hashlib.sha256(b"".join(blocks)).hexdigest(),
        **({} if provenance.links is None else {"links": provenance.links}),
        **({} if provenance.duplicates == "first" else {"duplicates": provenance.duplicates}),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def links_digest(links: Links) -> str:
    """Return the digest of a big graph: 64 hexadecimal digits."""
    digest = hashlib.sha256(links.indptr.astype("<i8").tobytes())
    digest.update(links.indices.astype("<i4").tobytes())
    return digest.hexdigest()


def _digest(parts: Sequence[pa.RecordBatch]) -> bytes:
    """Return the SHA-256 of one block.

    Columns without any value in these rows are left out, so that a new property does not change earlier blocks.
    """
    (rows,) = pa.Table.from_batches(parts).combine_chunks().to_batches()
    block = hashlib.sha256(rows.num_rows.to_bytes(8, "little"))
    for name in sorted(rows.schema.names):
        column = rows.column(name)
        if column.null_count == len(column):
            continue
        for stream in _streams(column):
            block.update(hashlib.sha256(stream).digest())
        block.update(hashlib.sha256(name.encode()).digest())
    return block.digest()


def _streams(column: pa.Array) -> list[Any]:
    """Return the byte streams of a column: the lengths of the values (-1 for null), then their bytes.

    For a list column the number of values per row comes first.
    """
    if pa.types.is_list(column.type):
        return [np.asarray(column.value_lengths(), dtype="<i4"), *_streams(column.flatten())]
    values = texts(column)
    lengths = pc.coalesce(pc.binary_length(values), _NO_LENGTH)
    return [np.asarray(lengths, dtype="<i4"), _bytes(values.drop_null())]


def _bytes(values: pa.StringArray) -> memoryview:
    if not len(values):
        return memoryview(b"")
    _, offsets, text = values.buffers()
    ends = np.frombuffer(offsets, np.int32)[values.offset : values.offset + len(values) + 1]
    return memoryview(text)[ends[0] : ends[-1]]
