"""Items as rows: which of them, what they are compared with, and what their columns are called."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from graphkin.store.base import Generation
from graphkin.store.records import Float32, Int32, shortest

_RESERVED = ("id", "smiles", "structure", "names", "inchikey")
_JSON = json.JSONEncoder(ensure_ascii=False)


class Column(NamedTuple):
    """One exported property: `title` is what it is called in the export, `name` in the store."""

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
        taken = {*_RESERVED, *self.titles}
        columns = []
        for name, kind in sorted(self.generation.manifest.properties.items()):
            title = name or "unnamed"
            while title in taken:
                title = f"property.{title}"
            taken.add(title)
            columns.append(Column(title, name, kind))
        return columns

    def rows(self) -> Iterator[list[list[Any]]]:
        """Batches of rows: the values of `titles` and `properties`, None where an item has none."""
        names = [column.name for column in self.properties]
        for batch in self.generation.scan(self.ids):
            columns = [batch[title].to_pylist() for title in self._stored]
            if self.comparison is not None:
                columns.append(shortest(self.comparison.similarity(np.asarray(batch["id"]))))
            properties = map(json.loads, batch["properties"].to_pylist())
            yield [[*row, *map(own.get, names)] for *row, own in zip(*columns, properties, strict=True)]


def text(value: Any) -> str:
    """A value as text: strings as they are, numbers as JSON, names joined by `; `."""
    if isinstance(value, list):
        return "; ".join(value)
    return value if isinstance(value, str) else _JSON.encode(value)
