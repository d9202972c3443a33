"""The command `python -m studies.report`."""

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from studies.report import main

ROOT = Path(__file__).parents[3]


@pytest.fixture
def report(command_line: Callable[..., Any]) -> Any:
    return command_line(main)


@pytest.fixture
def call(report: Any, store_folder: Path) -> Any:
    """Return `call("hops", ...)`, which reports on a collection, by default of 400 molecules, into the folder out."""

    def call(name: str, *options: object, collection: str = "nci", output: object = "out") -> Any:
        place = ("--store", store_folder, "--collection", collection, "--output", output)
        return report(name, *place, *options)

    return call


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("hops", ["--targets", "50"]),
        ("orders", ["--targets", "50", "--samples", "2", "--samples", "4"]),
        ("augmentations", ["--targets", "10", "--runs", "2"]),
        ("recall", ["--targets", "50", "--runs", "2", "--threshold", "0.5"]),
        ("theory", ["--targets", "50", "--same", "rings"]),
        ("masks", ["--molecules", "40", "--steps", "1", "--steps", "2", "--batch-size", "16", "--runs", "1"]),
    ],
)
def test_command_in_a_report_reproduces_its_files(
    call: Any, report: Any, tmp_path: Path, name: str, options: list[str]
) -> None:
    """The command in a report creates the same files again."""
    outcome = call(name, *options)
    assert outcome.code == 0, outcome.err
    contents = {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()}
    assert sorted(contents) == [f"{name}.json", f"{name}.md", f"{name}.svg"]
    report_data = json.loads(contents[f"{name}.json"])
    command = shlex.split(report_data["command"])
    assert command[:4] == ["python", "-m", "studies.report", name]
    assert all(option in command for option in options)
    assert f"out/{name}.svg" in outcome.out
    assert outcome.out.split("\n\nout/")[0] in contents[f"{name}.md"].decode()
    assert report_data["generation"].encode() in contents[f"{name}.svg"]

    repeated = report(*command[3:], "--output", tmp_path / "other" / "again")
    assert repeated.code == 0, repeated.err
    assert {file.name: file.read_bytes() for file in (tmp_path / "other" / "again").iterdir()} == contents


def test_figures_depend_on_the_seed(call: Any, tmp_path: Path) -> None:
    figures = []
    for seed in (0, 1):
        assert call("hops", "--targets", "20", "--runs", "1", "--seed", seed).code == 0
        figures.append(json.loads((tmp_path / "out" / "hops.json").read_bytes()))
    assert [report_data["seeds"] for report_data in figures] == [[0], [1]]
    assert figures[0]["measured"] != figures[1]["measured"]


def test_impossible_reports_are_refused(call: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for outcome, message in (
        (call("hops", collection="dots"), "not installed"),
        (call("hops", output=tmp_path / "file" / "below"), "cannot make the folder"),
    ):
        assert (outcome.code, message in outcome.err, "Traceback" in outcome.err) == (2, True, False), outcome.err
    assert not (tmp_path / "out").exists()


def test_missing_extra_is_explained(store_folder: Path) -> None:
    script = (
        "import sys; sys.modules['matplotlib'] = None; from studies.report import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", script, "hops", "--store", str(store_folder), "--collection", "nci"]
    outcome = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    hint = "pip install '.[studies]' in a clone"
    assert (outcome.returncode, hint in outcome.stderr, "Traceback" in outcome.stderr) == (2, True, False)
