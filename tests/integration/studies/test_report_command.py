"""`python -m studies.report` at the command line."""

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
    """`call("hops", ...)`: of the collection of 400 molecules, or of another, into folder out."""

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
def test_files_and_tables(call: Any, report: Any, tmp_path: Path, name: str, options: list[str]) -> None:
    """The command that a report names makes the same files again."""
    ended = call(name, *options)
    assert ended.code == 0, ended.err
    written = {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()}
    assert sorted(written) == [f"{name}.json", f"{name}.md", f"{name}.svg"]
    told = json.loads(written[f"{name}.json"])
    command = shlex.split(told["command"])
    assert command[:4] == ["python", "-m", "studies.report", name]
    assert all(option in command for option in options)
    assert f"out/{name}.svg" in ended.out
    assert ended.out.split("\n\nout/")[0] in written[f"{name}.md"].decode()
    assert told["generation"].encode() in written[f"{name}.svg"]

    again = report(*command[3:], "--output", tmp_path / "other" / "again")
    assert again.code == 0, again.err
    assert {file.name: file.read_bytes() for file in (tmp_path / "other" / "again").iterdir()} == written


def test_other_seeds_give_other_figures(call: Any, tmp_path: Path) -> None:
    figures = []
    for seed in (0, 1):
        assert call("hops", "--targets", "20", "--runs", "1", "--seed", seed).code == 0
        figures.append(json.loads((tmp_path / "out" / "hops.json").read_bytes()))
    assert [told["seeds"] for told in figures] == [[0], [1]]
    assert figures[0]["measured"] != figures[1]["measured"]


def test_what_cannot_be_measured_or_written_is_refused(call: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for refused, said in (
        (call("hops", collection="dots"), "not known here"),
        (call("hops", output=tmp_path / "file" / "below"), "cannot make the folder"),
    ):
        assert (refused.code, said in refused.err, "Traceback" in refused.err) == (2, True, False), refused.err
    assert not (tmp_path / "out").exists()


def test_without_the_extra_it_says_what_to_install(store_folder: Path) -> None:
    script = (
        "import sys; sys.modules['matplotlib'] = None; from studies.report import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", script, "hops", "--store", str(store_folder), "--collection", "nci"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    hint = "pip install 'graphkin[studies]', or '.[studies]' in a clone"
    assert (ended.returncode, hint in ended.stderr, "Traceback" in ended.stderr) == (2, True, False)
