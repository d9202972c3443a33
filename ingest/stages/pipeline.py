"""The larger-than-memory ingest pipeline, which connects the stages. `ingest.pipeline` is the one in memory."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from graphkin.ingest.items import require_enough_ids
from graphkin.ingest.notes import column_notes, report_notes
from graphkin.ingest.options import IngestOptions
from graphkin.ingest.progress import Clock, Progress
from graphkin.ingest.provenance import provenance, record_counts, versions
from graphkin.ingest.reading import missing_names_note, pair_files, require_items
from graphkin.ingest.runners.base import Runner
from graphkin.ingest.stages import blocks, edges, items, pairs, records
from graphkin.ingest.stages.engine import Engine
from graphkin.ingest.stages.files import file_states, match_files
from graphkin.ingest.stages.job import Job, Sizes, job_key
from graphkin.ingest.tally import histograms, similarity_bin_edges
from graphkin.protocol.errors import InvalidInput, StoreError
from graphkin.protocol.manifest import Input, Manifest
from graphkin.runtime.files import absolute_location
from graphkin.similarity.fingerprints.recipe import BitsRecipe
from graphkin.similarity.kind import Kind
from graphkin.similarity.kinds import kind_of_recipe
from graphkin.similarity.molecules.recipe import MoleculeRecipe
from graphkin.similarity.nodes.recipe import NodeRecipe
from graphkin.similarity.recipe import Recipe
from graphkin.store.base import require_collection_name
from graphkin.store.lake.draft import publish_lake, require_new, sweep
from graphkin.store.lake.export_folder import LOCK, WORK
from graphkin.store.lake.layout import MANIFEST, Group, Part
from graphkin.store.records import Int64


def ingest(
    runner: Runner,
    url: str,
    collection: str,
    files: Sequence[str],
    recipe: Recipe,
    options: IngestOptions | None = None,
    progress: Progress | None = None,
    sizes: Sizes | None = None,
) -> Manifest:
    """Build one generation of a collection from files, and publish it as a Parquet export.

    The generation and its files equal those that `ingest.pipeline.ingest` writes to an export. If a run is killed, the
    next run continues with its unfinished tasks.

    Args:
        runner: Runs the tasks.
        url: URL of the export.
        collection: Name of the collection.
        files: Paths or URLs of the files. Every task must be able to read them. A URL may have wildcards (*).
        recipe: Recipe of the items, which also decides their kind.
        options: Options of the run.
        progress: Receives progress reports.
        sizes: Sizes of the tasks.

    Raises:
        InvalidInput: As `ingest.pipeline.ingest` raises it, or an item depends on more than its own records.
        Conflict: The URL holds another export or other files.
        StoreError: Another process is writing to the local folder, or has published there in the meantime.
    """
    options = options or IngestOptions()
    kind = kind_of_recipe(recipe)
    _require_possible(kind, recipe, options)
    require_collection_name(collection)
    job = _job(url, files, recipe, options, sizes or Sizes())
    release = job.export_folder.claim()
    try:
        _prepare(job)
        return _run_and_publish(runner, job, collection, Clock(progress or Progress()))
    except (FileNotFoundError, StoreError) as error:
        if MANIFEST not in job.export_folder.names():
            raise
        sweep(job.export_folder, job.run)
        raise job.export_folder.overtaken_error() from error
    finally:
        release()


def _run_and_publish(runner: Runner, job: Job, collection: str, clock: Clock) -> Manifest:
    """Run all stages, and publish their output."""
    kind, recipe, sizes = job.kind, job.recipe, job.sizes
    engine = Engine(runner, job, clock)
    files = [file for file, _ in job.files]

    file_results = engine.run("read", records.read, len(files))
    parts = records.list_parts(file_results)
    groups = max(1, -(-sum(sum(file["sizes"]) for file in file_results) // sizes.group))
    parsed = engine.run("parse", partial(records.parse, parts, groups), len(parts))
    in_all, rejected = (sum(each[name] for each in parsed) for name in ("read", "rejected"))
    require_items(in_all, rejected, partial(_rejections, job, len(parts)), job.options)
    part_results = engine.run("reject", partial(records.reject, len(parts)), 1)
    engine.run("distinct", partial(items.distinct, len(parts)), groups)
    engine.run("repeat", partial(items.repeat, groups, len(parts)), len(parts))
    item_results = engine.run("keep", partial(items.keep, groups, len(parts)), len(parts))
    properties = items.merge_properties(job, item_results)
    if not any(each["names"] for each in item_results) and "csv" in kind.file_formats:
        clock.progress.note(missing_names_note(properties))
    starts = np.cumsum([0, *(each["kept"] for each in item_results)])
    size = int(starts[-1])
    require_enough_ids(size)
    rendered = engine.run("render", partial(items.render, starts, properties), -(-size // sizes.rows))
    part_results += rendered
    shards = -(-size // sizes.owners)
    tasks = _compare(engine, job, rendered, size, shards)
    engine.run("best", partial(edges.best, tasks, shards), shards)
    job.discard("kept-pairs")
    shard_results = engine.run("shard", partial(edges.shard, tasks, shards, size), shards)
    job.discard("kept-edges")
    part_results += shard_results
    forests, level = shards, 0
    while level == 0 or forests > 1:
        engine.run(f"merge-{level}", partial(edges.merge, level, forests, size), edges.merged_count(forests))
        forests, level = edges.merged_count(forests), level + 1
    part_results += engine.run("forest", partial(edges.write_forest, level), 1)

    run_provenance = provenance(
        recipe,
        inputs=[Input(**each) for file in file_results for each in file["inputs"]],
        counts=record_counts(in_all, rejected, size),
        properties=properties,
        duplicates=job.options.duplicates,
        differing=items.merge_differing(item_results),
        edges=sum(each["edges"] for each in shard_results),
        dropped=sum(each["dropped"] for each in shard_results) // 2,
        histograms=histograms(
            _sum_histograms(each["degrees"] for each in shard_results),
            similarity_bin_edges(recipe.threshold),
            _sum_histograms(each["similar"] for each in shard_results),
        ),
        clock=clock,
    )
    hashed = [bytes.fromhex(block) for each in rendered for block in each["blocks"]]
    manifest = publish_lake(job.export_folder, collection, run_provenance, hashed, _parts(part_results))
    with suppress(FileNotFoundError, StoreError):  # the generation is already published
        job.export_folder.remove_folder(WORK)
    report_notes(clock.progress, column_notes(run_provenance))
    return manifest


def _require_possible(kind: Kind[Recipe], recipe: Recipe, options: IngestOptions) -> None:
    if options.device != "cpu":
        raise InvalidInput(
            "a larger-than-memory ingest compares items on the CPU only",
            given=f"device {options.device}",
            expected="--engine local, or --device cpu",
            hint="leave --device out, or use --engine local",
        )
    if options.duplicates == "reject":
        raise InvalidInput(
            "a larger-than-memory ingest cannot reject duplicates with conflicting values",
            given="duplicates reject",
            expected="first, mean, median or list",
            hint="use --engine local, or another --duplicates",
        )
    consistent_column = kind.consistent_column(recipe)
    if isinstance(recipe, NodeRecipe):
        refused = "nodes of big graphs"
    elif consistent_column is not None:
        refused = f"a {kind.name} whose records must agree in their {consistent_column}"
    else:
        return
    raise InvalidInput(
        f"a larger-than-memory ingest does not support {refused}",
        given=kind.name,
        expected="items that are described by their records alone",
        hint="use --engine local",
    )


def _job(url: str, files: Sequence[str], recipe: Recipe, options: IngestOptions, sizes: Sizes) -> Job:
    paired_files = tuple(pair_files(match_files(files), match_files(options.names), "names"))
    states = [file_states(each) for pair in paired_files for each in pair if each is not None]
    settings = [repr(options.read), options.max_size, options.duplicates, asdict(sizes)]
    used_versions = versions(recipe)
    key = job_key(recipe.model_dump(mode="json"), used_versions, states, settings)
    return Job(absolute_location(url), key, str(Path.cwd()), paired_files, recipe, options, sizes, used_versions)


def _rejections(job: Job, parts: int) -> Iterator[pa.RecordBatch]:
    for part in range(parts):
        yield from job.read("rejected", part).to_batches()


def _prepare(job: Job) -> None:
    """Remove the files that other jobs have left in a local folder. The caller must hold the lock of the folder.

    Raises:
        Conflict: The destination holds another export or other files.
    """
    leftovers = require_new(job.export_folder)
    if job.export_folder.is_local:
        for name in leftovers:
            if job.run not in name and name != LOCK:
                job.export_folder.remove(name)


def _compare(engine: Engine, job: Job, rendered: list[dict[str, Any]], size: int, shards: int) -> int:
    """Run the join, in blocks if the recipe allows it, and return the number of its tasks."""
    if not (isinstance(job.recipe, BitsRecipe | MoleculeRecipe) and job.recipe.candidates == "exact"):
        engine.run("compare", partial(pairs.compare_all, len(rendered), shards), 1)
        return 1
    starts = blocks.sorted_positions([each["popcounts"] for each in rendered])
    block = blocks.block_size(size, job.sizes.block)
    count = -(-size // block)
    engine.run("spread", partial(blocks.spread, starts, count, block), len(rendered))
    gathered = engine.run("block", partial(blocks.gather, len(rendered)), count)
    plan = blocks.plan(gathered, job.recipe.threshold, job.sizes.columns)
    engine.run("compare", partial(pairs.compare, plan, shards), len(plan))
    return len(plan)


def _parts(results: Iterable[dict[str, Any]]) -> dict[Group, list[Part]]:
    parts: dict[Group, list[Part]] = {}
    for result in results:
        for group, group_parts in result["parts"].items():
            parts.setdefault(group, []).extend(Part(**part) for part in group_parts)
    return parts


def _sum_histograms(counts: Iterable[list[int]]) -> Int64:
    """Return the sum of histograms of different lengths."""
    histograms_to_sum = list(counts)
    total = np.zeros(max(map(len, histograms_to_sum)), np.int64)
    for histogram in histograms_to_sum:
        total[: len(histogram)] += histogram
    return total
