"""Items as nodes: what a column of the item table is called as a property of theirs, there and back.

The names are those of the columns, so that a Cypher user finds them: a number is `molwt`, and what the source wrote, if
it is kept, `molwt.text`.
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from graphkin.store.columns import ID, ITEM_SCHEMA, distinct, texts, values
from graphkin.store.identity import content_digest

RESERVED = ("graph", "id", *ITEM_SCHEMA.names, "digest", "fingerprint", "dropped", "name")
"""Properties of a node that are ours."""

_CAPTION = 1000  # characters of one that is no name

_LONGEST = 1000  # characters of a name; the server takes no more than 16,383 bytes


class Keys:
    """Which properties of a node hold the columns of a schema. Of names that are taken, `property.` stands in front;
    of long ones the beginning is kept, and a hash."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        own = [name for name in schema.names if name not in (ID.name, *ITEM_SCHEMA.names)]
        shortened = {name: _shortened(name) for name in own}
        called = distinct(shortened.values(), RESERVED)
        self._values = {name: called[shortened[name]] for name in own}
        written = {each.name: f"{self._values[each.name]}.text" for each in schema if pa.types.is_struct(each.type)}
        beside = distinct(written.values(), [*RESERVED, *self._values.values()])
        self._texts = {name: beside[key] for name, key in written.items()}

    def of(self, name: str) -> list[str]:
        """The properties that hold a column: one, or the number and its text."""
        return [self._values.get(name, name), *([self._texts[name]] if name in self._texts else [])]

    def all(self, names: Sequence[str]) -> list[str]:
        """Those of some columns, in order; `id` is none."""
        return [key for name in names if name != ID.name for key in self.of(name)]

    def nodes(self, items: pa.RecordBatch) -> list[dict[str, Any]]:
        """The properties of a node for each row, those that it has."""
        columns: dict[str, list[Any]] = {}
        for name in items.schema.names:
            column = items[name]
            if name in ITEM_SCHEMA.names:
                columns[name] = column.to_pylist()
            else:
                number, *text = self.of(name)
                columns[number] = values(column)
                columns |= {key: texts(column).to_pylist() for key in text}
        rows = zip(*columns.values(), strict=True)
        return [{key: v for key, v in zip(columns, row, strict=True) if v is not None} for row in rows]

    def table(self, names: Sequence[str], ids: Sequence[int], rows: Sequence[Sequence[Any]]) -> pa.RecordBatch:
        """The columns, `id` among them or not, of nodes that hold `rows`, the values of `all` of them."""
        held = iter(zip(*rows, strict=True) if rows else [()] * len(self.all(names)))
        columns, fields = [], []
        for name in names:
            each = ID if name == ID.name else self.schema.field(name)
            given = [ids] if name == ID.name else [next(held) for _ in self.of(name)]
            columns.append(_column(each, given))
            fields.append(each)
        return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def caption(names: Sequence[str], structure: str | None) -> str:
    """What people see an item as: its first name, or else what it is, of which the beginning will do."""
    return next(filter(None, names), (structure or "")[:_CAPTION])


def _column(of: pa.Field, held: list[Any]) -> pa.Array:
    if pa.types.is_list(of.type):
        return pa.array([own or [] for own in held[0]], of.type)  # `neo4j-admin` cannot tell no name from none
    if pa.types.is_struct(of.type):
        children = [pa.array(each, child.type) for each, child in zip(held, of.type, strict=True)]
        return pa.StructArray.from_arrays(children, fields=list(of.type), mask=children[1].is_null())
    return pa.array(held[0], of.type)


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…{content_digest(name, 0).hex()}"
