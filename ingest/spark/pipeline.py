"""The one place that strings the stages of Spark's ingest together; those of one machine are in `ingest.pipeline`."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from pyspark import SparkContext

from graphkin.ingest.options import IngestOptions
from graphkin.ingest.pipeline import library_versions
from graphkin.ingest.progress import Clock, Progress
from graphkin.ingest.reading import require_items
from graphkin.ingest.spark import blocks, edges, items, pairs, records
from graphkin.ingest.spark.engine import Engine
from graphkin.ingest.spark.job import WORK, Job, Sizes, key_of
from graphkin.ingest.tally import histograms, steps_from
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.manifest import Counts, Input, Manifest, Provenance
from graphkin.similarity.kinds import kind_of_recipe
from graphkin.similarity.molecules.recipe import MoleculeRecipe
from graphkin.similarity.nodes.recipe import NodeRecipe
from graphkin.similarity.planes import rarest_first
from graphkin.similarity.recipe import Recipe
from graphkin.store.base import require_collection_name
from graphkin.store.lake.draft import publish, require_new
from graphkin.store.lake.layout import Group, Part


def ingest(
    context: SparkContext,
    url: str,
    collection: str,
    files: Sequence[str],
    recipe: Recipe,
    options: IngestOptions | None = None,
    progress: Progress | None = None,
    sizes: Sizes | None = None,
) -> Manifest:
    """Build a generation from files that every executor can read, and publish it as the lake at `url`.

    Items, edges and id are those of `ingest.pipeline.ingest`, file for file what that writes into a lake. A run that
    was killed, started again, goes on with the tasks that it had not finished. Raises `InvalidInput` as that does, and
    `Conflict` where another lake or other files are.
    """
    options = options or IngestOptions()
    sizes = sizes or Sizes()
    clock = Clock(progress or Progress())
    kind = kind_of_recipe(recipe)
    if isinstance(recipe, NodeRecipe):
        raise InvalidInput(
            "Spark does not ingest nodes of big graphs",
            given=kind.name,
            expected="molecules or graphs",
            hint="--engine local does",
        )
    require_collection_name(collection)
    versions = {**kind.versions(recipe), **library_versions()}
    cut = [repr(options.read), repr(options.max_size), asdict(sizes)]
    key = key_of(recipe.model_dump(mode="json"), versions, [_seen(file) for file in files], *cut)
    absolute = url if "://" in url else str(Path(url).absolute())
    job = Job(absolute, key, str(Path.cwd()), tuple(files), recipe, options, sizes)
    _prepare(job)
    engine = Engine(context, job, clock)

    read = engine.run("read", records.read, len(files))
    parts = records.parts_of(read)
    groups = max(1, -(-sum(sum(file["sizes"]) for file in read) // sizes.group))
    parsed = engine.run("parse", partial(records.parse, parts, groups), len(parts))
    counted, rejected = (sum(each[name] for each in parsed) for name in ("read", "rejected"))
    require_items(counted, rejected, lambda: next(row for each in parsed for row in each["first"]), options)
    said = engine.run("reject", partial(records.reject, len(parts)), 1)
    engine.run("distinct", partial(items.distinct, len(parts)), groups)
    kept = engine.run("keep", partial(items.keep, groups), len(parts))
    properties = items.properties_of(job, kept)
    starts = np.cumsum([0, *(each["kept"] for each in kept)])
    size = int(starts[-1])
    rendered = engine.run("render", partial(items.render, starts, properties), -(-size // sizes.rows))
    said += rendered
    shards = -(-size // sizes.owners)
    tasks = _compare(engine, job, rendered, size, shards)
    engine.run("best", partial(edges.best, tasks, shards), shards)
    made = engine.run("shard", partial(edges.shard, tasks, shards, size), shards)
    said += made
    forests, level = shards, 0
    while forests > 1:
        engine.run(f"merge-{level}", partial(edges.merge, level, forests, size), edges.merged(forests))
        forests, level = edges.merged(forests), level + 1
    said += engine.run("forest", partial(edges.plant, level), 1)

    provenance = Provenance(
        kind=kind.name,
        structure=kind.structure,
        recipe=recipe.model_dump(mode="json"),
        versions=versions,
        libraries=sorted(kind.versions(recipe)),
        inputs=[Input(**each) for file in read for each in file["inputs"]],
        counts=Counts(read=counted, kept=size, duplicates=counted - rejected - size, rejected=rejected),
        edges=sum(each["edges"] for each in made),
        dropped=sum(each["dropped"] for each in made) // 2,
        properties=dict(properties.types),
        written=properties.written,
        histograms=histograms(
            _summed(each["degrees"] for each in made),
            steps_from(recipe.threshold),
            _summed(each["similar"] for each in made),
        ),
        times=clock.times,
    )
    hashed = [bytes.fromhex(block) for each in rendered for block in each["blocks"]]
    manifest = publish(job.place, collection, provenance, hashed, _parts(said))
    job.place.remove_folder(WORK)
    return manifest


def _prepare(job: Job) -> None:
    """Leave nothing of another job: what its tasks wrote has the names of what ours will write. Raises `Conflict`."""
    left = require_new(job.place, WORK)
    jobs = {name.split("/")[1] for name in left if name.startswith(f"{WORK}/")}
    if jobs != {job.key}:
        for name in left:
            job.place.remove(name)


def _compare(engine: Engine, job: Job, rendered: list[dict[str, Any]], size: int, shards: int) -> int:
    """The join, in blocks where the candidates come so; gives how many tasks it had."""
    if not (isinstance(job.recipe, MoleculeRecipe) and job.recipe.candidates == "exact"):
        engine.run("compare", partial(pairs.compare_all, len(rendered), shards), 1)
        return 1
    starts = blocks.before([each["popcounts"] for each in rendered])
    count = -(-size // job.sizes.block)
    engine.run("spread", partial(blocks.spread, starts, count), len(rendered))
    plan = blocks.plan(
        engine.run("block", partial(blocks.gather, len(rendered)), count), job.recipe.threshold, job.sizes.columns
    )
    rank = rarest_first(np.sum([each["bits"] for each in rendered], axis=0))
    engine.run("compare", partial(pairs.compare, plan, rank, shards), len(plan))
    return len(plan)


def _seen(file: str) -> tuple[str, int, int]:
    """A file as it is now, by name, size and time of its last change."""
    try:
        status = Path(file).stat()
    except OSError as error:
        raise InvalidInput(f"cannot open {file}", given=error.strerror, expected="a readable file") from error
    return str(Path(file).absolute()), status.st_size, status.st_mtime_ns


def _parts(said: Iterable[dict[str, Any]]) -> dict[Group, list[Part]]:
    parts: dict[Group, list[Part]] = {}
    for each in said:
        for group, own in each["parts"].items():
            parts.setdefault(group, []).extend(Part(**part) for part in own)
    return parts


def _summed(counts: Iterable[list[int]]) -> np.ndarray:
    """Histograms of different lengths, added up."""
    each = list(counts)
    total = np.zeros(max(map(len, each)), np.int64)
    for one in each:
        total[: len(one)] += one
    return total
