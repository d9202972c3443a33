"""The item table: names, types and values of its columns.

The first columns are common to all items (`ITEM_SCHEMA`). They are followed by one column per property. Numbers are
float64. If the source wrote any number of a property differently from its shortest decimal text, such as 1.50 for 1.5,
the column stores every number together with its text in the source (`NUMBER_WITH_TEXT`).
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphkin.protocol.descriptors import DESCRIPTORS, MOLAR_DIGITS, Activity, ActivityName, MolarUnit, is_computed
from graphkin.protocol.manifest import Provenance
from graphkin.store.records import Int32

ITEM_SCHEMA = pa.schema(
    [
        pa.field("smiles", pa.string()),  # canonical; null for graphs
        pa.field("structure", pa.string()),  # a graph as JSON (num_nodes, edges [[u, v], ...], labels); else null
        pa.field("inchikey", pa.string()),  # null unless the recipe includes it
        pa.field("names", pa.list_(pa.string()), nullable=False),  # distinct, in order of appearance
    ]
)
"""The columns that every item has. The row number is the item id."""

ID = pa.field("id", pa.int32(), nullable=False)

NUMBER_WITH_TEXT = pa.struct([("number", pa.float64()), ("text", pa.string())])
"""A number and its text in the source.

A marker of a missing value, such as "n/a", has a text and no number. The text of a censored number, such as ">10000",
begins with a comparison sign (`CENSORED_SIGN`).
"""

CENSORED_SIGN = r"^\s*(?P<sign>>=|<=|[><~≥≤])\s*"
"""The regular expression for the comparison sign of a censored number.

