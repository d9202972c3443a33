"""Items as rows: which of them, what they are compared with, and what their columns are called."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Self

import pyarrow as pa

from graphkin.protocol.errors import InvalidInput
from graphkin.store.base import Generation
from graphkin.store.columns import Shown, shown, unique_titles
from graphkin.store.records import Float32, Int32, shortest

_RESERVED = ("id", "smiles", "structure", "names", "inchikey")
_JSON = json.JSONEncoder(ensure_ascii=False)


class Column(NamedTuple):
    """One exported property, or the qualifiers of one: `title` is what it is called in the export."""

    title: str
    shown: Shown

    @property
    def kind(self) -> Literal["number", "text"]:
        return self.shown.kind


@dataclass(frozen=True)
class Comparison:
    """A structure that exported items are compared with: its SMILES; the id of the item with the same structure, if one
    is stored; and `similarity`, which gives (n,) float32 in [0, 1] for the items with (n,) ids."""

    smiles: str
    stored: int | None
    similarity: Callable[[Int32], Float32]


@dataclass(frozen=True)
class ItemTable:
    """The items in id order, or those of `ids` in their order. With a comparison each has its similarity.

    Of the columns only those called as `columns` says, of the items in id order only `start` to `stop` - 1; by default
    all. Raises `InvalidInput` for a column that there is not.
    """

    generation: Generation
    ids: Int32 | None = None
    comparison: Comparison | None = None
    columns: Sequence[str] | None = None
    start: int = 0
    stop: int | None = None

    def __post_init__(self) -> None:
        offered = [*self._fixed, *(column.title for column in self._own)]
        if unknown := [title for title in self.columns or () if title not in offered]:
            raise InvalidInput("items have no such column", given=unknown[0], expected=f"one of {', '.join(offered)}")

    def including(self, *titles: str) -> Self:
        """The same with these columns, too."""
        return self if self.columns is None else replace(self, columns=[*titles, *self.columns])

    @property
    def titles(self) -> list[str]:
        """The columns before the properties."""
        return [title for title in self._fixed if self._shows(title)]

    @property
    def properties(self) -> list[Column]:
        """The properties by name, each with a title of its own."""
        return [column for column in self._own if self._shows(column.title)]

    def _shows(self, title: str) -> bool:
        return self.columns is None or title in self.columns

    @property
    def _fixed(self) -> list[str]:
        return [*self._stored, *(["similarity"] if self.comparison else [])]

    @property
    def _stored(self) -> list[str]:
        manifest = self.generation.manifest
        return ["id", manifest.structure, "names", *(["inchikey"] if manifest.recipe.get("inchikey") else [])]

    @property
    def _own(self) -> list[Column]:
        columns = shown(self.generation.manifest)
        called = unique_titles(columns, {*_RESERVED, *self._fixed})
        return [Column(called[title], column) for title, column in columns.items()]

    def batches(self) -> Iterator[tuple[list[pa.Array], list[pa.Array]]]:
        """A batch of items at a time: the columns of `titles`, and those of `properties` as the store has them."""
        stored, properties = [*filter(self._shows, self._stored)], self.properties
        for batch in self._read([*stored, *(column.shown.stored for column in properties)]):
            columns = [batch[title] for title in stored]
            if "similarity" in self.titles and self.comparison is not None:
                columns.append(pa.array(self.comparison.similarity(batch["id"].to_numpy())))
            yield columns, [batch[column.shown.stored] for column in properties]

    def _read(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        wanted = [*dict.fromkeys(["id", *names])]
        if self.ids is not None:
            return self.generation.scan(self.ids, wanted)
        return self.generation.columns(wanted, self.start, self.stop)

    def rows(self) -> Iterator[list[list[Any]]]:
        """Batches of rows: the values of `titles`, and those of `properties` as they are written; None for none."""
        for columns, properties in self.batches():
            held = [column.to_pylist() for column in columns]
            if "similarity" in self.titles:
                held[-1] = shortest(columns[-1].to_numpy())
            written = zip(self.properties, properties, strict=True)
            own = [column.shown.texts(stored).to_pylist() for column, stored in written]
            yield [list(row) for row in zip(*held, *own, strict=True)]


def text(value: Any) -> str:
    """A value as text: strings as they are, numbers as JSON, names joined by `; `."""
    if isinstance(value, list):
        return "; ".join(value)
    return value if isinstance(value, str) else _JSON.encode(value)
