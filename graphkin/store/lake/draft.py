"""Write a lake: each part when it is full, and the manifest last."""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from secrets import token_hex
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graphkin.protocol.errors import Conflict, StoreError
from graphkin.protocol.manifest import FORMAT, Manifest, Provenance
from graphkin.store import csr
from graphkin.store.base import Draft
from graphkin.store.disk import user_workspace
from graphkin.store.identity import BlockHasher, generation_id
from graphkin.store.lake.export_folder import LOCK, WORK, ExportFolder
from graphkin.store.lake.layout import FOLDERS, MANIFEST, RUN_DIGITS, Group, Lake, Part, parse_manifest, seal_manifest
from graphkin.store.lake.parts import (
    FOREST_ROWS,
    ROWS,
    PartBuffer,
    add_ids,
    edge_table,
    table_buffer,
    write_array,
    write_table,
)
from graphkin.store.records import Edges, Graph, Int32, Links, UInt64


class LakeDraft(Draft):
    """A draft of a lake: files without a manifest, which readers do not recognize as a lake.

    A local folder stays locked while the draft is open. On other file systems several writers may be active. A writer
    never overwrites the parts of another, and the first one to publish wins.
    """

    def __init__(self, export_folder: ExportFolder, collection: str) -> None:
        self.workspace = user_workspace(hashlib.sha256(export_folder.url.encode()).hexdigest())
        self._export_folder = export_folder
        self._collection = collection
        self._parts: dict[Group, list[Part]] = {}
        self._items = table_buffer(self._write_items)
        self._rejections = table_buffer(partial(self._write_table_part, "rejections"))
        self._words: PartBuffer[UInt64] = PartBuffer(
            np.concatenate,
            lambda words, start: words[start : start + ROWS],
            partial(self._write_array_part, "fingerprints"),
        )
        self._hasher = BlockHasher()
        self._item_count = 0
        self._edges: list[Edges] = []
        self._run = token_hex(RUN_DIGITS // 2)
        self._release = export_folder.claim()
        self._is_open = True
        try:
            require_new(export_folder)
            if export_folder.is_local:
                sweep(export_folder)
        except BaseException:
            self._release()
            raise

    def append_items(self, items: pa.RecordBatch) -> None:
        self._hasher.update(items)
        self._items.add(pa.Table.from_batches([items]))

    def _write_items(self, rows: pa.Table) -> None:
        self._write_table_part("items", add_ids(rows, self._item_count))
        self._item_count += len(rows)

    def append_rejections(self, rejections: pa.RecordBatch) -> None:
        self._rejections.add(pa.Table.from_batches([rejections]))

    def append_fingerprints(self, words: UInt64) -> None:
        if words.shape[1]:
            self._words.add(words.copy())

    def append_edges(self, edges: Edges) -> None:
        self._edges.append(Edges(edges.source.copy(), edges.target.copy(), edges.similarity.copy()))

    def write_dropped(self, dropped: Int32) -> None:
        for start in range(0, len(dropped), ROWS):
            self._write_array_part("dropped", dropped[start : start + ROWS])

    def write_forest(self, forest: Edges) -> None:
        for start in range(0, len(forest), FOREST_ROWS):
            self._write_table_part("forest", edge_table(forest.take(slice(start, start + FOREST_ROWS))))

    def write_links(self, links: Links) -> None:
        self._write_array_part("links.indptr", links.indptr)
        self._write_array_part("links.indices", links.indices)

    def write_index(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Do nothing: readers compute the index from the fingerprints."""

    def publish(self, provenance: Provenance) -> Manifest:
        if not self._is_open:
            raise StoreError("this draft is already published or discarded", hint="begin a new draft")
        for buffer in (self._items, self._rejections, self._words):
            buffer.finish()
        self._write_graph(csr.build(Edges.concatenate(self._edges), self._item_count))
        manifest = publish_lake(self._export_folder, self._collection, provenance, self._hasher.blocks, self._parts)
        self._is_open = False
        self._release()
        return manifest

    def _write_graph(self, graph: Graph) -> None:
        for start in range(0, graph.nodes, ROWS):
            shard = csr.shard(graph, range(start, min(start + ROWS, graph.nodes)))
            self._write_table_part("edges", edge_table(csr.shard_edges(shard, start)))
            self._write_array_part("indptr", shard.indptr)
            self._write_array_part("indices", shard.indices)
            self._write_array_part("similarity", shard.similarity)

    def _write_table_part(self, group: Group, table: pa.Table) -> None:
        parts = self._parts.setdefault(group, [])
        parts.append(write_table(self._export_folder, self._run, group, len(parts), table))

    def _write_array_part(self, group: Group, array: NDArray[Any]) -> None:
        parts = self._parts.setdefault(group, [])
        parts.append(write_array(self._export_folder, self._run, group, len(parts), array))

    def discard(self) -> None:
        if self._is_open:
            self._is_open = False
            with suppress(StoreError):  # leftover files are not a lake, and the next writer removes them
                sweep(self._export_folder, self._run)
            self._release()


def sweep(export_folder: ExportFolder, run: str = "") -> None:
    """Remove parts and partial files that the manifest does not list, of one run or by default of all runs.

    Without a manifest, this removes all parts. So no other writer may be active unless `run` is set.
    """
    names = export_folder.names()
    listed_names = (
        {part.name for part in parse_manifest(export_folder.read(MANIFEST)).all_parts()} if MANIFEST in names else set()
    )
    for name in names:
        if _is_writer_file(name) and run in name and name not in listed_names:
            with suppress(FileNotFoundError):  # its writer may have removed it by now
                export_folder.remove(name)


def _is_writer_file(name: str) -> bool:
    """Return whether a file is a part, a piece of one, or a manifest that a killed writer has not published."""
    return name.partition("/")[0] in {*FOLDERS, WORK} or name.startswith(f"{MANIFEST}.")


def require_new(export_folder: ExportFolder) -> list[str]:
    """Return the files that other writers, active or dead, have left in the folder of a new lake.

    Raises:
        Conflict: The folder holds a lake, or files that no writer of lakes creates.
    """
    names = export_folder.names()
    if MANIFEST in names:
        raise Conflict(
            "this folder already holds a Parquet export (lake), and a lake is written once",
            given=export_folder.display_url,
            expected="a new or empty folder",
            hint="write into another folder",
        )
    others = [name for name in names if name != LOCK and not _is_writer_file(name)]
    if others:
        raise Conflict(
            "this folder holds other files",
            given=f"{export_folder.display_url}: {others[0]}",
            expected="a new or empty folder",
            hint="write into another folder",
        )
    return names


def publish_lake(
    export_folder: ExportFolder,
    collection: str,
    provenance: Provenance,
    blocks: Sequence[bytes],
    parts: Mapping[Group, list[Part]],
) -> Manifest:
    """Write the manifest for existing parts, and remove the parts of other writers.

    `blocks` are the hashes of the blocks of the item table.

    Raises:
        StoreError: Another writer published first.
    """
    manifest = Manifest(
        **provenance.model_dump(),
        generation=generation_id(provenance, blocks),
        format=FORMAT,
        published_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    if not export_folder.create(
        MANIFEST, seal_manifest(Lake(collection=collection, manifest=manifest, parts=dict(parts)))
    ):
        raise export_folder.overtaken_error()
    with suppress(StoreError):  # it is published, and readers ignore files that the manifest does not list
        sweep(export_folder)
    return manifest
