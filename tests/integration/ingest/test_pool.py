"""Records that break, kill or block the process that describes them: each one is rejected, and no other record."""

import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from graphkin.ingest.parsing import Chunk, ChunkParser, Parsed
from graphkin.ingest.pool import ParserPool
from graphkin.ingest.workspace import Workspace
from graphkin.protocol.errors import StoreError
from graphkin.similarity.describer import Describer
from graphkin.similarity.molecules.recipe import resolve

PATIENCE = 1.0
STUCK = "took longer than 1 s"
DIED = "the parser process died on this record"


class Fragile(Describer):
    """Affects its process as the text of a record says."""

    key = b"fragile"
    schema = pa.schema([("text", pa.string())])

    def __init__(self, recipe: Any, max_size: int) -> None: ...

    def describe(self, text: str, notation: str, name: str | None) -> Sequence[object]:  # noqa: C901
        match text:
            case "stuck":
                re.match("(a+)+$", "a" * 60 + "b")  # This takes years, and blocks all other Python threads.
            case "slow":
                time.sleep(PATIENCE / 5)
            case "dies":
                os.kill(os.getpid(), signal.SIGKILL)
            case "exits":
                os._exit(0)
            case "system":
                raise SystemError(
                    "<built-in method f of Boost object at 0x7f31480de810> returned a result with an error"
                )
            case "key":
                raise KeyError("smiles")
            case "surrogate":
                raise ValueError("\udcff\nsecond line")
            case "memory":
                raise MemoryError
            case "recursion":
                return self.describe(text, notation, name)
            case "path":
                raise RuntimeError("line 95 in file /project/build/GraphMol/PeriodicTable.h")
        return (text,)


RAISED = {
    "system": "could not be described: SystemError: <built-in method f of Boost object at …> returned a result with "
    "an error",
    "key": "could not be described: KeyError: 'smiles'",
    "surrogate": r"could not be described: ValueError: \udcff",
    "memory": "could not be described: MemoryError",
    "recursion": "could not be described: RecursionError: maximum recursion depth exceeded",
    "path": "could not be described: RuntimeError: line 95 in file …",
}


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[ParserPool]:
    workspace = Workspace(tmp_path / "work")
    workspace.prepare()
    with ParserPool(Fragile, resolve(), 1000, 2, workspace, PATIENCE) as pool:
        yield pool


def _parsed(pool: ParserPool, chunks: Iterable[Chunk]) -> list[Parsed]:
    pool.start(chunks)
    return list(pool.results())


def _outcome(results: Any) -> tuple[list[str], list[tuple[str, str]]]:
    parsed = list(results)
    items = [row["text"] for each in parsed for row in each.items.to_pylist()]
    rejections = [(row["input"], row["reason"]) for each in parsed for row in each.rejections.to_pylist()]
    return items, rejections


@pytest.mark.parametrize("text", RAISED)
def test_any_exception_rejects_its_record(chunk: Callable[..., Chunk], text: str) -> None:
    parsed = ChunkParser(Fragile(None, 0)).parse(chunk(["before", text, "after"]))
    items, ((rejected_text, reason),) = _outcome([parsed])
    assert items == ["before", "after"]
    assert rejected_text == text
    assert reason == RAISED[text]


def test_blocking_and_killing_records_are_rejected_alone(
    chunk: Callable[..., Chunk], pool: ParserPool, tmp_path: Path
) -> None:
    texts = [["a", "stuck", "b", "dies", "c"], ["dies"], ["d", "key"], [], ["e", "stuck"], ["exits", "f"], ["g"]]
    items, rejections = _outcome(_parsed(pool, map(chunk, texts)))
    assert items == ["a", "b", "c", "d", "e", "f", "g"]
    assert rejections == [
        ("stuck", STUCK),
        ("dies", DIED),
        ("dies", DIED),
        ("key", RAISED["key"]),
        ("stuck", STUCK),
        ("exits", DIED),
    ]
    assert not list((tmp_path / "work").glob("*.partial"))


def test_time_limit_applies_to_one_record(chunk: Callable[..., Chunk], pool: ParserPool) -> None:
    items, rejections = _outcome(_parsed(pool, [chunk(["slow"] * 10)]))
    assert (len(items), rejections) == (10, [])


def test_blocking_record_costs_its_time_limit_only_twice(chunk: Callable[..., Chunk], pool: ParserPool) -> None:
    """Halving the chunk would cost the time limit eleven times for a record among 1,000."""
    texts = [f"t{n}" for n in range(1000)]
    texts[617] = "stuck"
    parsed = _parsed(pool, [chunk(texts)])
    assert [(each.items.num_rows, each.rejections.num_rows) for each in parsed] == [(617, 0), (0, 1), (382, 0)]


def test_unwritable_progress_mark_is_reported(chunk: Callable[..., Chunk], pool: ParserPool, tmp_path: Path) -> None:
    (tmp_path / "work").rmdir()
    with pytest.raises(StoreError, match="cannot write the store"):
        _parsed(pool, [chunk(["a"])])


def test_chunks_are_read_in_the_calling_thread(chunk: Callable[..., Chunk], pool: ParserPool) -> None:
    """Ctrl-C reaches the main thread and can then end a wait for a stalled pipe."""
    readers = set()

    def read() -> Iterator[Chunk]:
        for number in range(20):
            readers.add(threading.current_thread())
            yield chunk([str(number)])

    assert len(_parsed(pool, read())) == 20
    assert readers == {threading.current_thread()}


def test_closing_an_unfinished_pool_ends_its_processes(chunk: Callable[..., Chunk], tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "work")
    workspace.prepare()
    with ParserPool(Fragile, resolve(), 1000, 2, workspace, PATIENCE) as pool:
        pool.start(chunk(["slow", str(number)]) for number in range(100))
        assert next(pool.results()).items["text"].to_pylist() == ["slow", "0"]
    assert not active_children()
    assert not list(workspace.folder.glob("*.partial"))
    with ParserPool(Fragile, resolve(), 1000, 2, workspace, PATIENCE):
        pass
    assert not active_children()
