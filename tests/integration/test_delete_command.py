"""The command `graphkin delete` asks for confirmation of an abbreviated id on a terminal, and refuses it elsewhere."""

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
def generation_ids(ingest: Callable[..., Any]) -> list[str]:
    """Return two generations of collection c; the second is current."""
    runs = [ingest("CCO a\nCCN b\nCCCO c\n", "--json", "--threshold", threshold) for threshold in (0.3, 0.4)]
    return [json.loads(run.out)["generation"] for run in runs]


@pytest.fixture
def delete(graphkin: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    return lambda *arguments: graphkin("delete", "--store", tmp_path / "store", "--collection", "c", *arguments)


def _remaining_generations(graphkin: Callable[..., Any], tmp_path: Path) -> list[str]:
    outcome = graphkin("info", "--store", tmp_path / "store", "--collection", "c", "--json")
    return json.loads(outcome.out)["generations"] if outcome.code == 0 else []


def _on_terminal(store: Path, beginning: str, reply: bytes) -> tuple[int, str]:
    """Return the exit code and the output of the command in a pseudoterminal where a user types this reply."""
    command: list[str | Path] = [GRAPHKIN, "delete", "--store", store, "--collection", "c", "--generation", beginning]
    own_end, terminal_end = pty.openpty()
    with subprocess.Popen(command, stdin=terminal_end, stdout=terminal_end, stderr=terminal_end) as process:
        os.close(terminal_end)
        output = b""
        try:
            while b"[y/N]" not in output:
                output += os.read(own_end, 1024)
            os.write(own_end, reply)
            while piece := os.read(own_end, 1024):
                output += piece
        except OSError:  # The command has closed the terminal.
            pass
    os.close(own_end)
    return process.returncode, " ".join(output.decode().split())


def test_abbreviated_id_is_confirmed_on_a_terminal(
    generation_ids: list[str], graphkin: Callable[..., Any], tmp_path: Path
) -> None:
    store = tmp_path / "store"
    code, output = _on_terminal(store, generation_ids[1][:10], b"n\n")
    assert code == 130
    assert output.endswith("nothing was deleted")
    assert f"Delete c {generation_ids[1][:12]}" in output
    assert "its current generation" in output
    assert _remaining_generations(graphkin, tmp_path) == generation_ids
    code, output = _on_terminal(store, generation_ids[1][:10], b"y\n")
    assert code == 0
    assert output.endswith(
        f"deleted c {generation_ids[1][:12]} this was the current generation: now it is {generation_ids[0][:12]}"
    )
    code, output = _on_terminal(store, generation_ids[0][:10], b"\n")
    assert code == 130
    assert "its only generation: the collection is deleted too" in output
    assert _remaining_generations(graphkin, tmp_path) == generation_ids[:1]


def test_abbreviated_id_without_a_terminal_needs_yes(
    generation_ids: list[str], delete: Callable[..., Any], graphkin: Callable[..., Any], tmp_path: Path
) -> None:
    refused = delete("--generation", generation_ids[0][:10])
    assert refused.code == 2
    assert generation_ids[0] in refused.err
    assert "--yes" in refused.err
    assert _remaining_generations(graphkin, tmp_path) == generation_ids
    assert delete("--generation", generation_ids[0]).code == 0
    confirmed = delete("--generation", generation_ids[1][:10], "--yes")
    assert confirmed.code == 0
    assert "this was the only generation: c is gone" in confirmed.out


def test_unknown_collection_or_generation_lists_the_existing_ones(
    generation_ids: list[str], delete: Callable[..., Any], graphkin: Callable[..., Any], tmp_path: Path
) -> None:
    unknown = delete("--generation", "0" * 64)
    assert unknown.code == 3
    assert f"expected: one of {', '.join(generation_ids)}" in unknown.err
    other_collection = ("--store", tmp_path / "store", "--collection", "d", "--generation", generation_ids[0])
    other_outcome = graphkin("delete", *other_collection)
    assert (other_outcome.code, "no collection 'd'" in other_outcome.err) == (3, True)
    assert "expected: one of c" in other_outcome.err
