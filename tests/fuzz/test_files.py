"""Every file of the corpus through an ingest: it publishes the whole of it, or says what is wrong; nothing else."""

import json
import os
import select
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from graphkin.cli import run
from tests.fuzz.files import File, every_file, files
from tests.fuzz.process import PRIVATE, Watched

LONGEST = 5.0  # seconds
PATIENCE = 20.0  # seconds until an ingest counts as one that never ends
MOST_MEMORY = 10**9  # bytes
MOST_SAID = 4000  # characters of an error

Outcome = dict[str, Any]


class Ingester:
    """`ingesting` over a store of its own, started again where it died.

    One process for each kind: the workers of a second kind would import anew what they need, every time.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running: dict[str, Watched] = {}
        self._names = (f"c{number}" for number in count())

    def ingest(self, file: File, path: Path) -> Outcome:
        """What came of it, and the most memory that it took."""
        process = self._running.get(file.kind) or self._start(file.kind)
        process.peak = 0
        told = {"file": str(path), "kind": file.kind, "collection": next(self._names), "read": file.read}
        process.tell(json.dumps(told))
        assert process.process.stdout is not None
        ready, _, _ = select.select([process.process.stdout], [], [], PATIENCE)
        line = process.line() if ready else ""
        if line:
            return {**json.loads(line), "peak": process.peak}
        self._running.pop(file.kind).__exit__()
        return {"crash": "the process died" if ready else "it never ended"}

    def _start(self, kind: str) -> Watched:
        # No script: every worker process of every ingest would import it again.
        program = "from tests.fuzz.ingesting import main; main()"
        command = [sys.executable, "-c", program, str(self._folder / kind), kind]
        process = Watched(command, self._folder / f"{kind}.log", cwd=Path(__file__).parents[2]).__enter__()
        self._running[kind] = process
        assert process.line() == "ready\n", process.said()
        return process

    def stop(self) -> None:
        for process in self._running.values():
            process.__exit__()


@pytest.fixture(scope="module")
def ingester(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ingester]:
    """Its store is on a file system in memory, where syncing costs nothing, if there is one."""
    memory = Path("/dev/shm")
    parent = memory if os.access(memory, os.W_OK) else tmp_path_factory.getbasetemp()
    with TemporaryDirectory(prefix="graphkin-fuzz-", dir=parent) as folder:
        ingester = Ingester(Path(folder))
        yield ingester
        ingester.stop()


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in files()])
def test_file(ingester: Ingester, case: File, tmp_path: Path) -> None:
    outcome = ingester.ingest(case, case.write(tmp_path))
    assert "crash" not in outcome, outcome["crash"]
    assert outcome["drafts"] == []
    if "error" in outcome:
        assert not outcome["published"]
        assert outcome["error"] in {"InvalidInput", "Conflict"}
        assert PRIVATE.search(outcome["said"].replace(str(tmp_path), "")) is None, outcome["said"]
        assert len(outcome["said"]) < MOST_SAID
    else:
        counts = outcome["counts"]
        assert counts["read"] == counts["kept"] + counts["duplicates"] + counts["rejected"]
        assert outcome["held"] == [counts["kept"], counts["rejected"]]
        assert outcome["damage"] == []
        assert [reason for reason in outcome["reasons"] if PRIVATE.search(reason)] == []
        assert all(len(reason) < MOST_SAID for reason in outcome["reasons"])
    assert outcome["peak"] < MOST_MEMORY
    if outcome["seconds"] >= LONGEST:  # others on the machine may hold it up once
        outcome = ingester.ingest(case, case.write(tmp_path))
    assert outcome["seconds"] < LONGEST


@pytest.mark.parametrize(
    ("id", "code"),
    [
        ("smi/nul", 0),
        ("csv/quotes", 0),
        ("sdf/not-utf-8", 0),
        ("jsonl/deep", 0),
        ("gzip/cut-3", 2),
        ("zip/slip", 2),
        ("graphml/billion-laughs", 2),
        pytest.param("bomb/graph_labels-64-MB", 2, marks=pytest.mark.long),
    ],
)
def test_the_command_line_says_the_same(
    id: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (case,) = (case for case in every_file() if case.id == id)
    monkeypatch.chdir(tmp_path)
    place = ("--store", "store", "--collection", "c", "--max-rejected", "1", "--workers", "1")
    ended = run(["ingest", case.kind, str(case.write(tmp_path)), *place])
    said = capfd.readouterr()
    assert ended == code, said.err
    assert "Traceback" not in said.err
    assert said.out.startswith("published c generation") if code == 0 else "error: " in said.err
