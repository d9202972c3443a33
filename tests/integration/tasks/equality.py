"""What two ingests have made, to be compared byte for byte."""

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
"""Many parts, groups, shards, blocks and merged forests of some thousand items."""


def files(folder: Path) -> dict[str, str]:
    """SHA-256 by name, without the runs in names of parts.

    The search index is left out, and the manifest, which holds times.
    """
    every = (path for path in folder.rglob("*") if path.is_file())
    return {
        plain(path.relative_to(folder).as_posix()): file_sha256(path)
        for path in every
        if not path.name.startswith("index.") and path.name != "manifest.json"
    }


def told(manifest: Manifest) -> dict[str, Any]:
    """All that it says but when, how long and where."""
    return manifest.model_dump(exclude={"published_at", "times", "fragments"})


def in_one_stream(inputs: list[str], recipe: Recipe, folder: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """What is told of collection c, and its files in a store."""
    with open_store(folder, create=True) as store:
        manifest = ingest(store, "c", inputs, recipe, OPTIONS)
    return told(manifest), files(folder / "collections")


def of_lake(lake: Path, folder: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """The same of a lake, which is loaded into a folder; nothing is left beside it, and nothing in it is wrong."""
    assert not list(lake.glob("_work/**/*.json"))
    with open_lake(str(lake)) as source, source.open("c") as generation:
        assert generation.check() == []
        with open_store(folder, create=True) as store:
            copy_generation(generation, store)
        return told(generation.manifest), files(folder / "collections")


def assert_equal(runner: Runner, inputs: list[str], recipe: Recipe, sizes: Sizes, folder: Path) -> None:
    """What comes of the files by tasks, however they are cut, is what comes of them in one stream, byte for byte."""
    made = ingest_by_tasks(runner, str(folder / "lake"), "c", inputs, recipe, OPTIONS, sizes=sizes)
    expected = in_one_stream(inputs, recipe, folder / "one")
    assert (told(made), of_lake(folder / "lake", folder / "loaded")) == (expected[0], expected)
