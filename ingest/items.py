"""The item table: distinct items in order of first appearance, with every source name and typed properties."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import and_
from typing import Any, Literal, TypeVar

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


@dataclass(frozen=True)
class Written:
    """How the values of a property are written: all as numbers, all of those in the shortest way."""

    numeric: bool
    shortest: bool

    def __and__(self, other: "Written") -> "Written":
        return Written(self.numeric and other.numeric, self.shortest and other.shortest)


@dataclass(frozen=True)
class Properties:
    """What the properties of items are called, of which types they are, and which keep their texts beside numbers."""

    computed: Sequence[str]
    found: Mapping[str, Written]
    """By their names in the source."""

    @classmethod
    def of(cls, computed: Sequence[str], kept: pa.Table) -> "Properties":
        """Of items as they were parsed; `computed` are columns of theirs that become numeric properties."""
        return cls(computed, {name: _written(texts) for name, texts in _source_columns(kept["properties"])})

    def __and__(self, other: "Properties") -> "Properties":
        """Of the items of both."""
        names = sorted({*self.found, *other.found})
        both = {name: [each.found[name] for each in (self, other) if name in each.found] for name in names}
        return Properties(self.computed, {name: reduce(and_, found) for name, found in both.items()})

    @cached_property
    def given(self) -> dict[str, str]:
        """What each is called that the source has given, by its name there."""
        taken, called = set(self.computed), {}
        for name in sorted(self.found):
            given = name
            while given in taken:
                given = f"source.{given}"
            taken.add(given)
            called[name] = given
        return called

    @property
    def types(self) -> dict[str, PropertyType]:
        """By name, in order."""
        types: dict[str, PropertyType] = dict.fromkeys(self.computed, "number")
        for name, given in self.given.items():
            types[given] = "number" if self.found[name].numeric else "text"
        return dict(sorted(types.items()))

    @property
    def written(self) -> list[str]:
        """Numbers that are not written the shortest way everywhere."""
        return [given for name, given in self.given.items() if self._texts_too(self.found[name])]

    @staticmethod
    def _texts_too(written: Written) -> bool:
        return written.numeric and not written.shortest

    def table(self, kept: pa.Table, names: pa.Array) -> pa.Table:
        """The item table of distinct items as they were parsed, each with all its names."""
        none = pa.nulls(len(kept), pa.string())
        identity = [kept[name] if name in kept.column_names else none for name in _IDENTITY]
        columns: dict[str, Any] = {name: kept[name].cast(pa.float64()) for name in self.computed}
        texts = dict(_source_columns(kept["properties"]))
        for name, given in self.given.items():
            columns[given] = _column(texts.get(name, none), self.found[name])
        called = titles(columns)
        ordered = [(name, columns[name]) for name in sorted(columns)]
        fields = [pa.field(called[name], values.type) for name, values in ordered]
        return pa.table([*identity, names, *(values for _, values in ordered)], pa.schema([*ITEM_SCHEMA, *fields]))


@dataclass
class ItemTable:
    """Collects parsed items, collapses equal digests, and yields the item table; `computed` are columns of theirs that
    become numeric properties."""

    computed: Sequence[str]
    read: int = 0
    rejected: int = 0
    properties: Properties = field(default_factory=lambda: Properties((), {}))
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
        item_of, first = collapse(items["digest"])
        names = names_of(items["name"], item_of, len(first))
        kept = items.take(pa.array(first))
        described = describe(kept)
        self.properties = Properties.of(self.computed, kept)
        return described, map(rebased, self.properties.table(kept, names).to_batches(max_chunksize=_BATCH))


def rebased(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Offsets of texts count from this batch's first."""
    return batch.take(pa.array(np.arange(batch.num_rows)))


def collapse(digests: pa.ChunkedArray) -> tuple[Int64, Int64]:
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


def names_of(names: pa.ChunkedArray, item_of: Int64, items: int) -> pa.ListArray:
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


def _written(texts: pa.Array) -> Written:
    numbers = _numbers(texts)
    return Written(numbers is not None, numbers is not None and numbers.cast(pa.string()).equals(texts))


def _column(texts: pa.Array, written: Written) -> pa.Array:
    if not written.numeric:
        return texts
    numbers = _numbers(texts)
    if written.shortest:
        return numbers
    return pa.StructArray.from_arrays([numbers, texts], ["number", "text"], mask=texts.is_null())


def _numbers(texts: pa.Array) -> pa.Array | None:
    """The values as doubles, if each is a finite number."""
    bare = pc.utf8_trim_whitespace(texts)
    if not pc.all(pc.match_substring_regex(bare, _NUMBER), min_count=0).as_py():
        return None
    numbers = pc.utf8_ltrim(bare, "+").cast(pa.float64())
    return numbers if pc.all(pc.is_finite(numbers), min_count=0).as_py() else None
