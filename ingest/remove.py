"""Removal of items from a collection, exactly: rewrite the remaining items as a new generation."""

from dataclasses import dataclass
from itertools import chain

import numpy as np
import pyarrow as pa

from graphkin.ingest.base import dropped_of, require_changeable
from graphkin.ingest.items import RestItems
from graphkin.ingest.listed import Listed, listed
from graphkin.ingest.notes import notes_of_changes, tell
from graphkin.ingest.progress import Clock, Progress, compiling
from graphkin.ingest.provenance import provenance_without
from graphkin.ingest.reruns import reported
from graphkin.ingest.rest import Rest
from graphkin.ingest.tally import Tally
from graphkin.ingest.warmup import compile_kernels
from graphkin.ingest.writing import write_edges, write_items
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.manifest import Manifest, Removal
from graphkin.protocol.values import ListedBy
from graphkin.similarity.kinds import kind_named
from graphkin.store import csr
from graphkin.store.base import Store
from graphkin.store.records import Int32


@dataclass(frozen=True)
class Removed:
    """Result of a removal.

    Attributes:
        manifest: the current generation's manifest. If no item was removed, it is the previous generation's.
        items: number of removed items.
        missing: lines that match no item (`REJECTION_SCHEMA`).
    """

    manifest: Manifest
    items: int
    missing: pa.RecordBatch


def remove(
    store: Store,
    collection: str,
    file: str,
    by: ListedBy,
    workers: int = 1,
    progress: Progress | None = None,
) -> Removed:
    """Publish a new generation without the items that a file lists, as `listed` reads it.

    The new generation equals one ingest of the older files without these items.

    Args:
        store: the store.
        collection: name of the collection.
        file: path of the list, or "-" for standard input.
        by: whether the list holds names or SMILES.
        workers: number of join threads.
        progress: receives progress reports.

    Raises:
        NotFound: the collection does not exist.
        InvalidInput: no item would be left, or the list cannot be read.
        Conflict: the candidates of the collection follow the window rule, its items are nodes, or other library
            versions described its items.
        StoreError, StoreBusy: as `Store.draft` and `Draft.publish` raise them. Nothing is published then.
    """
    clock = Clock(progress or Progress())
    kind = kind_named(store.collection(collection).kind)
    # The draft locks the collection, so no generation is published before `base` is opened.
    with store.draft(collection, kind.name) as draft, store.open(collection) as base:
        recipe = kind.recipe(base.manifest.recipe)
        require_changeable(base, kind, recipe)
        with clock.stage("list"):
            found = listed(file, by, base, kind, recipe)
        if not len(found.ids):
            return Removed(base.manifest, 0, found.missing)
        stay = _others(base.size, found)
        with clock.stage("compile"), compiling(clock.progress):
            compile_kernels(kind.specimen(recipe), recipe.top_k)
        with clock.stage("older items", base.size, kind.plural):
            every = kind.descriptors_of(base, recipe, kind.digests(base, recipe))
            rest = every.take(stay)
        with clock.stage("items"):
            items = RestItems.of(base, stay, kind.computed)
            for rejections in base.rejections():
                draft.append_rejections(rejections)
            write_items(items.batches(), rest.words, draft)
        with clock.stage("index"):
            draft.write_index(rest.index())
        lists = Rest(base.graph(), dropped_of(base), stay, recipe.top_k)
        with clock.stage("join", len(lists.order), kind.plural) as advance:
            come, dropped = lists.completed(every.take(lists.order), rest, workers, advance)
        with clock.stage("write"):
            tally = Tally(len(rest), recipe.threshold)
            write_edges(chain(csr.edge_blocks(lists.graph, np.float32(0)), [come]), dropped, tally, draft)
        removal = Removal(**found.source.model_dump(), by=by, items=len(found.ids))
        provenance = provenance_without(base.manifest, recipe, removal, items, tally, dropped, clock)
        manifest = reported(draft.publish(provenance), provenance)
        tell(clock.progress, notes_of_changes(base.manifest, provenance))
        return Removed(manifest, len(found.ids), found.missing)


def _others(items: int, found: Listed) -> Int32:
    """Return the ids of the items that are not listed."""
    others = np.delete(np.arange(items, dtype=np.int32), found.ids)
    if not len(others):
        raise InvalidInput(
            "no item would be left",
            given=f"a list of all {items:,} items",
            expected="at least one that is not listed",
            hint="`graphkin delete` removes a generation, and with the last of them the collection",
        )
    return others