The value written as ">10000" is only known to exceed 10000. Other signs mean at least, below, at most or about.
"""

_ASCII_SIGNS = {"≥": ">=", "≤": "<="}

_INT_BOUND = 1e15  # whole numbers below this bound become int


def unique_titles(
    names: Iterable[str],
    reserved: Iterable[str],
    prefix: str = "property.",
    stem: Callable[[str], str] = lambda name: name,
) -> dict[str, str]:
    """Return a column title for each name. The titles differ from each other and from the `reserved` titles.

    The title is the stem of the name, by default the name itself. It gets the prefix if it is already the title of
    another column.
    """
    titles_in_use = set(reserved)
    titles = {}
    for name in sorted(names):
        title = stem(name) or "unnamed"
        while title in titles_in_use:
            title = prefix + title
        titles_in_use.add(title)
        titles[name] = title
    return titles


def titles(properties: Iterable[str]) -> dict[str, str]:
    """Return the column title of each property, ordered by property name as in the item table."""
    return unique_titles(sorted(properties), [ID.name, *ITEM_SCHEMA.names])


class VisibleColumn(NamedTuple):
    """A column as users see it, in filters and exports.

    It is a property, the signs of its censored numbers, its negative logarithm, or a molecular descriptor.

    Attributes:
        name: The key of the column among the properties of an item. A computed column has its title.
        stored: The title of the column in the item table that holds the data, or the name of the descriptor.
        kind: The type of the values.
        is_qualifier: Whether the column holds the signs of censored numbers.
        unit: The unit of the stored numbers, if the values are their negative logarithms.
        is_descriptor: Whether the values are a molecular descriptor, which no item table holds.
    """

    name: str
    stored: str
    kind: Literal["number", "text"]
    is_qualifier: bool = False
    unit: MolarUnit | None = None
    is_descriptor: bool = False

    def values(self, column: pa.Array) -> pa.Array:
        """Return the numbers or texts of a stored column."""
        if self.unit is not None:
            return negative_logarithms(numbers(column), self.unit)
        return _signs(column) if self.is_qualifier else numbers(column)

    def texts(self, column: pa.Array) -> pa.Array:
        """Return the values of a stored column as the source wrote them, without the signs of censored numbers."""
        if self.is_qualifier or self.unit is not None:
            return self.values(column).cast(pa.string())
        if not pa.types.is_struct(column.type):
            return texts(column)
        unsigned = pc.replace_substring_regex(texts(column), pattern=CENSORED_SIGN, replacement="")
        return pc.if_else(numbers(column).is_valid(), unsigned, pa.scalar(None, unsigned.type))


def visible_types(provenance: Provenance) -> dict[str, Literal["number", "text"]]:
    """Return the type of each property and qualifier. A qualifier follows its property.

    The qualifier of a property is the column of the signs of its censored numbers.
    """
    types: dict[str, Literal["number", "text"]] = {}
    for name, kind in provenance.properties.items():
        types[name] = kind
        if name in provenance.qualifiers:
            types[provenance.qualifiers[name]] = "text"
    return types


def visible_columns(provenance: Provenance) -> dict[str, VisibleColumn]:
    """Return the columns from the source that users see, by title: properties and their qualifiers.

    A property whose name has the form of a computed column gets the prefix `property.`.
    """
    stored, types = titles(provenance.properties), visible_types(provenance)
    property_names = {qualifier: name for name, qualifier in provenance.qualifiers.items()}
    return {
        title: VisibleColumn(
            name, stored[property_names.get(name, name)], types[name], is_qualifier=name in property_names
        )
        for name, title in unique_titles(types, [ID.name, *ITEM_SCHEMA.names, *filter(is_computed, types)]).items()
    }


def find_column(provenance: Provenance, title: str) -> VisibleColumn | None:
    """Return the column with a title, from the source or computed, or None if there is none."""
    if title in DESCRIPTORS:
        is_molecule = provenance.structure == "smiles"
        return VisibleColumn(title, title, "number", is_descriptor=True) if is_molecule else None
    columns = visible_columns(provenance)
    activity = ActivityName.from_text(title)
    if activity is None:
        return columns.get(title)
    source = columns.get(activity.source)
    if source is None or source.kind != "number":
        return None
    return VisibleColumn(title, source.stored, "number", unit=activity.unit)


def column_titles(provenance: Provenance) -> list[str]:
    """Return the titles of all columns: those from the source, then the computed ones."""
    return [*visible_columns(provenance), *computed_titles(provenance)]


def computed_titles(provenance: Provenance) -> list[str]:
    """Return the titles of descriptors, and of the activities whose source column names its unit."""
    descriptors = DESCRIPTORS if provenance.structure == "smiles" else ()
    return [*descriptors, *(each.name for each in activities(provenance))]


def activities(provenance: Provenance) -> list[Activity]:
    """Return the activities of the numeric columns whose names contain a unit, ordered by name."""
    numeric = (title for title, column in visible_columns(provenance).items() if column.kind == "number")
    return [Activity.from_name(name) for name in map(ActivityName.from_source, numeric) if name is not None]


def negative_logarithms(concentrations: pa.Array, unit: MolarUnit) -> pa.Array:
    """Return the negative decimal logarithms of concentrations in mol/L, such as pIC50.

    Args:
        concentrations: (n,) float64 concentrations in `unit`.
        unit: The unit.

    Returns:
        (n,) float64, null for concentrations that are null, zero or negative.
    """
    positive = pc.if_else(pc.greater(concentrations, 0.0), concentrations, pa.scalar(None, pa.float64()))
    return pc.subtract(float(MOLAR_DIGITS[unit]), pc.log10(positive))


def _signs(column: pa.Array) -> pa.Array:
    """Return the signs of censored numbers, null for other values."""
    if not pa.types.is_struct(column.type):
        return pa.nulls(len(column), pa.string())
    signs = pc.struct_field(pc.extract_regex(texts(column), CENSORED_SIGN), "sign").cast(pa.string())
    for sign, ascii_sign in _ASCII_SIGNS.items():
        signs = pc.replace_substring(signs, sign, ascii_sign)
    return pc.if_else(numbers(column).is_valid(), signs, pa.scalar(None, pa.string()))


def item_schema(provenance: Provenance) -> pa.Schema:
    """Return the schema of the item table of a generation. The properties are ordered by name."""
    types = {
        name: pa.string() if kind == "text" else NUMBER_WITH_TEXT if name in provenance.written else pa.float64()
        for name, kind in provenance.properties.items()
    }
    return pa.schema([*ITEM_SCHEMA, *((title, types[name]) for name, title in titles(types).items())])


def numbers(column: pa.Array) -> pa.Array:
    """Return the numbers of a numeric column, null where an item has none. A text column is returned unchanged."""
    return pc.struct_field(column, "number") if pa.types.is_struct(column.type) else column


def texts(column: pa.Array) -> pa.Array:
    """Return the values of a property as the source wrote them.

    A number without a stored text becomes its shortest text.
    """
    return pc.struct_field(column, "text") if pa.types.is_struct(column.type) else column.cast(pa.string())


def convert_items(
    items: pa.RecordBatch, old_properties: Iterable[str], properties: Iterable[str], schema: pa.Schema
) -> pa.RecordBatch:
    """Convert items with the properties `old_properties` to rows of a table with other properties.

    If a property changes from numbers to texts, or to numbers with texts, each number gets its shortest text. The
    source wrote the number in this form: otherwise, the items would store its text already. If a property changes from
    texts to numbers, all its texts are markers of missing values, because any other text would have made it a text
    property. Columns that the items lack become null.

    Args:
        items: The items.
        old_properties: The properties of the items.
        properties: The properties of the table, which include those of the items.
        schema: The schema of the table.
    """
    new_titles, old_titles = titles(properties), titles(old_properties)
    source_columns = {name: name for name in ITEM_SCHEMA.names} | {
        new_titles[name]: title for name, title in old_titles.items()
    }
    columns = [
        _convert_column(items[source_columns[field.name]], field.type)
        if field.name in source_columns
        else pa.nulls(items.num_rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _convert_column(column: pa.Array, type: pa.DataType) -> pa.Array:
    if column.type == type:
        return column
    if pa.types.is_struct(type):
        text_type = type.field("text").type
        if not pa.types.is_floating(column.type):  # all texts are markers of missing values
            nulls = pa.nulls(len(column), pa.float64())
            return pa.StructArray.from_arrays([nulls, column.cast(text_type)], type.names, mask=column.is_null())
        return pa.StructArray.from_arrays([column, column.cast(text_type)], type.names, mask=column.is_null())
    return pc.struct_field(column, "text") if pa.types.is_struct(column.type) else column.cast(type)


def merge_item_tables(
    parts: Sequence[tuple[Sequence[str], pa.RecordBatch]], added_names: Sequence[pa.RecordBatch], provenance: Provenance
) -> pa.RecordBatch:
    """Return the item table of a generation that was extended by appends.

    Args:
        parts: The property names and the rows of each part, in id order.
        added_names: Names to append to items (`ADDED_NAMES`), in the order of appending.
        provenance: The provenance of the whole generation.
    """
    schema = widen_offsets(item_schema(provenance))
    items = pa.concat_batches(
        [convert_items(part, part_properties, provenance.properties, schema) for part_properties, part in parts]
    )
    names, additions = items["names"], pa.concat_batches(added_names)
    lengths, owners = np.asarray(names.value_lengths()), owner_ids(additions)
    ends, by_owner = np.cumsum(lengths), np.argsort(owners, kind="stable")
    texts = pa.concat_arrays([names.flatten(), additions["names"].flatten()])
    # The added names of an item follow the names it already has.
    order = np.insert(np.arange(ends[-1]), ends[owners[by_owner]], ends[-1] + by_owner)
    offsets = np.append(0, np.cumsum(lengths + np.bincount(owners, minlength=len(lengths))))
    all_names = pa.LargeListArray.from_arrays(pa.array(offsets), texts.take(pa.array(order)))
    position = schema.get_field_index("names")
    return items.set_column(position, schema.field(position), all_names)


def owner_ids(added_names: pa.RecordBatch) -> Int32:
    """Return the item id of each added name, (names,) int32."""
    return np.repeat(added_names["id"].to_numpy(), np.asarray(added_names["names"].value_lengths()))


def to_one_batch(table: pa.Table) -> pa.RecordBatch:
    """Return all rows of a table as one batch. Its texts have 64-bit offsets, because a column may exceed 2 GB."""
    schema = widen_offsets(table.schema)
    return pa.concat_batches(table.cast(schema).to_batches() or [pa.RecordBatch.from_pylist([], schema=schema)])


def widen_offsets(schema: pa.Schema) -> pa.Schema:
    """Return a schema with 64-bit offsets, as in the tables on disk."""
    return pa.schema([each.with_type(_widen(each.type)) for each in schema])


def narrow_offsets(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows with 32-bit offsets, as in `item_schema`."""
    fields = [each.with_type(_narrow(each.type)) for each in batch.schema]
    columns = zip(batch.columns, fields, strict=True)
    narrow = [column if column.type == each.type else column.cast(each.type) for column, each in columns]
    return pa.RecordBatch.from_arrays(narrow, schema=pa.schema(fields))


