"""The one place that strings the stages together: source > records > items > pairs > edges > generation."""

import csv
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pyarrow as pa

from graphkin.ingest.agreement import Agreement
from graphkin.ingest.cap import Cap
from graphkin.ingest.collect import Collector, collector
from graphkin.ingest.forest import SpanningForest
from graphkin.ingest.items import ItemTable
from graphkin.ingest.parsing import Chunk
from graphkin.ingest.pool import ParserPool
from graphkin.ingest.progress import Progress
from graphkin.ingest.readers import ReadOptions, Source, open_source
from graphkin.ingest.readers.networks import open_network
from graphkin.ingest.workspace import Workspace
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.manifest import Counts, Histogram, Manifest, Provenance
from graphkin.similarity.kind import Descriptors, Kind
from graphkin.similarity.kinds import kind_of_recipe
from graphkin.similarity.nodes.recipe import NodeRecipe
from graphkin.similarity.recipe import Recipe
from graphkin.store import csr
from graphkin.store.base import Draft, Store
from graphkin.store.identity import links_digest
from graphkin.store.records import REJECTION_SCHEMA, Edges

_FINGERPRINT_BLOCK = 65_536


@dataclass(frozen=True)
class IngestOptions:
    """How to run, none of it deciding the edges. `workers`: processes that parse, and threads of the join.
    `max_size`: atoms or nodes of the largest item that is kept; None: as many as the kind has by default."""

    read: ReadOptions = field(default_factory=ReadOptions)
    max_size: int | None = None
    max_rejected: float = 0.1  # share of records
    labels: Sequence[str] = ()  # files with labels of nodes, for each file with a big graph
    names: Sequence[str] = ()  # files with names of rows, for each file with an array
    workers: int = os.cpu_count() or 1
    rejections_file: Path | None = None  # where the rejections of a run that failed by them are left


class _Tally:
    """What is told of edges that pass in blocks."""

    def __init__(self, items: int, threshold: float) -> None:
        self.edges = 0
        self.forest = SpanningForest(items)
        self._degrees = np.zeros(items, np.int64)
        self._steps = np.linspace(np.float32(threshold), 1, 21)
        self._similar = np.zeros(20, np.int64)

    def add(self, edges: Edges) -> None:
        self.edges += len(edges)
        self.forest.add(edges)
        for ends in (edges.source, edges.target):
            self._degrees += np.bincount(ends, minlength=len(self._degrees))
        self._similar += np.histogram(edges.similarity, bins=self._steps)[0]

    def histograms(self) -> dict[str, Histogram]:
        powers = [0, *(2**power for power in range(int(self._degrees.max()).bit_length() + 1))]
        counted, _ = np.histogram(self._degrees, bins=powers)
        return {
            "degree": Histogram(edges=[float(edge) for edge in powers], counts=counted.tolist()),
            "similarity": Histogram(edges=self._steps.tolist(), counts=self._similar.tolist()),
        }


class _Clock:
    """Seconds by stage."""

    def __init__(self, progress: Progress) -> None:
        self.times: dict[str, float] = {}
        self._progress = progress

    @contextmanager
    def stage(self, name: str, total: int | None = None, unit: str = "") -> Iterator[Callable[[int], object]]:
        begin = time.perf_counter()
        with self._progress.stage(name, total, unit) as advance:
            yield advance
        self.times[name] = round(time.perf_counter() - begin, 3)


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
    clock = _Clock(progress or Progress())
    kind = kind_of_recipe(recipe)
    with ExitStack() as stack:
        sources = [stack.enter_context(closing(source)) for source in _open(files, kind, recipe, options)]
        draft = stack.enter_context(store.draft(collection, kind.name))
        with clock.stage("compile"):
            _compile_kernels(kind.specimen(recipe), recipe.top_k)
        workspace = Workspace(draft.workspace)
        workspace.prepare()
        table = _parse(kind, sources, recipe, options, draft, workspace, clock)
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
            tally = _Tally(len(descriptors), recipe.threshold)
            for edges in blocks:
                draft.append_edges(edges)
                tally.add(edges)
            draft.write_dropped(dropped)
            draft.write_forest(tally.forest.edges())
        provenance = Provenance(
            kind=kind.name,
            structure=kind.structure,
            recipe=recipe.model_dump(mode="json"),
            versions={**kind.versions(recipe), **_versions()},
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
            properties=dict(table.property_types),
            written=table.written,
            links=None if descriptors.links is None else links_digest(descriptors.links),
            histograms=tally.histograms(),
            times=clock.times,
        )
        manifest = draft.publish(provenance)
        workspace.remove()
        return manifest


