"""Read a published generation of the embedded store."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graphkin.protocol.errors import Damage, StoreDamaged
from graphkin.protocol.manifest import Manifest
from graphkin.store import csr
from graphkin.store.base import Field
from graphkin.store.embedded.copying import copy_fragment
from graphkin.store.embedded.fragment import FragmentFiles
from graphkin.store.embedded.increment import IncrementFragment
from graphkin.store.embedded.integrity import CheckedFiles
from graphkin.store.embedded.items import ItemReader
from graphkin.store.embedded.whole import BLOCKS, LINKS, WholeFragment
from graphkin.store.identity import generation_id, links_digest
from graphkin.store.mapped import MappedGeneration
from graphkin.store.records import Edges, Fingerprints, Graph, Int32, Links


class EmbeddedGeneration(MappedGeneration):
    """A generation as memory-mapped files. All are opened at once, and each is checked before its first use.

    Opening checks sizes and types. Before the first use of a file, `CheckedFiles` compares it with the manifest, and
    arrays that kernels use as indices are checked for invalid values.
    """

    is_local = True

    def __init__(self, collection: str, manifest: Manifest, folder: Path) -> None:
        """Open the files. `folder` is the folder of the collection."""
        self.collection = collection
        self.manifest = manifest
        self._files = CheckedFiles(collection, manifest, folder)
        try:
            first, *others = (FragmentFiles(self._files, fragment, folder) for fragment in manifest.fragments)
            self._base = WholeFragment(first, manifest)
            ends = accumulate(fragment.items for fragment in manifest.fragments)
            self._increments = [
                IncrementFragment(files, items, self._base.width) for files, items in zip(others, ends, strict=False)
            ]
            self._items = ItemReader(first, self._increments, manifest)
            first.require_names(self._items.files)
        except BaseException:
            self._files.close()
            raise

    @cached_property
    def _graph(self) -> Graph:
        if not self._increments:
            return self._base.graph
        change = csr.compose_changes([increment.content.edges for increment in self._increments])
        graph = csr.apply_change(self._base.graph, self.size, change)
        flaw = csr.flaw(graph)
        if flaw is not None:
            raise self._increments[-1].damage_error(f"it makes the graph invalid, {flaw[0]}: {flaw[1]}")
        return graph

    @cached_property
    def _forest(self) -> Edges:
        if not self._increments:
            return self._base.forest
        change = csr.compose_changes([increment.content.forest for increment in self._increments])
        return csr.sort_by_similarity(csr.edges_after(self._base.forest, change))

    @cached_property
    def _dropped(self) -> Int32 | None:
        if not self._increments or self._base.dropped is None:
            return self._base.dropped
        dropped = np.zeros(self.size, np.int32)
        dropped[: len(self._base.dropped)] = self._base.dropped
        for increment in self._increments:
            dropped[increment.content.ids] = increment.content.dropped
        return dropped

    @cached_property
    def _fingerprints(self) -> Fingerprints:
        if not self._increments:
            return self._base.fingerprints
        words = np.concatenate(
            [self._base.fingerprints.words, *(increment.content.words for increment in self._increments)]
        )
        return Fingerprints(words, np.bitwise_count(words).sum(axis=1, dtype=np.int32))

    @cached_property
    def blocks(self) -> Sequence[bytes]:
        """The hashes of the blocks of the item table, which determine the generation id."""
        blocks = self._increments[-1].content.blocks if self._increments else self._base.blocks
        if generation_id(self.manifest, blocks) != self.id:
            problem = "the hashes of the blocks of its items do not make the generation id"
            raise (
                self._increments[-1].damage_error(problem)
                if self._increments
                else self._base.damage_error(BLOCKS, problem)
            )
        return blocks

    @property
    def file_bytes(self) -> int:
        return self._files.bytes

    def copy_files(self, collection: Path, advance: Callable[[int], object]) -> None:
        """Copy the missing fragments into the folder of a collection.

        Args:
            collection: The folder of the collection in the target.
            advance: A function that is called with the number of bytes after each chunk.

        Raises:
            StoreDamaged: A file differs from what was written.
        """
        for fragment in self.manifest.fragments:
            copy_fragment(self._files, fragment, collection, advance)

    @property
    def damage(self) -> Damage | None:
        return self._files.damage

    def scrub(self, again: bool = False) -> Iterator[str]:
        for name in self._files:
            self._files.check(name, again)
            yield name

    def _page(self, ids: Sequence[int]) -> Iterator[Sequence[Any]]:
        rows = np.array(ids, np.int32)
        degrees = self._graph.indptr[rows + 1] - self._graph.indptr[rows]
        truncated = [None] * len(ids) if self._dropped is None else self._dropped[rows].tolist()
        return zip(degrees.tolist(), truncated, *self._items.page(ids), strict=True)

    def columns(self, names: Sequence[str], start: int = 0, stop: int | None = None) -> Iterator[pa.RecordBatch]:
        self._require_columns(names)
        return self._items.columns(names, self._require_range(start, stop))

    def take(self, ids: Int32, names: Sequence[str] | None = None) -> pa.RecordBatch:
        if names is not None:
            self._require_columns(names)
        if len(ids):
            self._require_ids(int(ids.min()), int(ids.max()))
        return self._items.take(ids, self._all_columns if names is None else names)

    def find(self, field: Field, value: str, after: int = -1, limit: int = 1000) -> list[int]:
        self._require_field(field, value)
        return self._items.find(field, value, after, limit)

    def rejections(self, begin: int = 0) -> Iterator[pa.RecordBatch]:
        return self._items.rejections(begin)

    def graph(self) -> Graph:
        return self._graph

    def forest(self) -> Edges:
        return self._forest

    def dropped(self) -> Int32 | None:
        return self._dropped

    def links(self) -> Links | None:
        return None if self.manifest.links is None else self._base.links

    def fingerprints(self) -> Fingerprints:
        return self._fingerprints

    def index(self) -> dict[str, NDArray[Any]]:
        return self._base.index

    @property
    def indexed_count(self) -> int:
        return self.manifest.fragments[0].items

    def check(self) -> list[str]:
        problems = self._files.problems()
        if problems:
            return problems
        try:
            return self._contradictions()
        except StoreDamaged as error:
            return [f"{error.damage.file}: {error.damage.problem}"]

    def _contradictions(self) -> list[str]:
        """Return contradictions between files whose checksums are right."""
        _ = self._graph, self._forest, self._dropped
        links = self.links()
        if links is not None and links_digest(links) != self.manifest.links:
            return [f"{LINKS[1]}: its digest differs from the manifest's"]
        if self.identity() != self.id:
            return [f"{self._items.files[0]}: the content hash of its items differs from the generation id"]
        _ = self.blocks
        return []

    def close(self) -> None:
        self._items.close()
        self._files.close()
