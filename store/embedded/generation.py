"""Reading one published generation of the embedded store."""

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from store import csr, traverse
from store.base import Field, Generation, Neighbors, Subgraph, rounded
from store.base import Path as GraphPath
from store.embedded.draft import INDEX
from store.embedded.files import map_array, sha256
from store.embedded.items import ItemReader
from store.errors import StoreFormat
from store.identity import ContentHash
from store.records import ITEM_SCHEMA, Edges, Fingerprints, Graph, Int32, Item, Manifest


class EmbeddedGeneration(Generation):
    """Memory-mapped arrays and a read-only SQLite file, all opened at once."""

    local = True

    def __init__(self, collection: str, manifest: Manifest, folder: Path) -> None:
        self.collection = collection
        self.manifest = manifest
        self._folder = folder
        arrays = {name: self._map(name) for name in manifest.files if name.endswith(".npy")}
        self._graph = Graph(arrays["indptr.npy"], arrays["indices.npy"], arrays["similarity.npy"])
        self._fingerprints = Fingerprints(arrays["fingerprints.npy"], arrays["popcounts.npy"])
        self._forest = Edges(*(arrays[f"forest.{part}.npy"] for part in ("source", "target", "similarity")))
        self._dropped = arrays.get("dropped.npy")
        self._index = {
            name.removeprefix(INDEX).removesuffix(".npy"): array
            for name, array in arrays.items()
            if name.startswith(INDEX)
        }
        self._check_sizes()
        self._items = ItemReader(folder / "items.sqlite")

    def _map(self, name: str) -> Any:
        return map_array(self._folder / name)

    def _damaged(self, what: str) -> StoreFormat:
        return StoreFormat(
            f"generation {self.id[:12]} of {self.collection!r} is damaged: {what}",
            given=str(self._folder),
            hint="delete this generation, then ingest again",
        )

    def _check_sizes(self) -> None:
        graph, prints = self._graph, self._fingerprints
        whole = (
            graph.nodes == self.size == len(prints.words) == len(prints.popcounts)
            and len(graph.indices) == len(graph.similarity) == graph.indptr[-1] == 2 * self.manifest.edges
            and (self._dropped is None or len(self._dropped) == self.size)
        )
        if not whole:
            raise self._damaged("its files disagree about the number of items or edges")

    def items(self, ids: Sequence[int] | Int32) -> list[Item]:
        wanted = [int(id) for id in ids]
        self._require(*wanted)
        rows: dict[int, tuple[Any, ...]] = {}
        for start in range(0, len(wanted), 500):
            rows |= self._items.rows(wanted[start : start + 500])
        return [self._item(rows[id]) for id in wanted]

    def _item(self, row: tuple[Any, ...]) -> Item:
        id, smiles, _, inchikey, names, properties = row
        return {
            "id": id,
            "smiles": smiles,
            "names": json.loads(names),
            "inchikey": inchikey,
            "properties": json.loads(properties),
            "degree": int(self._graph.indptr[id + 1] - self._graph.indptr[id]),
            "dropped": None if self._dropped is None else int(self._dropped[id]),
        }

    def scan(self, ids: Int32 | None = None) -> Iterator[pa.RecordBatch]:
        if ids is not None and len(ids):
            self._require(int(ids.min()), int(ids.max()))
        return self._items.scan(ids)

    def find(self, field: Field, value: str, after: int = -1, limit: int = 1000) -> list[int]:
        self._require_field(field, value)
        return self._items.find(field, value, after, limit)

    def rejections(self, begin: int = 0) -> Iterator[pa.RecordBatch]:
        return self._items.rejections(begin)

    def neighbors(
        self, id: int, min_similarity: float | None = None, offset: int = 0, limit: int | None = None
    ) -> Neighbors:
        self._require(id)
        return traverse.neighbors(self._graph, id, rounded(min_similarity), offset, limit)

    def subgraph(
        self, id: int, hops: int, max_items: int, max_edges: int, min_similarity: float | None = None
    ) -> Subgraph:
        self._require(id)
        return traverse.subgraph(
            partial(csr.rows, self._graph), id, hops, max_items, max_edges, rounded(min_similarity)
        )

    def path(self, source: int, target: int, max_hops: int, min_similarity: float | None = None) -> GraphPath | None:
        self._require(source, target)
        return traverse.path(self._graph, source, target, max_hops, rounded(min_similarity))

    def edges(self, min_similarity: float | None = None, ids: Int32 | None = None) -> Iterator[Edges]:
        if ids is None:
            return csr.edge_blocks(self._graph, rounded(min_similarity))
        self._require(*ids.tolist())
        return iter([csr.edges_among(self._graph, ids, rounded(min_similarity))])

    def graph(self) -> Graph:
        return self._graph

    def forest(self) -> Edges:
        return self._forest

    def fingerprints(self) -> Fingerprints:
        return self._fingerprints

    def index(self) -> dict[str, NDArray[Any]]:
        return self._index

    def check(self) -> list[str]:
        found = {name: self._damage(name, digest) for name, digest in sorted(self.manifest.files.items())}
        problems = [f"{name}: {damage}" for name, damage in found.items() if damage]
        if problems:
            return problems
        content = ContentHash()
        for batch in self.scan():
            content.update(batch.select(ITEM_SCHEMA.names))
        if content.hexdigest(self.manifest.recipe, self.manifest.versions.get("rdkit")) != self.id:
            problems.append("items.sqlite: the content hash of its items differs from the generation id")
        return problems

    def _damage(self, name: str, digest: str) -> str | None:
        try:
            return None if sha256(self._folder / name) == digest else "its SHA-256 differs from the manifest's"
        except OSError as error:
            return f"cannot be read: {error.strerror}"

    def close(self) -> None:
        self._items.close()
