"""The generation id: a content hash that is the same in every store (design.md, "Decided meanings")."""

import hashlib
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from graphkin.store.records import ITEM_SCHEMA, UInt64


def content_digest(content: str, seed: int) -> bytes:
    """A seeded 128-bit hash of an item: its identity while duplicates collapse, its rank among equals."""
    return hashlib.blake2b(content.encode(), digest_size=16, salt=seed.to_bytes(16, "little")).digest()


def tie_of(digests: bytes | NDArray[Any]) -> UInt64:
    """(N,) what ranks items among equals: the first half of each of their digests, given one after the other."""
    return np.frombuffer(digests, "<u8")[::2].copy()


class ContentHash:
    """SHA-256 over recipe, RDKit version and the item table in id order, fed batch by batch.

    Each column contributes two streams, the lengths of its values and their bytes, so the result does not depend on
    where the batches end, and no two different tables feed the same bytes.
    """

    def __init__(self) -> None:
        self._rows = 0
        self._streams = {name: (hashlib.sha256(), hashlib.sha256()) for name in [*ITEM_SCHEMA.names, "names.count"]}

    def update(self, items: pa.RecordBatch) -> None:
        """Feed the next rows of the item table (`ITEM_SCHEMA`)."""
        self._rows += items.num_rows
        for name in ("smiles", "structure", "inchikey", "properties"):
            self._feed(name, items.column(name))
        names = items.column("names")
        self._streams["names.count"][0].update(np.asarray(names.value_lengths(), dtype="<i4").tobytes())
        self._feed("names", names.flatten())

    def _feed(self, name: str, values: pa.StringArray) -> None:
        lengths, data = self._streams[name]
        sizes = pc.binary_length(values.cast(pa.binary())).fill_null(-1)
        lengths.update(np.asarray(sizes, dtype="<i4").tobytes())
        present = values.drop_null()
        if len(present):
            _, offsets, text = present.buffers()
            ends = np.frombuffer(offsets, np.int32)[present.offset : present.offset + len(present) + 1]
            data.update(memoryview(text)[ends[0] : ends[-1]])

    def hexdigest(self, recipe: dict[str, Any], rdkit: str | None) -> str:
        """The id: 64 hexadecimal digits. `rdkit` None: RDKit took no part."""
        table = {name: [stream.hexdigest() for stream in pair] for name, pair in sorted(self._streams.items())}
        content = {"recipe": recipe, "rdkit": rdkit, "rows": self._rows, "items": table}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
