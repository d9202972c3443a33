"""Drafts of the embedded store."""

import shutil
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
import pyarrow as pa
from filelock import BaseFileLock
from numpy.typing import DTypeLike, NDArray

from graphkin.protocol.errors import StoreError
from graphkin.protocol.manifest import FORMAT, Fragment, Manifest, Provenance
from graphkin.runtime.files import ArrayWriter, file_sha256, rename_durably, write_array
from graphkin.store import csr
from graphkin.store.base import Draft
from graphkin.store.disk import translate_disk_errors
from graphkin.store.embedded.catalog import Catalog
from graphkin.store.embedded.items import ItemWriter
from graphkin.store.embedded.whole import BLOCKS, DROPPED, INDEX, LINKS
from graphkin.store.identity import DIGEST_SIZE, BlockHasher, generation_id
from graphkin.store.records import Edges, Int32, Links, UInt64

COLLECTIONS = "collections"
_EDGE_PARTS = (("source", np.int32), ("target", np.int32), ("similarity", np.float32))
"""Data types of the temporary files with edges, by name. They are deleted when the graph is built from them."""


def sweep(folder: Path, catalog: Catalog) -> None:
    """Remove everything from the folder of a collection except the fragments of its published generations.

    This includes drafts, folders whose catalog row was never written, and fragments of deleted or compacted
    generations.
    """
    folders = catalog.folders(folder.name)
    for entry in folder.iterdir() if folder.is_dir() else ():
        if entry.name not in folders:
            shutil.rmtree(entry)


class FolderDraft(Draft):
    """A draft in a folder next to the published fragments. When it is complete, the folder becomes a fragment."""

    earlier_fragments: Sequence[Fragment] = ()
    """The fragments of the generation that this draft extends."""

    def __init__(self, collection: str, store: Path, catalog: Catalog, lock: BaseFileLock) -> None:
        self.workspace = store / "work" / collection
        self._collection = collection
        self._catalog = catalog
        self._lock = lock
        self._folder = store / COLLECTIONS / collection / f"draft-{token_hex(8)}"
        self._is_open = True
        self._closers: list[Callable[[], None]] = []
        try:
            with translate_disk_errors(self._folder):
                sweep(self._folder.parent, catalog)
                self._folder.mkdir(parents=True)
                self._begin()
        except BaseException:
            self.discard()
            raise

    @abstractmethod
    def _begin(self) -> None:
        """Open the files that the draft writes."""

    @abstractmethod
    def _blocks(self, provenance: Provenance) -> Sequence[bytes]:
        """Return the hashes of the blocks of the whole item table."""

    @abstractmethod
    def _finish_files(self, provenance: Provenance, blocks: Sequence[bytes]) -> int:
        """Complete all files and return the number of edges that they add.

        `blocks` are the hashes of the blocks of the item table.
        """

    def publish(self, provenance: Provenance) -> Manifest:
        if not self._is_open:
            raise StoreError("this draft is already published or discarded", hint="begin a new draft")
        blocks = self._blocks(provenance)
        generation = generation_id(provenance, blocks)
        is_published = generation in self._catalog.published_ids(self._collection)
        if is_published:
            manifest = self._catalog.manifest(self._collection, generation)
            with translate_disk_errors(self._folder):
                if len(manifest.fragments) > 1 and not self.earlier_fragments:
                    # This draft has the whole content in one fragment, which replaces the published fragments.
                    fragments = [self._finish_fragment(provenance, generation, blocks)]
                    manifest = manifest.model_copy(update={"fragments": fragments})
                    self._catalog.rewrite(self._collection, manifest)
                else:
                    self._catalog.make_current(self._collection, manifest)
        else:
            with translate_disk_errors(self._folder):
                manifest = Manifest(
                    **provenance.model_dump(),
                    generation=generation,
                    format=FORMAT,
                    published_at=datetime.now(UTC).isoformat(timespec="seconds"),
                    fragments=[*self.earlier_fragments, self._finish_fragment(provenance, generation, blocks)],
                )
                self._catalog.publish(self._collection, manifest)
        self.discard()
        return manifest

    def _finish_fragment(self, provenance: Provenance, generation: str, blocks: Sequence[bytes]) -> Fragment:
        """Complete the folder, give it a name that no other fragment has, and return it as a fragment."""
        edges = self._finish_files(provenance, blocks)
        files = {path.name: file_sha256(path) for path in sorted(self._folder.iterdir())}
        target = self._folder.with_name(generation)
        if target.exists():
            target = self._folder.with_name(f"{generation}-{token_hex(4)}")
        rename_durably(self._folder, target)
        return Fragment(
            folder=target.name,
            items=provenance.counts.kept - sum(each.items for each in self.earlier_fragments),
            rejected=provenance.counts.rejected - sum(each.rejected for each in self.earlier_fragments),
            edges=edges,
            properties=sorted(provenance.properties),
            files=files,
        )

    def discard(self) -> None:
        if not self._is_open:
            return
        self._is_open = False
        for close in self._closers:
            with suppress(OSError):  # the disk may be full, and the buffered data is discarded anyway
                close()
        shutil.rmtree(self._folder, ignore_errors=True)
        with suppress(OSError, StoreError):  # the next draft removes the remaining files
            sweep(self._folder.parent, self._catalog)
        self._lock.release()


