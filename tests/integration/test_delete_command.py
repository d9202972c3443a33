"""`graphkin delete`: asks on a terminal where only the beginning of an id is given, and refuses without one."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

GRAPHKIN = Path(sys.executable).with_name("graphkin")


@pytest.fixture
def ids(ingest: Callable[..., Any]) -> list[str]:
    """Two generations of collection c, the second of them current."""
    runs = [ingest("CCO a\nCCN b\nCCCO c\n", "--json", "--threshold", threshold) for threshold in (0.3, 0.4)]
    return [json.loads(run.out)["generation"] for run in runs]


@pytest.fixture
def delete(graphkin: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    return lambda *arguments: graphkin("delete", "--store", tmp_path / "store", "--collection", "c", *arguments)


def _left(graphkin: Callable[..., Any], tmp_path: Path) -> list[str]:
    shown = graphkin("info", "--store", tmp_path / "store", "--collection", "c", "--json")
    return json.loads(shown.out)["generations"] if shown.code == 0 else []


def _on_terminal(store: Path, beginning: str, reply: bytes) -> tuple[int, str]:
    """The exit code and the output of the command in a pseudo terminal where a person types this reply."""
    command: list[str | Path] = [GRAPHKIN, "delete", "--store", store, "--collection", "c", "--generation", beginning]
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        output = b""
        try:
            while b"[y/N]" not in output:
                output += os.read(ours, 1024)
            os.write(ours, reply)
            while piece := os.read(ours, 1024):
                output += piece
        except OSError:  # the command has closed the terminal
            pass
    os.close(ours)
    return process.returncode, " ".join(output.decode().split())


def test_beginning_of_an_id_is_confirmed_on_a_terminal(
    ids: list[str], graphkin: Callable[..., Any], tmp_path: Path
) -> None:
    store = tmp_path / "store"
    code, output = _on_terminal(store, ids[1][:10], b"n\n")
    assert code == 130
    assert output.endswith("nothing was deleted")
    assert f"Delete c {ids[1]}" in output
    assert "its current generation" in output
    assert _left(graphkin, tmp_path) == ids
    code, output = _on_terminal(store, ids[1][:10], b"y\n")
    assert code == 0
    assert output.endswith(f"deleted c {ids[1]} this was the current generation: now it is {ids[0]}")
    code, output = _on_terminal(store, ids[0][:10], b"\n")
    assert code == 130
    assert "its only generation: the collection goes with it" in output
    assert _left(graphkin, tmp_path) == ids[:1]


def test_without_a_terminal_the_whole_id_or_yes_is_needed(
    ids: list[str], delete: Callable[..., Any], graphkin: Callable[..., Any], tmp_path: Path
) -> None:
    refused = delete("--generation", ids[0][:10])
    assert refused.code == 2
    assert ids[0] in refused.err
    assert "--yes" in refused.err
    assert _left(graphkin, tmp_path) == ids
    assert delete("--generation", ids[0]).code == 0
    gone = delete("--generation", ids[1][:10], "--yes")
    assert gone.code == 0
    assert "this was the only generation: c is gone" in gone.out


def test_unknown_collection_or_generation_lists_those_that_exist(
    ids: list[str], delete: Callable[..., Any], graphkin: Callable[..., Any], tmp_path: Path
) -> None:
    unknown = delete("--generation", "0" * 64)
    assert unknown.code == 3
    assert f"expected: one of {', '.join(ids)}" in unknown.err
    where = ("--store", tmp_path / "store", "--collection", "d", "--generation", ids[0])
    elsewhere = graphkin("delete", *where)
    assert (elsewhere.code, "no collection 'd'" in elsewhere.err) == (3, True)
    assert "expected: one of c" in elsewhere.err
