"""What `tests.rigs.chaos` sees: an oracle that overlooks something would find nothing."""

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from subprocess import run
from sys import executable

import pytest

from benchmarks.clock import Clock
from graphkin.ingest import pipeline
from graphkin.ingest.pipeline import IngestOptions
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store
from graphkin.store.base import Store
from tests.rigs.chaos_report import Chaos, Round, report
from tests.rigs.truth import THRESHOLD, Ledger, Truth


@pytest.fixture(scope="module")
def truth() -> Truth:
    return Truth(120)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "store", create=True) as store:
        yield store


def published(store: Store, truth: Truth, folder: Path, members: list[int]) -> str:
    file = folder / "some.smi"
    file.write_text("".join(truth.lines[each] for each in members))
    recipe = resolve(threshold=THRESHOLD, top_k=0)
    return pipeline.ingest(store, "c", [str(file)], recipe, IngestOptions(workers=1)).generation


def test_ledger_finds_nothing_where_nothing_is_wrong(store: Store, truth: Truth, tmp_path: Path) -> None:
    ledger = Ledger(truth)
    for members in ([*range(80)], [*range(119, 20, -1)]):
        ledger.publish("c", published(store, truth, tmp_path, members), members)
    assert ledger.check(store) == ([], [])
    assert (
        sum(len(truth.neighbors(range(80), item)) for item in range(80))
        == 2 * store.manifest("c", next(iter(ledger.published["c"]))).edges
    )


def test_ledger_sees_what_is_lost_or_wrong(store: Store, truth: Truth, tmp_path: Path) -> None:
    ledger = Ledger(truth)
    older, newer = [*range(80)], [*range(40, 120)]
    first = published(store, truth, tmp_path, older)
    second = published(store, truth, tmp_path, newer)
    ledger.publish("c", second, newer)
    ledger.publish("c", first, older)
    assert ledger.check(store) == ([f"c is at {second[:12]}, not at {first[:12]}, which was published last"], [])
    store.delete("c", first)
    lost, wrong = ledger.check(store)
    assert (len(lost), wrong) == (2, [])
    assert (ledger.find_members(first), ledger.find_members("none")) == (older, None)
    ledger = Ledger(truth)
    ledger.publish("c", second, [*newer[:-1], 0])
    assert ledger.check(store) == ([], [f"c {second[:12]}: its molecules are others"])


def test_edges_that_are_others_are_told(store: Store, truth: Truth, tmp_path: Path) -> None:
    members = [*range(80)]
    published(store, truth, tmp_path, members)
    with store.open("c") as generation:
        assert [*truth.differing(generation, members)] == []
        truth._similarity[members[3], members[4]] += 0.9
        assert len([*truth.differing(generation, members)]) == 1
        truth._similarity[members[3], members[4]] -= 0.9


def test_clock_is_another_for_those_that_are_told(tmp_path: Path) -> None:
    clock = Clock(tmp_path)
    assert shutil.which("cc")
    clock.set(-86_400 * 365)
    asked = "import datetime, time, sys; print(int(time.time()), datetime.datetime.now(datetime.UTC).timestamp())"
    told = run([executable, "-c", asked], env=clock.environment, capture_output=True, text=True, check=True).stdout
    for each in told.split():
        assert abs(datetime.now(UTC).timestamp() - 86_400 * 365 - float(each)) < 60


def test_report_tells_each_fault_and_every_problem() -> None:
    rounds = [
        Round("api", True, 1.0, 50),
        Round("disk", True, 2.5, 30, wrong=["exit code 0"]),
        Round("api", False, 4.0, 25, lost=["a", "b"]),
        Round("clock"),
    ]
    lines = report(Chaos(7, 60.0, ["No clock."], rounds)).splitlines()
    assert lines[:2] == ["4 rounds of seed 7 in 60 s.", "No clock."]
    rows = {
        cells[0]: cells[1:] for cells in ([cell.strip() for cell in line.split("|")][1:-1] for line in lines) if cells
    }
    assert rows["api"] == ["2", "1", "2.5 s", "4.0 s", "75", "2", "0", "0"]
    assert rows["disk"] == ["1", "1", "2.5 s", "2.5 s", "30", "0", "1", "0"]
    assert rows["clock"] == ["1", "1", "", "", "0", "0", "0", "0"]
    assert rows["all"][0] == "4"
    problems = ["disk: exit code 0", "api: a", "api: b", "clock: it did not recover"]
    assert lines[-5] == "Problems: 4."
    assert {*lines[-4:]} == {f"- 1 times: {problem}" for problem in problems}