class EmbeddedDraft(FolderDraft):
    """A draft of a generation that consists of a single fragment."""

    def _begin(self) -> None:
        self._hasher = BlockHasher()
        self._item_count = 0
        self._words: ArrayWriter | None = None
        self._popcounts: ArrayWriter | None = None
        self._items = ItemWriter(self._folder)
        self._closers.append(self._items.close)
        self._edges = [self._writer(self._edge_file(part).name, dtype) for part, dtype in _EDGE_PARTS]

    def _writer(self, name: str, dtype: DTypeLike, width: int | None = None) -> ArrayWriter:
        writer = ArrayWriter(self._folder / name, dtype, width)
        self._closers.append(writer.close)
        return writer

    def _edge_file(self, part: str) -> Path:
        return self._folder / f"spool.{part}.npy"

    def append_items(self, items: pa.RecordBatch) -> None:
        with translate_disk_errors(self._folder):
            self._items.append(items)
        self._hasher.update(items)
        self._item_count += items.num_rows

    def append_rejections(self, rejections: pa.RecordBatch) -> None:
        with translate_disk_errors(self._folder):
            self._items.append_rejections(rejections)

    def append_fingerprints(self, words: UInt64) -> None:
        with translate_disk_errors(self._folder):
            if self._words is None or self._popcounts is None:
                self._words = self._writer("fingerprints.npy", np.uint64, words.shape[1])
                self._popcounts = self._writer("popcounts.npy", np.int32)
            self._words.append(words)
            self._popcounts.append(np.bitwise_count(words).sum(axis=1, dtype=np.int32))

    def append_edges(self, edges: Edges) -> None:
        with translate_disk_errors(self._folder):
            for writer, array in zip(self._edges, (edges.source, edges.target, edges.similarity), strict=True):
                writer.append(array)

    def write_dropped(self, dropped: Int32) -> None:
        self._write(DROPPED, dropped)

    def write_forest(self, forest: Edges) -> None:
        for part in ("source", "target", "similarity"):
            self._write(f"forest.{part}.npy", getattr(forest, part))

    def write_links(self, links: Links) -> None:
        indptr, indices = LINKS
        self._write(indptr, links.indptr)
        self._write(indices, links.indices)

    def write_index(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        for name, array in arrays.items():
            self._write(f"{INDEX}{name}.npy", array)

    def _write(self, name: str, array: NDArray[Any]) -> None:
        with translate_disk_errors(self._folder):
            write_array(self._folder / name, array)

    def _blocks(self, provenance: Provenance) -> Sequence[bytes]:  # noqa: ARG002
        return self._hasher.blocks

    def _finish_files(self, provenance: Provenance, blocks: Sequence[bytes]) -> int:  # noqa: ARG002
        self._items.finish()
        self._write(BLOCKS, np.frombuffer(b"".join(blocks), np.uint8).reshape(-1, DIGEST_SIZE))
        if self._words is None:  # items of this kind have no fingerprints, but readers expect the file
            self.append_fingerprints(np.empty((self._item_count, 0), np.uint64))
        if not (self._folder / "forest.source.npy").exists():
            self.write_forest(Edges(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float32)))
        for writer in (*self._edges, self._words, self._popcounts):
            if writer is not None:
                writer.close()
        graph = csr.build(Edges(*(np.load(self._edge_file(part)) for part, _ in _EDGE_PARTS)), self._item_count)
        for part, _ in _EDGE_PARTS:
            self._edge_file(part).unlink()
        self._write("indptr.npy", graph.indptr)
        self._write("indices.npy", graph.indices)
        self._write("similarity.npy", graph.similarity)
        return graph.edges
