"""Byte-for-byte comparison of the results of two ingests."""

from pathlib import Path
from typing import Any

from graphkin.ingest.pipeline import IngestOptions, ingest
from graphkin.ingest.runners.base import Runner
from graphkin.ingest.stages.job import Sizes
from graphkin.ingest.stages.pipeline import ingest as ingest_by_tasks
from graphkin.protocol.manifest import Manifest
from graphkin.runtime.files import file_sha256
from graphkin.similarity.recipe import Recipe
from graphkin.store import open_lake, open_store
from graphkin.store.transfer import copy_generation
from tests.lakes import plain

OPTIONS = IngestOptions(workers=1, max_rejected=0.2)
SMALL = Sizes(records=600, group=1000, owners=500, block=400, columns=2, room=1000)
"""These sizes give many parts, groups, shards, blocks and merged forests from some thousand items."""


def file_digests(folder: Path) -> dict[str, str]:
    """Return SHA-256 by name, with part names that do not depend on the run.

    The search index and the manifest, which has times, are excluded.
    """
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {
        plain(path.relative_to(folder).as_posix()): file_sha256(path)
        for path in paths
        if not path.name.startswith("index.") and path.name != "manifest.json"
    }


def stable_fields(manifest: Manifest) -> dict[str, Any]:
    """Return the fields of a manifest except for times and locations."""
    return manifest.model_dump(exclude={"published_at", "times", "fragments"})


def ingest_in_one_stream(
    inputs: list[str], recipe: Recipe, folder: Path, options: IngestOptions = OPTIONS
) -> tuple[dict[str, Any], dict[str, str]]:
    """Ingest into collection c of a store, and return its stable manifest fields and its file digests."""
    with open_store(folder, create=True) as store:
        manifest = ingest(store, "c", inputs, recipe, options)
    return stable_fields(manifest), file_digests(folder / "collections")


def read_lake(lake: Path, folder: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Return stable manifest fields and file digests of a lake, which is checked and copied into a folder."""
    assert not list(lake.glob("_work/**/*.json"))
    with open_lake(str(lake)) as source, source.open("c") as generation:
        assert generation.check() == []
        with open_store(folder, create=True) as store:
            copy_generation(generation, store)
        return stable_fields(generation.manifest), file_digests(folder / "collections")


def assert_equal(
    runner: Runner,
    inputs: list[str],
    recipe: Recipe,
    sizes: Sizes,
    folder: Path,
    options: IngestOptions = OPTIONS,
) -> None:
    """Check that an ingest by tasks of any size equals an ingest in one stream, byte for byte."""
    manifest = ingest_by_tasks(runner, str(folder / "lake"), "c", inputs, recipe, options, sizes=sizes)
    expected = ingest_in_one_stream(inputs, recipe, folder / "one", options)
    assert (stable_fields(manifest), read_lake(folder / "lake", folder / "loaded")) == (expected[0], expected)
