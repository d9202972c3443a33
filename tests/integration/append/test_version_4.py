"""A store of schema version 4, whose manifests knew no fragments, as that version left it."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from graphkin.ingest.append import append
from graphkin.ingest.pipeline import ingest
from graphkin.similarity.compaction import compact
from graphkin.similarity.graphs.recipe import resolve_graphs
from graphkin.store import open_store
from graphkin.store.embedded.catalog import SCHEMA_VERSION
from tests.integration.append.conftest import OPTIONS, content, written

pytestmark = pytest.mark.usefixtures("parsed_here")

OLDER = Path(__file__).parents[2] / "stores" / "version-4"
SHAPES = [
    [[0, 1], [1, 2]],
    [[0, 1], [1, 2], [2, 0]],
    [[0, 1], [1, 2], [2, 3]],
    [[0, 1], [0, 2], [0, 3]],
    [[0, 1], [1, 2], [2, 3], [3, 0]],
    [[0, 1], [1, 2], [2, 3], [3, 4]],
]
LINES = [json.dumps({"name": f"g{number}", "edges": edges, "label": number}) for number, edges in enumerate(SHAPES)]


def version(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "catalog.sqlite")) as database:
        (found,) = database.execute("PRAGMA user_version").fetchone()
    return int(found)


def test_it_is_read_grows_and_is_compacted(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    shutil.copytree(OLDER, folder)
    files = written(tmp_path / "files", [LINES[:4], LINES[4:]], "jsonl")
    with open_store(folder) as store:
        with store.open("graphs") as before:
            assert before.check() == []
            assert [item["names"] for item in before.items(range(4))] == [["g0"], ["g1"], ["g2"], ["g3"]]
        assert version(folder) == 4
        append(store, "graphs", files[1:], OPTIONS)
        assert version(folder) == SCHEMA_VERSION
        ingest(store, "at-once", files, resolve_graphs(closeness=1), OPTIONS)
        compact(store, "graphs")
        with store.open("graphs") as grown, store.open("at-once") as once:
            one, other = content(grown), content(once)
    assert one["manifest"]["columns"] == {}  # version 4 did not count values
    for each in (one, other):
        each["manifest"].pop("inputs")  # where the files lay
        each["manifest"].pop("columns")
    assert one == other
