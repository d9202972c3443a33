"""Items as nodes: the node properties that hold the columns of the item table.

A node property has the name of its column, so that Cypher users recognize it. The number of a property `molwt` is
`molwt`, and its text in the source, if stored, is `molwt_text`.
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from graphkin.protocol.manifest import Manifest
from graphkin.protocol.values import Kind
from graphkin.store.columns import ID, ITEM_SCHEMA, item_schema, texts, unique_titles, values
from graphkin.store.identity import content_digest

RESERVED = ("graph", "id", *ITEM_SCHEMA.names, "long_smiles", "name")
"""The node properties that graphkin itself uses."""

MAX_INDEXED = 8_000  # bytes
"""The longest SMILES in the property `smiles`, whose index accepts little more. A longer one is in `long_smiles`."""

_PREFIX = "property_"  # of a property whose name is in use
_DOTTED = ("property.", "source.")  # prefixes of columns. A name without a dot needs no backticks in Cypher.

_CAPTION = 1000  # characters, because an index accepts no long text

_MAX_NAME = 1000  # characters of a property name; the server accepts at most 16,383 bytes


class NodeProperties:
    """The node properties that hold the columns of a schema.

    A name that is in use gets the prefix `property_`. A long name is cut, and a hash of the whole name follows.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        property_columns = [name for name in schema.names if name not in (ID.name, *ITEM_SCHEMA.names)]
        self._values = unique_titles(property_columns, RESERVED, _PREFIX, _stem)
        text_keys = {each.name: f"{self._values[each.name]}_text" for each in schema if pa.types.is_struct(each.type)}
        text_titles = unique_titles(text_keys.values(), [*RESERVED, *self._values.values()], _PREFIX)
        self._texts = {name: text_titles[key] for name, key in text_keys.items()}

    def for_column(self, name: str) -> list[str]:
        """Return the properties that hold a column.

        A column of SMILES has one for short and one for long texts. A column of numbers with their texts has one for
        numbers and one for texts. Any other column has one property.
        """
        if name == "smiles":
            return ["smiles", "long_smiles"]
        return [self._values.get(name, name), *([self._texts[name]] if name in self._texts else [])]

    def for_columns(self, names: Sequence[str]) -> list[str]:
        """Return the properties that hold some columns, in order. `id` has none."""
        return [key for name in names if name != ID.name for key in self.for_column(name)]

    def to_nodes(self, items: pa.RecordBatch) -> list[dict[str, Any]]:
        """Return the properties of a node for each row, without missing values."""
        columns: dict[str, list[Any]] = {}
        for name in items.schema.names:
            column = items[name]
            if name == "smiles":
                columns |= zip(self.for_column(name), split_smiles(column.to_pylist()), strict=True)
            elif name in ITEM_SCHEMA.names:
                columns[name] = column.to_pylist()
            else:
                number, *text = self.for_column(name)
                columns[number] = values(column)
                columns |= {key: texts(column).to_pylist() for key in text}
        rows = zip(*columns.values(), strict=True)
        return [{key: v for key, v in zip(columns, row, strict=True) if v is not None} for row in rows]

    def table(self, names: Sequence[str], ids: Sequence[int], rows: Sequence[Sequence[Any]]) -> pa.RecordBatch:
        """Return rows of the item table from nodes.

        Args:
            names: The columns, which may include `id`.
            ids: The item id of each node.
            rows: The values of each node, for the properties `self.for_columns(names)`.
        """
        values = iter(zip(*rows, strict=True) if rows else [()] * len(self.for_columns(names)))
        columns, fields = [], []
        for name in names:
            field = ID if name == ID.name else self.schema.field(name)
            parts = [ids] if name == ID.name else [next(values) for _ in self.for_column(name)]
            columns.append(_column(field, parts))
            fields.append(field)
        return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def property_keys(manifest: Manifest) -> list[str]:
    """Return the node properties that hold the columns of the items of a generation."""
    schema = item_schema(manifest)
    return NodeProperties(schema).for_columns(schema.names)


def split_smiles(smiles: Sequence[str | None]) -> tuple[list[str | None], list[str | None]]:
    """Return the SMILES that the index accepts, and those that are too long for it, each with None at other places."""
    is_long = [text is not None and len(text.encode()) > MAX_INDEXED for text in smiles]
    return (
        [None if long else text for text, long in zip(smiles, is_long, strict=True)],
        [text if long else None for text, long in zip(smiles, is_long, strict=True)],
    )


def entity_key(kind: Kind, names: Sequence[str], structure: str | None) -> str | None:
    """Return the text that identifies the entity of an item, or None if nothing does.

    It is the structure. The nodes of a network, of which several may have the same subgraph, have their name instead.
    """
    return next(iter(names), None) if kind == "node" else structure


def caption(names: Sequence[str], structure: str | None) -> str:
    """Return the text that identifies an item to people: the start of its first name, or else of its structure."""
    return next(filter(None, names), structure or "")[:_CAPTION]


def _column(field: pa.Field, values: list[Any]) -> pa.Array:
    if field.name == "smiles":
        return pc.coalesce(*(pa.array(each, field.type) for each in values))
    if pa.types.is_list(field.type):
        # `neo4j-admin` imports an empty list as a missing one.
        return pa.array([names or [] for names in values[0]], field.type)
    if pa.types.is_struct(field.type):
        children = [pa.array(each, child.type) for each, child in zip(values, field.type, strict=True)]
        return pa.StructArray.from_arrays(children, fields=list(field.type), mask=children[1].is_null())
    return pa.array(values[0], field.type)


def _stem(name: str) -> str:
    """Return the name of the node property of a column, unless it is in use."""
    for prefix in _DOTTED:
        if name.startswith(prefix):
            name = prefix.replace(".", "_") + name.removeprefix(prefix)
    return name if len(name) <= _MAX_NAME else f"{name[:_MAX_NAME]}…{content_digest(name, 0).hex()}"
