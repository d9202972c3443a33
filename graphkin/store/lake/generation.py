"""Read the generation of a lake."""

import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graphkin.protocol.errors import Damage, StoreDamaged
from graphkin.runtime.files import write_array
from graphkin.store import csr
from graphkin.store.base import Field
from graphkin.store.columns import ID, item_schema
from graphkin.store.identity import links_digest
from graphkin.store.lake.files import LakeFiles
from graphkin.store.lake.layout import Group, Lake, Part
from graphkin.store.lake.texts import TextIndex, write_index
from graphkin.store.mapped import MappedGeneration
from graphkin.store.records import Edges, Fingerprints, Graph, Int32, Int64, Links

_PAGE = 4096
_COLUMNS: dict[Field, str] = {"smiles": "smiles", "name": "names", "inchikey": "inchikey"}


class LakeGeneration(MappedGeneration):
    """A generation whose arrays are mapped from the cache of this machine.

    Items are read part by part, as needed. The first `find` on a column creates an index of all its texts, which stays
    in the cache.
    """

    def __init__(self, lake: Lake, files: LakeFiles) -> None:
        self.collection = lake.collection
        self.manifest = lake.manifest
        self._lake = lake
        self._files = files
        self._indexes: dict[Field, TextIndex] = {}
        self._mutex = threading.Lock()
        self._schema = pa.schema([ID, *item_schema(lake.manifest)])
        rows = [part.rows for part in files.parts("items")]
        self._starts: Int64 = np.cumsum([0, *rows])
        if self._starts[-1] != self.size:
            raise files.damage_error("items", f"{self._starts[-1]} rows do not fit the manifest")

    @property
    def damage(self) -> Damage | None:
        return self._files.damage

    def scrub(self, again: bool = False) -> Iterator[str]:  # noqa: ARG002
        for part in self._lake.all_parts():
            self._problem(part)
            yield part.name

    def _problem(self, part: Part) -> str | None:
        try:
            self._files.fetch(part)
        except StoreDamaged as error:
            return error.damage.problem
        return None

    def _page(self, ids: Sequence[int]) -> Iterator[Sequence[Any]]:
        rows = np.array(ids, np.int32)
        indptr, dropped = self.graph().indptr, self.dropped()
        degrees = indptr[rows + 1] - indptr[rows]
        truncated = [None] * len(ids) if dropped is None else dropped[rows].tolist()
        columns = self.take(rows, self._schema.names[1:]).columns
        return zip(degrees.tolist(), truncated, *(column.to_pylist() for column in columns), strict=True)

    def columns(self, names: Sequence[str], start: int = 0, stop: int | None = None) -> Iterator[pa.RecordBatch]:
        self._require_columns(names)
        ids = self._require_range(start, stop)
        return self._batches(names, ids)

    def _batches(self, names: Sequence[str], ids: range) -> Iterator[pa.RecordBatch]:
        for part, first in zip(self._files.parts("items"), self._starts.tolist(), strict=False):
            begin, end = max(ids.start - first, 0), min(ids.stop - first, part.rows)
            for start in range(begin, end, _PAGE):
                table = self._rows(part, names)
                yield _single_batch(table.slice(start, min(_PAGE, end - start)))

    def take(self, ids: Int32, names: Sequence[str] | None = None) -> pa.RecordBatch:
        columns = self._all_columns if names is None else names
        self._require_columns(columns)
        if len(ids):
            self._require_ids(int(ids.min()), int(ids.max()))
        owners = np.searchsorted(self._starts, ids, side="right") - 1
        order = np.argsort(owners, kind="stable")
        tables = [pa.schema([self._schema.field(name) for name in columns]).empty_table()]
        for number in np.unique(owners).tolist():
            rows = self._rows(self._files.parts("items")[number], columns)
            tables.append(rows.take(pa.array(ids[order][owners[order] == number] - self._starts[number])))
        inverse = np.empty(len(ids), np.int64)
        inverse[order] = np.arange(len(ids))
        return _single_batch(pa.concat_tables(tables).take(pa.array(inverse)))

    def _rows(self, part: Part, names: Sequence[str]) -> pa.Table:
        """Return columns of a part of the item table, with the types of `item_schema`."""
        fields = [self._schema.field(name) for name in names]
        columns = [self._files.column(part, name) for name in names]
        for field, column in zip(fields, columns, strict=True):
            if column.type != field.type or len(column) != part.rows:
                raise self._files.damage_error(part.name, f"its column {field.name!r} is not what the manifest says")
        return pa.table(columns, schema=pa.schema(fields))

    def find(self, field: Field, value: str, after: int = -1, limit: int = 1000) -> list[int]:
        self._require_field(field, value)
        with self._mutex:
            if field not in self._indexes:
                self._indexes[field] = self._build_text_index(_COLUMNS[field])
        return self._indexes[field].find(value, after, limit)

    def _build_text_index(self, column: str) -> TextIndex:
        parts = (
            (first, self._rows(part, [column]).column(0).combine_chunks())
            for part, first in zip(self._files.parts("items"), self._starts.tolist(), strict=False)
        )
        return TextIndex(
            **self._files.computed_arrays(f"texts of {column}", "items", lambda folder: write_index(folder, parts))
        )

    def rejections(self, begin: int = 0) -> Iterator[pa.RecordBatch]:
        for part in self._files.parts("rejections"):
            if begin < part.rows:
                table = self._files.table(part).slice(begin).combine_chunks()
                yield from table.to_batches(max_chunksize=_PAGE)
            begin = max(begin - part.rows, 0)

    def graph(self) -> Graph:
        return self._graph

    @cached_property
    def _graph(self) -> Graph:
        graph = Graph(*(self._files.array(group) for group in ("indptr", "indices", "similarity")))
        ends = 2 * self.manifest.edges
        for group, size in (("indptr", self.size + 1), ("indices", ends), ("similarity", ends)):
            if len(getattr(graph, group)) != size:
                raise self._files.damage_error(f"graph/{group}", "its size does not fit the manifest")
        flaw = csr.flaw(graph)
        if flaw is not None:
            raise self._files.damage_error(f"graph/{flaw[0]}", flaw[1])
        return graph

    def dropped(self) -> Int32 | None:
        return self._dropped

    @cached_property
    def _dropped(self) -> Int32 | None:
        if self.manifest.dropped is None:
            return None
        dropped = self._array_per_item("dropped")
        if (dropped < 0).any():
            raise self._files.damage_error("dropped", "it holds negative counts")
        return dropped

    def _array_per_item(self, group: Group) -> NDArray[Any]:
        array = self._files.array(group)
        if len(array) != self.size:
            raise self._files.damage_error(group, f"{len(array)} rows do not fit the manifest")
        return array

    def forest(self) -> Edges:
        return self._forest

    @cached_property
    def _forest(self) -> Edges:
        tables = [self._files.table(part) for part in self._files.parts("forest")]
        forest = Edges.concatenate([Edges(*(np.asarray(column) for column in table.columns)) for table in tables])
        flaw = csr.forest_flaw(forest, self.size)
        if flaw is not None:
            raise self._files.damage_error(f"forest/{flaw[0]}", flaw[1])
        return forest

    def links(self) -> Links | None:
        return self._links

    @cached_property
    def _links(self) -> Links | None:
        if self.manifest.links is None:
            return None
        links = Links(self._files.array("links.indptr"), self._files.array("links.indices"))
        flaw = csr.links_flaw(links)
        if flaw is not None:
            raise self._files.damage_error(f"links/{flaw[0]}", flaw[1])
        return links

    def fingerprints(self) -> Fingerprints:
        return self._fingerprints

    @cached_property
    def _fingerprints(self) -> Fingerprints:
        if not self._files.parts("fingerprints"):
            return Fingerprints(np.empty((self.size, 0), np.uint64), np.zeros(self.size, np.int32))
        words = self._array_per_item("fingerprints")

        def write_popcounts(folder: Path) -> None:
            write_array(folder / "popcounts.npy", np.bitwise_count(words).sum(axis=1, dtype=np.int32))

        # They are cached because counting reads all fingerprints, of which a search otherwise reads none.
        return Fingerprints(words, **self._files.computed_arrays("popcounts", "fingerprints", write_popcounts))

    def index(self) -> dict[str, NDArray[Any]]:
        return {}

    def check(self) -> list[str]:
        problems = {part.name: self._problem(part) for part in self._lake.all_parts()}
        messages = [f"{name}: {problem}" for name, problem in problems.items() if problem]
        return messages or self._contradictions()

    def _contradictions(self) -> list[str]:
        """Return contradictions between files whose checksums are right."""
        try:
            _ = self.graph(), self.forest(), self.dropped(), self.fingerprints()
            links = self.links()
            if links is not None and links_digest(links) != self.manifest.links:
                return ["links: their digest differs from the manifest's"]
            if self.identity() != self.id:
                return ["items: the content hash differs from the generation id"]
            return [] if self._edges_agree() else ["edges: they are not those of the graph"]
        except StoreDamaged as error:
            return [f"{error.damage.file}: {error.damage.problem}"]

    def _edges_agree(self) -> bool:
        tables = [self._files.table(part) for part in self._files.parts("edges")]
        edges_of_table = Edges.concatenate(
            [Edges(*(np.asarray(column) for column in table.columns)) for table in tables]
        )
        edges_of_graph = Edges.concatenate(list(self.edges()))
        return all(
            np.array_equal(getattr(edges_of_table, name), getattr(edges_of_graph, name))
            for name in vars(edges_of_graph)
        )

    def close(self) -> None:
        """Do nothing: no file is held open."""


def _single_batch(table: pa.Table) -> pa.RecordBatch:
    """Return a table as one batch whose offsets start at its first row."""
    (batch,) = table.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], schema=table.schema)]
    return batch.take(pa.array(np.arange(batch.num_rows)))
