"""The rigs of load, soak and chaos against the real server, and the memory that they measure."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.machine import family, memory, processor_seconds

ROOT = Path(__file__).parents[2]


def test_family_lists_a_process_and_its_children() -> None:
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
def test_load_rig_reports_no_failures(tmp_path: Path) -> None:
    options = ["--clients", "10", "--seconds", "3", "--quiet", "0", "--molecules", "3000"]
    place = ["--cache", str(tmp_path), "--json", str(tmp_path / "numbers.json")]
    command = [sys.executable, "-m", "tests.rigs.load", *options, *place]
    printed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert "failed:" not in printed
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    operations = {(name, outcome) for name, _, outcome, *_ in numbers["load"]["log"]}
    assert {(name, "answered") for name in ("instant", "search", "drawing", "heavy")} <= operations
    assert {name for name, *_ in numbers["beside"]["log"]} == {"beside heavy", "drawing", "heavy"}
    assert {name for name, *_ in numbers["alone"]["log"]} == {"alone"}
    assert numbers["load"]["server"] > 0
    assert numbers["after"][0] > 50e6
    assert [len(each) for each in (numbers["start"], numbers["load"]["highest"])] == [2, 2]


def table(printed: str) -> dict[str, list[str]]:
    """Return the cells of each row of a report by its first cell."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in printed.splitlines()]
    return {cells[0]: cells[1:] for cells in rows if cells}


@pytest.mark.long
def test_soak_rig_reports_no_failures() -> None:
    """No request fails, no data are lost, and every expected row is in the report."""
    command = [sys.executable, "-m", "tests.rigs.soak", "--minutes", "2", "--molecules", "3000", "--cycle", "4"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    _, report, failures = run.stdout.partition("\nFailed: ")
    assert report, run.stdout + run.stderr
    assert failures.splitlines()[1:] == []
    rows = table(run.stdout)
    assert {"instant", "trainer", "append", "ingest", "prune", "verify", "compact", "remove"} <= set(rows)
    assert float(rows["instant"][0]) > 0
    assert int(rows["append"][0]) >= 1


def chaos(folder: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.rigs.chaos", "--seed", "3", "--json", str(folder / "rounds.json"), *options]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


SMALL = ("--molecules", "300", "--workers", "1", "--witnesses", "2")


@pytest.mark.parametrize(
    ("options", "faults"),
    [
        (("--rounds", "3", "--faults", "api,append,clock", *SMALL), {"api": 1, "append": 1, "clock": 1}),
        pytest.param(
            ("--rounds", "16"),
            dict.fromkeys(("api", "worker", "ingest", "append", "trainer", "disk", "damage", "clock"), 2),
            marks=pytest.mark.long,
        ),
    ],
)
def test_chaos_rig_loses_no_acknowledged_data(options: tuple[str, ...], faults: dict[str, int], tmp_path: Path) -> None:
    """Faults happen one after the other while a server is used."""
    with chaos(tmp_path, *options) as process:
        printed, errors = process.communicate()
    assert process.returncode == 0, printed + errors
    rows = table(printed)
    assert {fault: int(rows[fault][0]) for fault in faults} == faults
    lost_wrong_failed = {fault: rows[fault][-3:] for fault in (*faults, "all")}
    assert {*map(tuple, lost_wrong_failed.values())} == {("0", "0", "0")}
    assert all(int(rows[fault][4].replace(",", "")) > 10 for fault in faults)
    assert printed.endswith("Problems: 0.\n")
    rounds = json.loads((tmp_path / "rounds.json").read_text())["rounds"]
    assert all(each["recovered"] is not None for each in rounds)


@pytest.fixture
def accept_interrupts() -> Iterator[None]:
    """Let Ctrl-C reach started processes. A shell that runs the tests in the background would have them ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.long
@pytest.mark.usefixtures("accept_interrupts")
def test_chaos_rig_reports_its_results_after_ctrl_c(tmp_path: Path) -> None:
    with chaos(tmp_path, "--rounds", "1000", "--faults", "append", *SMALL) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        before = family(process.pid)
        process.send_signal(signal.SIGINT)
        printed, errors = process.communicate()
    assert first.startswith("1: append")
    assert (process.returncode, "Traceback" in errors) == (0, False), errors
    assert 1 <= int(table(printed)["append"][0]) < 1000
    assert printed.endswith("Problems: 0.\n")
    assert [each for each in before if each.is_running()] == []
