"""Reading one published generation of the embedded store."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graphkin.protocol.errors import Damage, StoreDamaged
from graphkin.protocol.manifest import Manifest
from graphkin.store.base import Field
from graphkin.store.embedded.fragment import FragmentFiles
from graphkin.store.embedded.integrity import CheckedFiles
from graphkin.store.embedded.items import ItemReader
from graphkin.store.embedded.legacy import LegacyItems
from graphkin.store.embedded.whole import LINKS, WholeFragment
from graphkin.store.identity import links_digest
from graphkin.store.mapped import MappedGeneration
from graphkin.store.records import Edges, Fingerprints, Graph, Int32, Links


class EmbeddedGeneration(MappedGeneration):
    """Memory-mapped arrays and a read-only SQLite file, all opened at once and each checked when it is first used.

    Sizes and types are checked at opening. What is then read of a file is what was published: `CheckedFiles` has
    compared it with the manifest, and what kernels index by has been looked through.
    """

    local = True

    def __init__(self, collection: str, manifest: Manifest, folder: Path) -> None:
        """`folder`: that of the collection."""
        self.collection = collection
        self.manifest = manifest
        self._files = CheckedFiles(collection, manifest, folder)
        try:
            (first,) = (FragmentFiles(self._files, fragment, folder) for fragment in manifest.fragments)
            self._items = LegacyItems(first, manifest) if manifest.format == 1 else ItemReader(first, manifest)
            first.require_names(self._items.files)
            self._whole = WholeFragment(first, manifest)
        except BaseException:
            self._files.close()
            raise

    @property
    def damage(self) -> Damage | None:
        return self._files.damage

    def scrub(self, again: bool = False) -> Iterator[str]:
        for name in self._files:
            self._files.read(name, again)
            yield name

    def _page(self, ids: Sequence[int]) -> Iterator[Sequence[Any]]:
        chosen = np.array(ids, np.int32)
        indptr = self._whole.graph.indptr
        degrees = indptr[chosen + 1] - indptr[chosen]
        lost = [None] * len(ids) if self._whole.dropped is None else self._whole.dropped[chosen].tolist()
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

    def graph(self) -> Graph:
        return self._whole.graph

    def forest(self) -> Edges:
        return self._whole.forest

    def dropped(self) -> Int32 | None:
        return self._whole.dropped

    def links(self) -> Links | None:
        return None if self.manifest.links is None else self._whole.links

    def fingerprints(self) -> Fingerprints:
        return self._whole.fingerprints

    def index(self) -> dict[str, NDArray[Any]]:
        return self._whole.index

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
        _ = self._whole.graph, self._whole.forest, self._whole.dropped
        links = self.links()
        if links is not None and links_digest(links) != self.manifest.links:
            return [f"{LINKS[1]}: its digest differs from the manifest's"]
        if self.identity() != self.id:
            return [f"{self._items.files[0]}: the content hash of its items differs from the generation id"]
        return []

    def close(self) -> None:
        self._items.close()
        self._files.close()
