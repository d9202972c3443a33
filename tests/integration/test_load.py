"""The benchmark under load: what its processes take, and all of it against the real server."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.machine import family, memory, processor_seconds

ROOT = Path(__file__).parents[2]


def test_the_family_of_a_process() -> None:
    work = "import os; x = bytearray(50_000_000); print(os.getpid(), flush=True); input()"
    script = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {work!r}])"
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        child = int(process.stdout.readline())
        assert [each.pid for each in family(process.pid)] == [process.pid, child]
        assert memory(process.pid).resident > memory(process.pid).anonymous > 50_000_000
        assert processor_seconds(process.pid) > 0
        process.stdin.close()


@pytest.mark.long
def test_against_the_real_server(tmp_path: Path) -> None:
    options = ["--clients", "10", "--seconds", "3", "--quiet", "0", "--molecules", "3000"]
    place = ["--cache", str(tmp_path), "--json", str(tmp_path / "numbers.json")]
    command = [sys.executable, "-m", "benchmarks.load", *options, *place]
    printed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert "failed:" not in printed
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    asked = {(name, outcome) for name, _, outcome, *_ in numbers["load"]["log"]}
    assert {(name, "answered") for name in ("instant", "search", "drawing", "heavy")} <= asked
    assert {name for name, *_ in numbers["beside"]["log"]} == {"beside heavy", "drawing", "heavy"}
    assert {name for name, *_ in numbers["alone"]["log"]} == {"alone"}
    assert numbers["load"]["server"] > 0
    assert numbers["after"][0] > 50e6
    assert [len(each) for each in (numbers["start"], numbers["load"]["highest"])] == [2, 2]


@pytest.mark.long
def test_a_server_that_is_left_running() -> None:
    """Two minutes of it: nothing fails, nothing is lost, and all that it should tell is told."""
    options = ["--minutes", "2", "--molecules", "3000", "--chemists", "50", "--trainers", "3"]
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.soak", *options], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    rows = {cells[1].strip(): cells[2:] for cells in (line.split("|") for line in run.stdout.splitlines()) if cells[1:]}
    assert {"instant", "search", "drawing", "trainer", "append", "ingest", "prune", "verify"} <= set(rows)
    assert float(rows["instant"][0]) > 1
    assert int(rows["append"][0]) > 1
    assert run.stdout.endswith("Failed: 0.\n")
