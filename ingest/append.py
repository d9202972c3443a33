"""Append: the pipeline that adds files to a collection.

It applies the stages of an ingest to the new records only. The result equals one ingest of all files.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from graphkin.ingest.base import require_changeable, truncated_counts
from graphkin.ingest.collect import open_collector
from graphkin.ingest.items import OldItems, Properties
from graphkin.ingest.neighbor_lists import NeighborLists
from graphkin.ingest.notes import change_notes, column_notes, differing_notes, report_notes
from graphkin.ingest.options import IngestOptions
from graphkin.ingest.progress import Clock, Progress, report_compilation
from graphkin.ingest.provenance import ingest_provenance, record_counts, repeat_provenance
from graphkin.ingest.readers import Input
from graphkin.ingest.reading import chunks, open_sources, parse_sources, parser_pool
from graphkin.ingest.reruns import save_report
from graphkin.ingest.tally import Tally
from graphkin.ingest.warmup import compile_growth, compile_kernels
from graphkin.ingest.workspace import Workspace
from graphkin.ingest.writing import write_edges, write_items
from graphkin.protocol.errors import Conflict
from graphkin.protocol.manifest import Counts, Manifest
from graphkin.protocol.parameters import parameter
from graphkin.similarity.kind import Kind
from graphkin.similarity.kinds import kind_of
from graphkin.similarity.recipe import Recipe
from graphkin.store.base import Generation, Store
from graphkin.store.columns import texts, titles
from graphkin.store.records import Int32


@dataclass(frozen=True)
class AppendResult:
    """Result of an append.

    Attributes:
        manifest: Manifest of the current generation, or the report of this run if it changed nothing (`make_report`).
        items: Number of new items.
        named: Number of old items that got more names.
        counts: Counts of the records of the appended files. `kept` counts the new items.
    """

    manifest: Manifest
    items: int
    named: int
    counts: Counts


def append(
    store: Store,
    collection: str,
    files: Sequence[Input],
    options: IngestOptions | None = None,
    progress: Progress | None = None,
) -> AppendResult:
    """Append files to a collection and publish the result as a new generation.

    The new generation equals one ingest of the old files, followed by these files, with the recipe of the collection.

    Args:
        store: The store.
        collection: Name of the collection.
        files: Paths of the files to append, "-" for standard input, or data in memory.
        options: Options of the run.
        progress: Receives progress reports.

    Raises:
        NotFound: The collection does not exist.
        Conflict: The collection cannot grow, because its candidates follow the window rule, its items are nodes, or
            other library versions described its items; or its duplicates are merged in another way than "first", and
            the files have other values of its items.
        InvalidInput, StoreError, StoreBusy: As `graphkin.ingest.pipeline.ingest` raises them.
    """
    options = options or IngestOptions()
    clock = Clock(progress or Progress())
    with ExitStack() as stack:
        draft = stack.enter_context(store.growth(collection))
        base = draft.base
        kind = kind_of(base)
        recipe = kind.recipe(base.manifest.recipe)
        require_changeable(base, kind, recipe)
        _require_no_conflicts(base)
        options = replace(options, duplicates=base.manifest.duplicates)
        warmup_descriptors = kind.warmup_descriptors(recipe).with_device(options.device)
        sources = [stack.enter_context(closing(source)) for source in open_sources(files, kind, recipe, options)]
        workspace = Workspace(draft.workspace)
        workspace.prepare()
        pool = stack.enter_context(parser_pool(kind, recipe, options, workspace))
        with clock.stage("compile"), report_compilation(clock.progress):
            with ThreadPoolExecutor(1) as executor:
                if base.is_local:
                    executor.submit(base.graph)  # so that the graph is read and checked while kernels compile
                compile_kernels(warmup_descriptors, recipe.top_k)
            compile_growth(warmup_descriptors, base.graph(), base.forest(), recipe.top_k)
        pool.start(chunks(sources))
        with clock.stage("older items", base.size, kind.plural):
            digests = kind.digests(base, recipe)
            older, graph, dropped = kind.load_descriptors(base, recipe, digests), base.graph(), truncated_counts(base)
        table = parse_sources(kind, sources, recipe, options, draft, pool, clock, _older_items(base, kind, digests))
        with clock.stage("items"):
            newer, items = table.finish(partial(kind.descriptors, recipe=recipe))
            counts = record_counts(table.read, table.rejected, len(newer))
            rejections = [*base.rejections(), *table.rejections]
            if not len(newer) and not table.added_names.num_rows:
                workspace.remove()
                report_notes(clock.progress, differing_notes(table.differing, options.duplicates))
                provenance = repeat_provenance(base.manifest, sources, table, clock)
                manifest = save_report(store, collection, base.manifest, provenance, rejections)
                return AppendResult(manifest, 0, 0, counts)
            write_items(items, newer.words, draft)
            draft.append_names(table.added_names)
            descriptors = older.concatenate(newer).with_device(options.device)
        lists = NeighborLists(graph, dropped, descriptors.tie, recipe.top_k, descriptors.similarities, options.workers)
        with clock.stage("join", len(descriptors), kind.plural) as advance:
            key_parts = (
                recipe.model_dump_json().encode(),
                options.device.encode(),
                base.id.encode(),
                *newer.content,
            )
            collected = open_collector(descriptors.tie, recipe.top_k, workspace, *key_parts, old_lists=lists)
            for pairs in descriptors.new_pairs(base.size, collected.first_task, options.workers, advance):
                collected.add(pairs)
        with clock.stage("cap"):
            changes = collected.changes(lists)
        with clock.stage("write"):
            draft.remove_edges(changes.removed)
            tally = Tally.after_removal(len(descriptors), base, changes.removed)
            write_edges(changes.added, changes.dropped, tally, draft)
        provenance = ingest_provenance(
            recipe, sources, table, descriptors, tally, changes.dropped, clock, base=base.manifest
        )
        manifest = draft.publish(provenance)
        workspace.remove()
        report_notes(clock.progress, [*change_notes(base.manifest, provenance), *column_notes(provenance)])
        manifest = save_report(store, collection, manifest, provenance, rejections)
        return AppendResult(manifest, len(newer), table.added_names.num_rows, counts)


def _require_no_conflicts(base: Generation) -> None:
    """Check that no records of conflicting values were rejected, because new records could belong to their items."""
    if base.manifest.duplicates == "reject" and base.manifest.differing.counts:
        raise Conflict(
            "an append cannot tell whether new records belong to items that were rejected for their conflicting values",
            given=f"a collection with {parameter('--duplicates', 'reject')} and such items",
            expected="a collection without such items",
            hint="ingest the old and the new files together",
        )


def _older_items(base: Generation, kind: Kind[Recipe], digests: bytes) -> OldItems:
    def names(ids: Int32) -> pa.ListArray:
        return base.take(ids, ["names"])["names"]

    def source_texts(ids: Int32) -> dict[str, pa.Array]:
        source_titles = {
            name: title for name, title in titles(base.manifest.properties).items() if name not in kind.computed_columns
        }
        rows = base.take(ids, [*source_titles.values()])
        return {name: texts(rows[title]) for name, title in source_titles.items()}

    properties = Properties.from_manifest(kind.computed_columns, base.manifest)
    is_first = base.manifest.duplicates == "first"
    merged = () if is_first else tuple(base.manifest.differing.counts)
    return OldItems(digests, properties, names, source_texts, lambda: base.fingerprints().words, merged)
