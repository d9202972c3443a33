"""The item table: what its columns are called, of which types they are, and what one row of it says.

After the columns that every item has comes one for each property. A number is a double; where the source did not write
every number of a property in the shortest way, the texts of the source stand beside the numbers.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphkin.protocol.manifest import Provenance
from graphkin.store.records import Int32

ITEM_SCHEMA = pa.schema(
    [
        pa.field("smiles", pa.string()),  # canonical; null for graphs
        pa.field("structure", pa.string()),  # a graph as JSON (num_nodes, edges [[u, v], ...], labels); else null
        pa.field("inchikey", pa.string()),  # null unless the recipe asked for it
        pa.field("names", pa.list_(pa.string()), nullable=False),  # distinct, in order of appearance
    ]
)
"""What every item has, in id order: the row number is the id."""

ID = pa.field("id", pa.int32(), nullable=False)

WRITTEN_NUMBER = pa.struct([("number", pa.float64()), ("text", pa.string())])
"""A number, and how the source wrote it. A missing marker has a text and no number; a censored number has a text that
begins with its sign (`CENSORED`)."""

CENSORED = r"^\s*(?P<sign>>=|<=|[><~≥≤])\s*"
"""The sign of a censored number: its value is at least, at most or about the number."""

_ASCII_SIGNS = {"≥": ">=", "≤": "<="}

_MOST = 1e15  # whole numbers below are printed as such


def distinct(names: Iterable[str], taken: Iterable[str]) -> dict[str, str]:
    """What each of `names` is called beside columns that are `taken`: as it is, or with `property.` in front."""
    used = set(taken)
    titles = {}
    for name in sorted(names):
        title = name or "unnamed"
        while title in used:
            title = f"property.{title}"
        used.add(title)
        titles[name] = title
    return titles


def titles(properties: Iterable[str]) -> dict[str, str]:
    """The column of each property, in the order of the item table: that of their names."""
    return distinct(sorted(properties), [ID.name, *ITEM_SCHEMA.names])


class Shown(NamedTuple):
    """A column that readers see: a property, or the signs of one with censored numbers (`is_qualifier`).

    name: its key among the properties of an item. stored: the column of the item table that it is read from.
    """

    name: str
    stored: str
    kind: Literal["number", "text"]
    is_qualifier: bool = False

    def values(self, column: pa.Array) -> pa.Array:
        """The numbers or texts of a stored column."""
        return _signs(column) if self.is_qualifier else numbers(column)

    def texts(self, column: pa.Array) -> pa.Array:
        """The values of a stored column as the source wrote them, numbers without the sign of a censored one."""
        if self.is_qualifier:
            return _signs(column)
        if not pa.types.is_struct(column.type):
            return texts(column)
        unsigned = pc.replace_substring_regex(texts(column), pattern=CENSORED, replacement="")
        return pc.if_else(numbers(column).is_valid(), unsigned, pa.scalar(None, unsigned.type))


def shown_types(provenance: Provenance) -> dict[str, Literal["number", "text"]]:
    """The type of each property, and of the qualifiers of each that has them, which come after it."""
    types: dict[str, Literal["number", "text"]] = {}
    for name, kind in provenance.properties.items():
        types[name] = kind
        if name in provenance.qualifiers:
            types[provenance.qualifiers[name]] = "text"
    return types


def shown(provenance: Provenance) -> dict[str, Shown]:
    """The columns that readers see, by their titles."""
    stored, types = titles(provenance.properties), shown_types(provenance)
    qualified = {qualifier: name for name, qualifier in provenance.qualifiers.items()}
    return {
        title: Shown(name, stored[qualified.get(name, name)], types[name], is_qualifier=name in qualified)
        for name, title in titles(types).items()
    }


def _signs(column: pa.Array) -> pa.Array:
    """The signs of censored numbers, null for others."""
    if not pa.types.is_struct(column.type):
        return pa.nulls(len(column), pa.string())
    signs = pc.struct_field(pc.extract_regex(texts(column), CENSORED), "sign").cast(pa.string())
    for sign, plain in _ASCII_SIGNS.items():
        signs = pc.replace_substring(signs, sign, plain)
    return pc.if_else(numbers(column).is_valid(), signs, pa.scalar(None, pa.string()))


def item_schema(provenance: Provenance) -> pa.Schema:
    """The columns of a generation's items, properties by name."""
    types = {
        name: pa.string() if kind == "text" else WRITTEN_NUMBER if name in provenance.written else pa.float64()
        for name, kind in provenance.properties.items()
    }
    return pa.schema([*ITEM_SCHEMA, *((title, types[name]) for name, title in titles(types).items())])


def numbers(column: pa.Array) -> pa.Array:
    """The numbers of a column that has them, null where an item has none."""
    return pc.struct_field(column, "number") if pa.types.is_struct(column.type) else column


def texts(column: pa.Array) -> pa.Array:
    """The values of a property as the source wrote them; of a number that was computed, its shortest text."""
    return pc.struct_field(column, "text") if pa.types.is_struct(column.type) else column.cast(pa.string())