def _open(files: Sequence[str], kind: Kind[Recipe], recipe: Recipe, options: IngestOptions) -> Iterator[Source]:
    if isinstance(recipe, NodeRecipe):
        beside = _beside(files, options.labels, "labels")
        return (open_network(file, recipe, options.read, labels) for file, labels in beside)
    beside = _beside(files, options.names, "names")
    return (open_source(file, kind.files, options.read, names=names) for file, names in beside)


def _beside(files: Sequence[str], given: Sequence[str], what: str) -> Iterator[tuple[str, str | None]]:
    """Each file, and the one that was given for it, if any were. Raises `InvalidInput`."""
    others: Sequence[str | None] = given or [None] * len(files)
    if len(others) != len(files):
        raise InvalidInput(
            f"{what} are given for each file or for none",
            given=f"{len(files)} files, {len(others)} of {what}",
            expected=f"one --{what} for each file, in the same order",
        )
    return zip(files, others, strict=True)


def _parse(
    kind: Kind[Recipe],
    sources: list[Source],
    recipe: Recipe,
    options: IngestOptions,
    draft: Draft,
    workspace: Workspace,
    clock: _Clock,
) -> ItemTable:
    table = ItemTable(kind.computed)
    max_size = options.max_size or kind.max_size
    pool = ParserPool(kind.describer, recipe, max_size, options.workers, workspace)
    column = kind.agreeing(recipe)
    review = {} if column is None else {"reviewed": Agreement(column).reviewed}
    total = sum(source.bytes_total or 0 for source in sources) or None
    rejected: list[pa.RecordBatch] = []
    with clock.stage("parse", total, "B") as advance:
        done = 0
        for parsed in pool.parse(_chunks(sources), **review):
            table.add(parsed)
            if parsed.rejections.num_rows:
                rejected.append(parsed.rejections)
                draft.append_rejections(parsed.rejections)
            reached = sum(source.bytes_read for source in sources)
            advance(reached - done)
            done = reached
    _require_items(table, rejected, options)
    return table


def _chunks(sources: list[Source]) -> Iterator[Chunk]:
    for source in sources:
        for records in source:
            yield Chunk(source.name, source.writing, records)


def _require_items(table: ItemTable, rejected: list[pa.RecordBatch], options: IngestOptions) -> None:
    share = table.rejected / table.read if table.read else 0.0
    if table.read > table.rejected and share <= options.max_rejected:
        return
    if not table.read:
        raise InvalidInput("the input holds no record", expected="at least one")
    hint = "see what is wrong with them, or allow more with --max-rejected"
    if options.rejections_file is not None:
        hint = f"{_saved(rejected, options.rejections_file)}; mend them, or allow more with --max-rejected"
    first = rejected[0].slice(0, 1).to_pylist()[0]
    raise InvalidInput(
        f"{table.rejected} of {table.read} records ({share:.1%}) were rejected; nothing was published",
        given=f"first: {first['source']}:{first['line']}: {first['reason'][:300]}",
        expected=f"one that is kept, and at most {options.max_rejected:.1%} rejected",
        hint=hint,
    )


def _saved(rejected: list[pa.RecordBatch], path: Path) -> str:
    """Write the rejections as CSV and say where they are."""
    try:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(REJECTION_SCHEMA.names)
            for batch in rejected:
                writer.writerows(zip(*(column.to_pylist() for column in batch.columns), strict=True))
    except OSError as error:
        return f"they could not be saved in {path} ({error.strerror})"
    return f"they are listed in {path}"


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


def _compile_kernels(specimen: Descriptors, top_k: int) -> None:
    """Run the compiled stages once on two items, so that their times are their own."""
    specimen.index()
    for pairs in specimen.pairs(0, 1, lambda _: None):
        capped = Cap(specimen.tie, top_k or 1)
        capped.add(pairs)
        kept, _ = capped.finish()
        edges = Edges(kept.left, kept.right, kept.similarity.astype(np.float32))
        forest = SpanningForest(2)
        forest.add(edges)
        forest.edges()
        csr.build(edges, 2)


def _versions() -> dict[str, str]:
    return {name: version(name) for name in ("graphkin", "numpy", "numba", "pyarrow")}
