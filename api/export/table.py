"""Items as rows: which of them, what they are compared with, and what their columns are called."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import pyarrow as pa

from graphkin.store.base import Generation
from graphkin.store.columns import distinct, texts, titles
from graphkin.store.records import Float32, Int32, shortest

_RESERVED = ("id", "smiles", "structure", "names", "inchikey")
_JSON = json.JSONEncoder(ensure_ascii=False)


class Column(NamedTuple):
    """One exported property: `title` is what it is called in the export, `name` its column in the store."""

    title: str
    name: str
    kind: Literal["number", "text"]


@dataclass(frozen=True)
class Comparison:
    """A structure that exported items are compared with: its SMILES; the id of the item with the same structure, if one
    is stored; and `similarity`, which gives (n,) float32 in [0, 1] for the items with (n,) ids."""

    smiles: str
    stored: int | None
    similarity: Callable[[Int32], Float32]


@dataclass(frozen=True)
class ItemTable:
    """The items in id order, or those of `ids` in their order. With a comparison each has its similarity."""

    generation: Generation
    ids: Int32 | None = None
    comparison: Comparison | None = None

    @property
    def titles(self) -> list[str]:
        """The columns before the properties."""
        return [*self._stored, *(["similarity"] if self.comparison else [])]

    @property
    def _stored(self) -> list[str]:
        manifest = self.generation.manifest
        return ["id", manifest.structure, "names", *(["inchikey"] if manifest.recipe.get("inchikey") else [])]

    @property
    def properties(self) -> list[Column]:
        """The properties by name, each with a title of its own."""
        stored = titles(self.generation.manifest.properties)
        called = distinct(stored.values(), {*_RESERVED, *self.titles})
        kinds = self.generation.manifest.properties
        return [Column(called[column], column, kinds[name]) for name, column in stored.items()]

    def batches(self) -> Iterator[tuple[list[pa.Array], list[pa.Array]]]:
        """A batch of items at a time: the columns of `titles`, and those of `properties` as the store has them."""
        for batch in self.generation.scan(self.ids):
            columns = [batch[title] for title in self._stored]
            if self.comparison is not None:
                columns.append(pa.array(self.comparison.similarity(batch["id"].to_numpy())))
            yield columns, [batch[column.name] for column in self.properties]

    def rows(self) -> Iterator[list[list[Any]]]:
        """Batches of rows: the values of `titles`, and those of `properties` as they are written; None for none."""
        for columns, properties in self.batches():
            held = [column.to_pylist() for column in columns]
            if self.comparison is not None:
                held[-1] = shortest(columns[-1].to_numpy())
            yield [list(row) for row in zip(*held, *(texts(each).to_pylist() for each in properties), strict=True)]


def text(value: Any) -> str:
    """A value as text: strings as they are, numbers as JSON, names joined by `; `."""
    if isinstance(value, list):
        return "; ".join(value)
    return value if isinstance(value, str) else _JSON.encode(value)