def recast(items: pa.RecordBatch, own: Iterable[str], properties: Iterable[str], schema: pa.Schema) -> pa.RecordBatch:
    """Items that have the properties `own` as rows of a table of more, `properties`, of which this is the schema.

    A property that was a number and is a text now, or is kept as the source wrote it too, is written the shortest way:
    else its text would have stood beside it before. One that was a text and is a number now had missing markers alone.
    What there was not is null.
    """
    called, before = titles(properties), titles(own)
    column_of = {name: name for name in ITEM_SCHEMA.names} | {called[name]: title for name, title in before.items()}
    columns = [
        _recast(items[column_of[each.name]], each.type)
        if each.name in column_of
        else pa.nulls(items.num_rows, each.type)
        for each in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _recast(column: pa.Array, type: pa.DataType) -> pa.Array:
    if column.type == type:
        return column
    if pa.types.is_struct(type):
        text_type = type.field("text").type
        if not pa.types.is_floating(column.type):  # missing markers alone
            known = pa.nulls(len(column), pa.float64())
            return pa.StructArray.from_arrays([known, column.cast(text_type)], type.names, mask=column.is_null())
        return pa.StructArray.from_arrays([column, column.cast(text_type)], type.names, mask=column.is_null())
    return pc.struct_field(column, "text") if pa.types.is_struct(column.type) else column.cast(type)


def grown(
    parts: Sequence[tuple[Sequence[str], pa.RecordBatch]], added_names: Sequence[pa.RecordBatch], provenance: Provenance
) -> pa.RecordBatch:
    """One item table of several, each with the properties that it has, one after the other; `added_names`
    (`ADDED_NAMES`): those that came, in turn."""
    schema = widened(item_schema(provenance))
    items = pa.concat_batches([recast(part, own, provenance.properties, schema) for own, part in parts])
    names, added = items["names"], pa.concat_batches(added_names)
    lengths, owners = np.asarray(names.value_lengths()), repeated_ids(added)
    ends, by_owner = np.cumsum(lengths), np.argsort(owners, kind="stable")
    texts = pa.concat_arrays([names.flatten(), added["names"].flatten()])
    order = np.insert(np.arange(ends[-1]), ends[owners[by_owner]], ends[-1] + by_owner)
    offsets = np.append(0, np.cumsum(lengths + np.bincount(owners, minlength=len(lengths))))
    longer = pa.LargeListArray.from_arrays(pa.array(offsets), texts.take(pa.array(order)))
    place = schema.get_field_index("names")
    return items.set_column(place, schema.field(place), longer)


def repeated_ids(added: pa.RecordBatch) -> Int32:
    """(names,) whose each of some added names is."""
    return np.repeat(added["id"].to_numpy(), np.asarray(added["names"].value_lengths()))


def one_batch(table: pa.Table) -> pa.RecordBatch:
    """All rows in one, texts with offsets of 64 bits: those of a whole column may have more than 2 GB."""
    wide = widened(table.schema)
    return pa.concat_batches(table.cast(wide).to_batches() or [pa.RecordBatch.from_pylist([], schema=wide)])


def widened(schema: pa.Schema) -> pa.Schema:
    """The columns of a table on the disk."""
    return pa.schema([each.with_type(_widened(each.type)) for each in schema])


def narrowed(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Some rows as they were appended, texts with offsets of 32 bits."""
    fields = [each.with_type(_narrowed(each.type)) for each in batch.schema]
    columns = zip(batch.columns, fields, strict=True)
    narrow = [column if column.type == each.type else column.cast(each.type) for column, each in columns]
    return pa.RecordBatch.from_arrays(narrow, schema=pa.schema(fields))


def _widened(type: pa.DataType) -> pa.DataType:
    if pa.types.is_list(type):
        return pa.large_list(_widened(type.value_type))
    if pa.types.is_struct(type):
        return pa.struct([each.with_type(_widened(each.type)) for each in type])
    return pa.large_string() if pa.types.is_string(type) else type


def _narrowed(type: pa.DataType) -> pa.DataType:
    if pa.types.is_large_list(type):
        return pa.list_(_narrowed(type.value_type))
    if pa.types.is_struct(type):
        return pa.struct([each.with_type(_narrowed(each.type)) for each in type])
    return pa.string() if pa.types.is_large_string(type) else type


def values(column: pa.Array) -> list[Any]:
    """The values of a property: whole numbers as int, others as float, texts as str; None where an item has none."""
    return [_plain(value) for value in numbers(column).to_pylist()]


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < _MOST else value
    return _plain(value["number"]) if isinstance(value, dict) else value


def properties(names: Sequence[str], row: Iterable[Any], qualifiers: Mapping[str, str]) -> dict[str, Any]:
    """The properties that an item has, from its values in the columns of `names`; of censored numbers their signs,
    too, by what `qualifiers` calls them."""
    own: dict[str, Any] = {}
    for name, value in zip(names, row, strict=True):
        plain = _plain(value)
        if plain is None:
            continue
        own[name] = plain
        if name in qualifiers and (censored := re.match(CENSORED, value["text"])):
            sign = censored["sign"]
            own[qualifiers[name]] = _ASCII_SIGNS.get(sign, sign)
    return own