def _widen(type: pa.DataType) -> pa.DataType:
    if pa.types.is_list(type):
        return pa.large_list(_widen(type.value_type))
    if pa.types.is_struct(type):
        return pa.struct([each.with_type(_widen(each.type)) for each in type])
    return pa.large_string() if pa.types.is_string(type) else type


def _narrow(type: pa.DataType) -> pa.DataType:
    if pa.types.is_large_list(type):
        return pa.list_(_narrow(type.value_type))
    if pa.types.is_struct(type):
        return pa.struct([each.with_type(_narrow(each.type)) for each in type])
    return pa.string() if pa.types.is_large_string(type) else type


def values(column: pa.Array) -> list[Any]:
    """Return the values of a property.

    Whole numbers become int, other numbers float and texts str. None stands for an item without a value.
    """
    return [_to_python(value) for value in numbers(column).to_pylist()]


def _to_python(value: Any) -> Any:
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < _INT_BOUND else value
    return _to_python(value["number"]) if isinstance(value, dict) else value


def properties(names: Sequence[str], row: Iterable[Any], qualifiers: Mapping[str, str]) -> dict[str, Any]:
    """Return the properties of one item from its values in the columns `names`.

    For a censored number, the result also holds its sign, under the name that `qualifiers` maps the property to.
    """
    result: dict[str, Any] = {}
    for name, value in zip(names, row, strict=True):
        python_value = _to_python(value)
        if python_value is None:
            continue
        result[name] = python_value
        if name in qualifiers and (match := re.match(CENSORED_SIGN, value["text"])):
            sign = match["sign"]
            result[qualifiers[name]] = _ASCII_SIGNS.get(sign, sign)
    return result
