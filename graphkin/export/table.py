"""The items and columns of an export, read in batches."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Self

import pyarrow as pa

from graphkin.protocol.descriptors import is_computed
from graphkin.protocol.errors import InvalidInput, suggest
from graphkin.store.base import Generation
from graphkin.store.columns import VisibleColumn, computed_titles, find_column, unique_titles, visible_columns
from graphkin.store.computed import DescriptorValues, read_columns
from graphkin.store.records import Float32, Int32, to_decimal_floats

_RESERVED = ("id", "smiles", "structure", "names", "inchikey")
_JSON = json.JSONEncoder(ensure_ascii=False)


class Column(NamedTuple):
    """An exported property, or the signs of its censored numbers (such as `>` in `> 10`).

    Attributes:
        title: Title of the column in the export.
        source: The property, or its signs, in the item table.
    """

    title: str
    source: VisibleColumn

    @property
    def kind(self) -> Literal["number", "text"]:
        return self.source.kind


@dataclass(frozen=True)
class Comparison:
    """A structure that exported items are compared with.

    Attributes:
        smiles: SMILES of the structure.
        item_id: The id of the item with the same structure, or None.
        similarity: Returns the similarities to the items with ids (n,) int32, as (n,) float32 in [0, 1].
    """

    smiles: str
    item_id: int | None
    similarity: Callable[[Int32], Float32]


@dataclass(frozen=True)
class ItemTable:
    """The items and columns to export.

    Attributes:
        generation: The generation to read.
        ids: Ids of the items, in the order of the export; default: all items, in id order.
        comparison: A structure to compare each item with. It adds the column similarity.
        columns: Titles of the exported columns; default: all.
        start: First id; ignored if `ids` is set.
        stop: Id to stop before; ignored if `ids` is set; default: the number of items.
        descriptor: Returns the values of a molecular descriptor. Without it, no descriptor can be exported.

    Raises:
        InvalidInput: A title in `columns` does not exist. The error lists the titles.
    """

    generation: Generation
    ids: Int32 | None = None
    comparison: Comparison | None = None
    columns: Sequence[str] | None = None
    start: int = 0
    stop: int | None = None
    descriptor: DescriptorValues | None = None

    def __post_init__(self) -> None:
        offered = [*self._all_titles, *(column.title for column in self._source_columns)]
        exported = {*offered, *(column.title for column in self._computed_columns)}
        offered += [] if self.descriptor is None else computed_titles(self.generation.manifest)
        if unknown := [title for title in self.columns or () if title not in exported]:
            raise InvalidInput(
                "items have no column of this name",
                given=unknown[0],
                expected=f"one of {', '.join(offered)}",
                hint=suggest(unknown[0], offered, "use one of the accepted columns"),
            )

    def including(self, *titles: str) -> Self:
        """Return a table that also exports the columns with these titles."""
        return self if self.columns is None else replace(self, columns=[*titles, *self.columns])

    @property
    def titles(self) -> list[str]:
        """The titles of the exported columns before the properties."""
        return [title for title in self._all_titles if self._includes(title)]

    @property
    def properties(self) -> list[Column]:
        """The exported properties, ordered by name, with unique titles. Computed columns follow, in requested order."""
        source = [column for column in self._source_columns if self._includes(column.title)]
        return [*source, *self._computed_columns]

    def _includes(self, title: str) -> bool:
        return self.columns is None or title in self.columns

    @property
    def _all_titles(self) -> list[str]:
        return [*self._stored_titles, *(["similarity"] if self.comparison else [])]

    @property
    def _stored_titles(self) -> list[str]:
        manifest = self.generation.manifest
        return ["id", manifest.structure, "names", *(["inchikey"] if manifest.recipe.get("inchikey") else [])]

    @property
    def _source_columns(self) -> list[Column]:
        columns = visible_columns(self.generation.manifest)
        titles = unique_titles(columns, {*_RESERVED, *self._all_titles})
        return [Column(titles[title], column) for title, column in columns.items()]

    @property
    def _computed_columns(self) -> list[Column]:
        """The requested descriptors and activities. They are exported only if `columns` names them."""
        titles = dict.fromkeys(filter(is_computed, self.columns or ()))
        columns = ((title, find_column(self.generation.manifest, title)) for title in titles)
        return [
            Column(title, column)
            for title, column in columns
            if column is not None and (self.descriptor is not None or not column.is_descriptor)
        ]

    def batches(self) -> Iterator[tuple[list[pa.Array], list[pa.Array]]]:
        """Yield batches of items.

        A batch is two lists: the columns of `titles`, and the stored columns of `properties`.
        """
        stored, sources = [*filter(self._includes, self._stored_titles)], [column.source for column in self.properties]
        selection = self.ids, self.start, self.stop
        batches = read_columns(self.generation, ["id", *stored], sources, self.descriptor, *selection)
        for (ids, *columns), properties in batches:
            if "similarity" in self.titles and self.comparison is not None:
                columns.append(pa.array(self.comparison.similarity(ids.to_numpy())))
            yield columns, properties

    def rows(self) -> Iterator[list[list[Any]]]:
        """Yield batches of rows.

        A row holds the values of `titles`, then those of `properties` as text. Missing values are None.
        """
        for columns, properties in self.batches():
            values = [column.to_pylist() for column in columns]
            if "similarity" in self.titles:
                values[-1] = to_decimal_floats(columns[-1].to_numpy())
            stored_properties = zip(self.properties, properties, strict=True)
            texts = [column.source.texts(stored).to_pylist() for column, stored in stored_properties]
            yield [list(row) for row in zip(*values, *texts, strict=True)]


def text(value: Any) -> str:
    """Return a value as text. Strings are unchanged, numbers are written as in JSON, lists are joined by `; `."""
    if isinstance(value, list):
        return "; ".join(value)
    return value if isinstance(value, str) else _JSON.encode(value)
