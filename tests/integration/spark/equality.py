"""What two ingests have made, to be compared byte for byte."""

from pathlib import Path
from typing import Any

from graphkin.ingest.pipeline import IngestOptions, ingest
from graphkin.protocol.manifest import Manifest
from graphkin.similarity.recipe import Recipe
from graphkin.store import open_lake, open_store
from graphkin.store.files import sha256_at
from graphkin.store.transfer import copy_generation

OPTIONS = IngestOptions(workers=1, max_rejected=0.2)


def files(folder: Path) -> dict[str, str]:
    """SHA-256 by name, but for the search index and the manifest, which says when it was."""
    every = (path for path in folder.rglob("*") if path.is_file())
    return {
        path.relative_to(folder).as_posix(): sha256_at(path)
        for path in every
        if not path.name.startswith("index.") and path.name != "manifest.json"
    }


def told(manifest: Manifest) -> dict[str, Any]:
    """All that it says but when, how long and where."""
    return manifest.model_dump(exclude={"published_at", "times", "fragments"})


def by_one_machine(inputs: list[str], recipe: Recipe, folder: Path) -> tuple[dict[str, Any], dict[str, str]]:
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
