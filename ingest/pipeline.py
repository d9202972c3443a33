"""The ingest pipeline, which builds a generation in memory: source > records > items > pairs > edges > generation."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from functools import partial

from graphkin.ingest.collect import Collector, open_collector
from graphkin.ingest.items import OldItems
from graphkin.ingest.notes import column_notes, report_notes
from graphkin.ingest.options import IngestOptions
from graphkin.ingest.progress import Clock, Progress, duration, report_compilation
from graphkin.ingest.provenance import ingest_provenance
from graphkin.ingest.readers import Input
from graphkin.ingest.reading import chunks, missing_names_note, open_sources, parse_sources, parser_pool
from graphkin.ingest.reruns import save_report
from graphkin.ingest.stability import measure_stability
from graphkin.ingest.tally import Tally
from graphkin.ingest.warmup import compile_kernels
from graphkin.ingest.workspace import Workspace
from graphkin.ingest.writing import write_edges, write_items
from graphkin.protocol.manifest import Manifest
from graphkin.protocol.parameters import parameter
from graphkin.similarity.kind import Descriptors
from graphkin.similarity.kinds import kind_of_recipe
from graphkin.similarity.nodes.descriptors import NodeDescriptors
from graphkin.similarity.recipe import Recipe
from graphkin.store.base import Store

__all__ = ["IngestOptions", "ingest"]

_LONG = 60  # seconds of a join of nodes that is announced


def ingest(
    store: Store,
    collection: str,
    files: Sequence[Input],
    recipe: Recipe,
    options: IngestOptions | None = None,
    progress: Progress | None = None,
) -> Manifest:
    """Build one generation of a collection from files, and publish it.

    If an error is raised, or if the process crashes, nothing is published.

    Args:
        store: The store.
        collection: Name of the collection.
        files: Paths of the files, "-" for standard input, or data in memory.
        recipe: Recipe of the items, which also decides their kind.
        options: Options of the run.
        progress: Receives progress reports.

    Returns:
        The published manifest. If an earlier run has published the same generation, the result is a `RepeatedManifest`
        with the counts of this run, whose rejections `Store.rerun` returns.

    Raises:
        InvalidInput: A file cannot be read, there is no item at all, or the share of rejected records exceeds
            `max_rejected`, or this machine cannot compare such items on `options.device`.
        StoreError, StoreBusy: As `Store.draft` and `Draft.publish` raise them.
    """
    options = options or IngestOptions()
    clock = Clock(progress or Progress())
    kind = kind_of_recipe(recipe)
    warmup_descriptors = kind.warmup_descriptors(recipe).with_device(options.device)
    with ExitStack() as stack:
        sources = [stack.enter_context(closing(source)) for source in open_sources(files, kind, recipe, options)]
        draft = stack.enter_context(store.draft(collection, kind.name))
        workspace = Workspace(draft.workspace)
        workspace.prepare()
        pool = stack.enter_context(parser_pool(kind, recipe, options, workspace))
        with clock.stage("compile"), report_compilation(clock.progress):
            compile_kernels(warmup_descriptors, recipe.top_k)
        pool.start(chunks(sources))
        table = parse_sources(kind, sources, recipe, options, draft, pool, clock, OldItems.empty(kind.computed_columns))
        with clock.stage("items"):
            descriptors, items = table.finish(partial(kind.descriptors, recipe=recipe))
            descriptors = descriptors.with_device(options.device)
            write_items(items, descriptors.words, draft)
            if descriptors.links is not None:
                draft.write_links(descriptors.links)
        if not table.names and "csv" in kind.file_formats:
            clock.progress.note(missing_names_note(table.properties))
        with clock.stage("index"):
            draft.write_index(descriptors.index())
        report_notes(clock.progress, _forecasts(descriptors, options.workers))
        with clock.stage("join", len(descriptors), kind.plural) as advance:
            collected = _collect(descriptors, recipe, options, workspace, advance)
        with clock.stage("cap"):
            blocks, dropped = collected.finish()
        stability = None
        if isinstance(descriptors, NodeDescriptors):
            with clock.stage("stability"):
                stability = measure_stability(descriptors, options.workers)
        with clock.stage("write"):
            tally = Tally(len(descriptors), recipe.threshold)
            write_edges(blocks, dropped, tally, draft)
        provenance = ingest_provenance(recipe, sources, table, descriptors, tally, dropped, clock)
        provenance = provenance.model_copy(update={"stability": stability})
        manifest = draft.publish(provenance)
        workspace.remove()
        report_notes(clock.progress, column_notes(provenance))
        return save_report(store, collection, manifest, provenance, table.rejections)


def _forecasts(descriptors: Descriptors, threads: int) -> list[str]:
    """Return a sentence about the time of a join of nodes that takes long, because it grows with their square."""
    if not isinstance(descriptors, NodeDescriptors) or not descriptors.compares_all:
        return []
    seconds = descriptors.join.seconds / threads
    if seconds < _LONG:
        return []
    sentence = f"comparing all pairs of {len(descriptors):,} nodes takes some {duration(seconds)}"
    closeness = parameter("--closeness", 10)
    return [f"{sentence}; {closeness} compares only subgraphs of similar size, and misses other pairs"]


def _collect(
    descriptors: Descriptors,
    recipe: Recipe,
    options: IngestOptions,
    workspace: Workspace,
    advance: Callable[[int], object],
) -> Collector:
    """Collect all similar pairs. If an earlier run on the same device left a checkpoint, continue from it."""
    key_parts = (recipe.model_dump_json().encode(), options.device.encode(), *descriptors.content)
    collected = open_collector(descriptors.tie, recipe.top_k, workspace, *key_parts)
    for pairs in descriptors.pairs(collected.first_task, options.workers, advance):
        collected.add(pairs)
    return collected
