"""Reading one published generation of the embedded store."""

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graphkin.protocol.errors import Damage, StoreDamaged
from graphkin.protocol.manifest import Manifest
from graphkin.store import csr, traverse
from graphkin.store.base import Field, Generation, Neighbors, Subgraph, rounded
from graphkin.store.base import Path as GraphPath
from graphkin.store.embedded.draft import INDEX
from graphkin.store.embedded.integrity import CheckedFiles
from graphkin.store.embedded.items import ItemReader
from graphkin.store.embedded.legacy import LegacyItems
from graphkin.store.files import map_array
from graphkin.store.identity import links_digest
from graphkin.store.records import Edges, Fingerprints, Graph, Int32, Links

_GRAPH = ("indptr.npy", "indices.npy", "similarity.npy")
_FINGERPRINTS = ("fingerprints.npy", "popcounts.npy")
_FOREST = ("forest.source.npy", "forest.target.npy", "forest.similarity.npy")
_DROPPED = "dropped.npy"
_LINKS = ("links.indptr.npy", "links.indices.npy")


class EmbeddedGeneration(Generation):
    """Memory-mapped arrays and a read-only SQLite file, all opened at once and each checked when it is first used.

    Sizes and types are checked at opening. What is then read of a file is what was published: `CheckedFiles` has
    compared it with the manifest, and what kernels index by has been looked through.
    """

    local = True

    def __init__(self, collection: str, manifest: Manifest, folder: Path) -> None:
        self.collection = collection
        self.manifest = manifest
        self._files = CheckedFiles(collection, manifest, folder)
        try:
            self._arrays = {name: self._mapped(name) for name in self._files if name.endswith(".npy")}
            self._items = self._item_reader(folder)
            self._require_layout()
        except BaseException:
            self._files.close()
            raise

    def _item_reader(self, folder: Path) -> ItemReader | LegacyItems:
        if self.manifest.format == 1:
            return LegacyItems(self._files, folder, self.manifest)
        return ItemReader(self._files, self._arrays, self.manifest)

    def _mapped(self, name: str) -> NDArray[Any]:
        try:
            return map_array(self._files[name])
        except ValueError as error:
            raise self._files.damaged(name, str(error)) from error

    def _require_layout(self) -> None:
        """Raises `StoreDamaged` unless all files are there and every array has its type and shape."""
        links = () if self.manifest.links is None else _LINKS
        for name in (*self._items.files, *_GRAPH, *_FINGERPRINTS, *_FOREST, *links):
            if name not in self.manifest.files:
                raise self._files.damaged(name, "the manifest does not name it")
        for name, (dtype, *shape) in self._layout().items():
            array = self._arrays.get(name)
            if array is not None and (array.dtype != dtype or array.shape != tuple(shape)):
                raise self._files.damaged(name, f"{array.dtype} {array.shape} does not fit the manifest")

    def _layout(self) -> dict[str, tuple[Any, ...]]:
        """Type and shape by file. Only forest and links tell how long they are, and the fingerprints how wide."""
        items, ends = self.size, 2 * self.manifest.edges
        words, joined = self._arrays["fingerprints.npy"], self._arrays["forest.source.npy"].size
        indptr, indices = _LINKS
        linked = self._arrays[indices].size if indices in self._arrays else 0
        return {
            "indptr.npy": (np.int64, items + 1),
            "indices.npy": (np.int32, ends),
            "similarity.npy": (np.float32, ends),
            "fingerprints.npy": (np.uint64, items, words.shape[1] if words.ndim == 2 else 0),
            "popcounts.npy": (np.int32, items),
            "forest.source.npy": (np.int32, joined),
            "forest.target.npy": (np.int32, joined),
            "forest.similarity.npy": (np.float32, joined),
            _DROPPED: (np.int32, items),
            indptr: (np.int64, items + 1),
            indices: (np.int32, linked),
        }

    def _checked(self, *names: str) -> list[NDArray[Any]]:
        self._files.require(*names)
        return [self._arrays[name] for name in names]

    @cached_property
    def _graph(self) -> Graph:
        graph = Graph(*self._checked(*_GRAPH))
        flaw = csr.flaw(graph)
        if flaw is not None:
            raise self._files.damaged(f"{flaw[0]}.npy", flaw[1])
        return graph

    @cached_property
    def _fingerprints(self) -> Fingerprints:
        return Fingerprints(*self._checked(*_FINGERPRINTS))

    @cached_property
    def _forest(self) -> Edges:
        forest = Edges(*self._checked(*_FOREST))
        flaw = csr.forest_flaw(forest, self.size)
        if flaw is not None:
            raise self._files.damaged(f"forest.{flaw[0]}.npy", flaw[1])
        return forest

    @cached_property
    def _dropped(self) -> Int32 | None:
        if _DROPPED not in self._arrays:
            return None
        (dropped,) = self._checked(_DROPPED)
        if (dropped < 0).any():
            raise self._files.damaged(_DROPPED, "it holds negative counts")
        return dropped

    @cached_property
    def _links(self) -> Links:
        links = Links(*self._checked(*_LINKS))
        flaw = csr.links_flaw(links)
        if flaw is not None:
            raise self._files.damaged(f"links.{flaw[0]}.npy", flaw[1])
        return links

    @cached_property
    def _index(self) -> dict[str, NDArray[Any]]:
        names = [name for name in self._arrays if name.startswith(INDEX)]
        plain = (name.removeprefix(INDEX).removesuffix(".npy") for name in names)
        return dict(zip(plain, self._checked(*names), strict=True))

    @property
    def file_bytes(self) -> int:
        return self._files.bytes

    @property
    def damage(self) -> Damage | None:
        return self._files.damage

    def scrub(self, again: bool = False) -> Iterator[str]:
        for name in self._files:
            self._files.read(name, again)
            yield name

    def _page(self, ids: Sequence[int]) -> Iterator[Sequence[Any]]:
        chosen = np.array(ids, np.int32)
        degrees = self._graph.indptr[chosen + 1] - self._graph.indptr[chosen]
        lost = [None] * len(ids) if self._dropped is None else self._dropped[chosen].tolist()
        return zip(degrees.tolist(), lost, *self._items.page(ids), strict=True)

    def columns(self, names: Sequence[str], start: int = 0, stop: int | None = None) -> Iterator[pa.RecordBatch]:
        self._require_columns(names)
        return self._items.columns(names, self._require_range(start, stop))

    def take(self, ids: Int32, names: Sequence[str] | None = None) -> pa.RecordBatch:
        if names is not None:
            self._require_columns(names)
        if len(ids):
            self._require(int(ids.min()), int(ids.max()))
        return self._items.take(ids, self._all_columns if names is None else names)

    def identity(self) -> str:
        return self._items.identity() if isinstance(self._items, LegacyItems) else super().identity()

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

    def links(self) -> Links | None:
        return None if self.manifest.links is None else self._links

    def fingerprints(self) -> Fingerprints:
        return self._fingerprints

    def index(self) -> dict[str, NDArray[Any]]:
        return self._index

    def check(self) -> list[str]:
        problems = self._files.problems()
        if problems:
            return problems
        try:
            return self._disagreements()
        except StoreDamaged as error:
            return [f"{error.damage.file}: {error.damage.problem}"]

    def _disagreements(self) -> list[str]:
        """What files that are as they were written say that cannot be."""
        _ = self._graph, self._forest, self._dropped
        links = self.links()
        if links is not None and links_digest(links) != self.manifest.links:
            return [f"{_LINKS[1]}: its digest differs from the manifest's"]
        if self.identity() != self.id:
            return [f"{self._items.files[0]}: the content hash of its items differs from the generation id"]
        return []

    def close(self) -> None:
        self._items.close()
        self._files.close()
