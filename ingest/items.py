"""The item table: distinct items in order of first appearance, with every source name and typed properties."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphkin.ingest.parsing import Parsed
from graphkin.similarity.columns import fixed_width
from graphkin.store.columns import ITEM_SCHEMA, titles
from graphkin.store.records import Int64

PropertyType = Literal["number", "text"]
Described = TypeVar("Described")

_IDENTITY = ("smiles", "structure", "inchikey")
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_BATCH = 4096


@dataclass
class ItemTable:
    """Collects parsed items, collapses equal digests, and yields the item table; `computed` are columns of theirs that
    become numeric properties. `written`: numbers that are not written the shortest way everywhere; `names`: how many
    names the items have."""

    computed: Sequence[str]
    read: int = 0
    rejected: int = 0
    names: int = 0
    property_types: dict[str, PropertyType] = field(default_factory=dict)
    written: list[str] = field(default_factory=list)
    _batches: list[pa.RecordBatch] = field(default_factory=list)

    def add(self, parsed: Parsed) -> None:
        self.read += parsed.items.num_rows + parsed.rejections.num_rows
        self.rejected += parsed.rejections.num_rows
        if parsed.items.num_rows:
            self._batches.append(parsed.items)

    def finish(self, describe: Callable[[pa.Table], Described]) -> tuple[Described, Iterator[pa.RecordBatch]]:
        """What is made of the distinct items as they were parsed, and their item table in batches. At least one must
        have been kept."""
        items = pa.Table.from_batches(self._batches)
        self._batches = []
        item_of, first = _collapse(items["digest"])
        names = _names(items["name"], item_of, len(first))
        self.names = len(names.values)
        kept = items.take(pa.array(first))
        described = describe(kept)
        none = pa.nulls(len(kept), pa.string())
        identity = [kept[name] if name in kept.column_names else none for name in _IDENTITY]
        properties = self._properties(kept)
        called = titles(properties)
        fields = [pa.field(called[name], values.type) for name, values in properties.items()]
        table = pa.table([*identity, names, *properties.values()], pa.schema([*ITEM_SCHEMA, *fields]))
        return described, map(_rebased, table.to_batches(max_chunksize=_BATCH))

    def _properties(self, kept: pa.Table) -> dict[str, pa.ChunkedArray | pa.Array]:
        """A column each, by name. One is numeric if every value is; the text of a number is kept if need be."""
        columns: dict[str, pa.ChunkedArray | pa.Array] = {name: kept[name].cast(pa.float64()) for name in self.computed}
        self.property_types = dict.fromkeys(self.computed, "number")
        for name, texts in _source_columns(kept["properties"]):
            given = name
            while given in columns:
                given = f"source.{given}"
            numbers = _numbers(texts)
            self.property_types[given] = "text" if numbers is None else "number"
            if numbers is None:
                columns[given] = texts
            elif numbers.cast(pa.string()).equals(texts):
                columns[given] = numbers
            else:
                columns[given] = pa.StructArray.from_arrays([numbers, texts], ["number", "text"], mask=texts.is_null())
                self.written.append(given)
        self.property_types = dict(sorted(self.property_types.items()))
        return {name: columns[name] for name in self.property_types}


def _rebased(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Offsets of texts count from this batch's first."""
    return batch.take(pa.array(np.arange(batch.num_rows)))


def _collapse(digests: pa.ChunkedArray) -> tuple[Int64, Int64]:
    """item id of each record, and the first record of each item; ids follow first appearance."""
    halves = fixed_width(digests, "<u8").reshape(-1, 2)
    order = np.lexsort((halves[:, 1], halves[:, 0]))  # stable: the first of a group is its first appearance
    ordered = halves[order]
    starts = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    first = order[starts]
    appearance = np.argsort(first)
    rank = np.empty(len(first), np.int64)
    rank[appearance] = np.arange(len(first))
    item_of = np.empty(len(order), np.int64)
    item_of[order] = rank[np.cumsum(starts) - 1]
    return item_of, first[appearance]


def _names(names: pa.ChunkedArray, item_of: Int64, items: int) -> pa.ListArray:
    """Per item its distinct names in order of appearance."""
    encoded = names.combine_chunks().dictionary_encode()
    named = np.flatnonzero(np.asarray(encoded.is_valid()))
    codes = np.asarray(encoded.indices.drop_null())
    pairs = item_of[named] * max(len(encoded.dictionary), 1) + codes
    _, once = np.unique(pairs, return_index=True)
    once = np.sort(once)
    owner = item_of[named][once]
    by_item = np.argsort(owner, kind="stable")
    offsets = np.zeros(items + 1, np.int32)
    np.cumsum(np.bincount(owner, minlength=items), out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), encoded.dictionary.take(pa.array(codes[once][by_item])))


def _source_columns(properties: pa.ChunkedArray) -> Iterator[tuple[str, pa.Array]]:
    """The readers' key/value pairs as one nullable text column a key, in key order."""
    pairs = properties.combine_chunks()
    rows = np.repeat(np.arange(len(pairs)), np.diff(np.asarray(pairs.offsets)))
    keys = pairs.keys.dictionary_encode()
    codes = np.asarray(keys.indices)
    for code, key in sorted(enumerate(keys.dictionary.to_pylist()), key=lambda pair: pair[1]):
        chosen = np.flatnonzero(codes == code)
        picked = np.full(len(pairs), -1, np.int64)
        picked[rows[chosen]] = chosen
        yield key, pairs.items.take(pa.array(picked, mask=picked < 0))


def _numbers(texts: pa.Array) -> pa.Array | None:
    """The values as doubles, if each is a finite number."""
    bare = pc.utf8_trim_whitespace(texts)
    if not pc.all(pc.match_substring_regex(bare, _NUMBER)).as_py():
        return None
    numbers = pc.utf8_ltrim(bare, "+").cast(pa.float64())
    return numbers if pc.all(pc.is_finite(numbers)).as_py() else None
