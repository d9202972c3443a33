"""The one place that strings the stages together: source > records > items > pairs > edges > generation."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from functools import partial
from importlib.metadata import version

import numpy as np
import pyarrow as pa

from graphkin.ingest.collect import Collector, collector
from graphkin.ingest.options import IngestOptions
from graphkin.ingest.progress import Clock, Progress
from graphkin.ingest.reading import opened, parsed
from graphkin.ingest.tally import Tally
from graphkin.ingest.warmup import compile_kernels
from graphkin.ingest.workspace import Workspace
from graphkin.protocol.manifest import Counts, Manifest, Provenance
from graphkin.similarity.kind import Descriptors
from graphkin.similarity.kinds import kind_of_recipe
from graphkin.similarity.recipe import Recipe
from graphkin.store.base import Draft, Store
from graphkin.store.identity import links_digest

__all__ = ["IngestOptions", "ingest"]

_FINGERPRINT_BLOCK = 65_536


def ingest(
    store: Store,
    collection: str,
    files: Sequence[str],
    recipe: Recipe,
    options: IngestOptions | None = None,
    progress: Progress | None = None,
) -> Manifest:
    """Build and publish one generation of `collection` from files ("-": standard input) of what the recipe is for.

    Returns the published manifest. Raises `InvalidInput` for files that cannot be read, for no item at all, and
    for more than `max_rejected` of the records rejected; `StoreError` and `StoreBusy` as the store does. On every
    error, and on a crash, nothing is published.
    """
    options = options or IngestOptions()
    clock = Clock(progress or Progress())
    kind = kind_of_recipe(recipe)
    with ExitStack() as stack:
        sources = [stack.enter_context(closing(source)) for source in opened(files, kind, recipe, options)]
        draft = stack.enter_context(store.draft(collection, kind.name))
        with clock.stage("compile"):
            compile_kernels(kind.specimen(recipe), recipe.top_k)
        workspace = Workspace(draft.workspace)
        workspace.prepare()
        table = parsed(kind, sources, recipe, options, draft, workspace, clock)
        with clock.stage("items"):
            descriptors, items = table.finish(partial(kind.descriptors, recipe=recipe))
            _write_items(items, descriptors, draft)
            if descriptors.links is not None:
                draft.write_links(descriptors.links)
        with clock.stage("index"):
            draft.write_index(descriptors.index())
        with clock.stage("join", len(descriptors), kind.plural) as advance:
            collected = _collect(descriptors, recipe, options.workers, workspace, advance)
        with clock.stage("cap"):
            blocks, dropped = collected.finish()
        with clock.stage("write"):
            tally = Tally(len(descriptors), recipe.threshold)
            for edges in blocks:
                draft.append_edges(edges)
                tally.add(edges)
            draft.write_dropped(dropped)
            draft.write_forest(tally.forest.edges())
        provenance = Provenance(
            kind=kind.name,
            structure=kind.structure,
            recipe=recipe.model_dump(mode="json"),
            versions={**kind.versions(recipe), **library_versions()},
            libraries=sorted(kind.versions(recipe)),
            inputs=[read for source in sources for read in source.inputs()],
            counts=Counts(
                read=table.read,
                kept=len(descriptors),
                duplicates=table.read - table.rejected - len(descriptors),
                rejected=table.rejected,
            ),
            edges=tally.edges,
            dropped=int(dropped.sum(dtype=np.int64)) // 2,
            properties=table.properties.types,
            written=table.properties.written,
            links=None if descriptors.links is None else links_digest(descriptors.links),
            histograms=tally.histograms(),
            times=clock.times,
        )
        manifest = draft.publish(provenance)
        workspace.remove()
        return manifest


def _write_items(items: Iterator[pa.RecordBatch], descriptors: Descriptors, draft: Draft) -> None:
    for batch in items:
        draft.append_items(batch)
    for start in range(0, len(descriptors), _FINGERPRINT_BLOCK):
        draft.append_fingerprints(descriptors.words[start : start + _FINGERPRINT_BLOCK])


def _collect(
    descriptors: Descriptors,
    recipe: Recipe,
    threads: int,
    workspace: Workspace,
    advance: Callable[[int], object],
) -> Collector:
    """All similar pairs, those that an earlier run has left in the workspace among them."""
    made_from = (recipe.model_dump_json().encode(), *descriptors.content)
    collected = collector(descriptors.tie, recipe.top_k, workspace, *made_from)
    for pairs in descriptors.pairs(collected.begin, threads, advance):
        collected.add(pairs)
    return collected


def library_versions() -> dict[str, str]:
    """Of what computes, whatever the kind of items."""
    return {name: version(name) for name in ("graphkin", "numpy", "numba", "pyarrow")}
