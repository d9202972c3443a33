"""Removal: the pipeline that removes items from a collection.

It writes the remaining items to a new generation. The result equals one ingest of all files without the removed items.
"""

from dataclasses import dataclass
from itertools import chain

import numpy as np
import pyarrow as pa

from graphkin.ingest.base import require_changeable, truncated_counts
from graphkin.ingest.item_list import ItemList, ListedItems, resolve_list
from graphkin.ingest.items import RemainingItems
from graphkin.ingest.notes import change_notes, report_notes
from graphkin.ingest.progress import Clock, Progress, report_compilation
from graphkin.ingest.provenance import removal_provenance
from graphkin.ingest.remaining import RemainingGraph
from graphkin.ingest.reruns import make_report
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
class RemovalResult:
    """Result of a removal.

    Attributes:
        manifest: Manifest of the current generation.
        items: Number of removed items. If it is 0, no generation was published.
        missing: Lines of the list that match no item (`REJECTION_SCHEMA`).
    """

    manifest: Manifest
    items: int
    missing: pa.RecordBatch


def remove(
    store: Store,
    collection: str,
    items: ItemList,
    by: ListedBy = "name",
    workers: int = 1,
    progress: Progress | None = None,
) -> RemovalResult:
    """Publish a new generation without the items of a list.

    Args:
        store: The store.
        collection: Name of the collection.
        items: The list (`resolve_list`).
        by: Whether a list of texts holds names or SMILES.
        workers: Number of threads for the join.
        progress: Receives progress reports.

    Raises:
        NotFound: The collection, or an item with one of the ids, does not exist.
        InvalidInput: No item would be left, or the list cannot be read.
        Conflict: The candidates of the collection follow the window rule, its items are nodes, other library versions
            described its items, or the ids belong to another generation.
        StoreError, StoreBusy: As `Store.draft` and `Draft.publish` raise them. Nothing is published then.
    """
    clock = Clock(progress or Progress())
    kind = kind_named(store.collection(collection).kind)
    # The draft locks the collection, so no generation is published before `base` is opened.
    with store.draft(collection, kind.name) as draft, store.open(collection) as base:
        recipe = kind.recipe(base.manifest.recipe)
        require_changeable(base, kind, recipe)
        with clock.stage("list"):
            selection = resolve_list(items, by, base, kind, recipe)
        if not len(selection.ids):
            return RemovalResult(base.manifest, 0, selection.missing)
        remaining_ids = _remaining_ids(base.size, selection)
        with clock.stage("compile"), report_compilation(clock.progress):
            compile_kernels(kind.warmup_descriptors(recipe), recipe.top_k)
        with clock.stage("older items", base.size, kind.plural):
            all_descriptors = kind.load_descriptors(base, recipe, kind.digests(base, recipe))
            remaining = all_descriptors.take(remaining_ids)
        with clock.stage("items"):
            remaining_items = RemainingItems.from_generation(base, remaining_ids, kind.computed_columns)
            for rejections in base.rejections():
                draft.append_rejections(rejections)
            write_items(remaining_items.batches(), remaining.words, draft)
        with clock.stage("index"):
            draft.write_index(remaining.index())
        remaining_graph = RemainingGraph(base.graph(), truncated_counts(base), remaining_ids, recipe.top_k)
        with clock.stage("join", len(remaining_graph.order), kind.plural) as advance:
            added, dropped = remaining_graph.find_replacements(
                all_descriptors.take(remaining_graph.order), remaining, workers, advance
            )
        with clock.stage("write"):
            tally = Tally(len(remaining), recipe.threshold)
            write_edges(chain(csr.edge_blocks(remaining_graph.graph, np.float32(0)), [added]), dropped, tally, draft)
        removal = Removal(**selection.source.model_dump(), by=selection.by, items=len(selection.ids))
        provenance = removal_provenance(base.manifest, recipe, removal, remaining_items, tally, dropped, clock)
        manifest = make_report(draft.publish(provenance), provenance)
        report_notes(clock.progress, change_notes(base.manifest, provenance))
        return RemovalResult(manifest, len(selection.ids), selection.missing)


def _remaining_ids(items: int, selection: ListedItems) -> Int32:
    """Return the ids of the items that are not listed."""
    remaining = np.delete(np.arange(items, dtype=np.int32), selection.ids)
    if not len(remaining):
        raise InvalidInput(
            "no item would be left in the collection",
            given=f"a list of all {items:,} items",
            expected="a list that leaves at least one item",
            hint="list fewer items; `graphkin delete` (in Python Collections.delete) deletes a whole collection",
        )
    return remaining
