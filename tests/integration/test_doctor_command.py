"""Findings of `graphkin doctor`, in a correct and an incorrect environment."""

import json
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphkin.api.serve import Server
from graphkin.api.settings import Settings
from graphkin.cli import run
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store
from graphkin.store.contract.hierarchies import MOLECULES, Hierarchy

Findings = dict[str, list[tuple[str, str, str | None]]]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    with open_store(tmp_path / "store", create=True) as store:
        replace(MOLECULES, rdkit="2019.09.1", recipe=resolve().model_dump(mode="json")).publish(store, "mine")
    return tmp_path / "store"


def doctor(capfd: pytest.CaptureFixture[str], *options: object) -> tuple[int, Findings]:
    code = run(["doctor", "--json", *map(str, options)])
    findings: Findings = {}
    for each in json.loads(capfd.readouterr().out):
        findings.setdefault(each["about"], []).append((each["state"], each["said"], each["hint"]))
    return code, findings


def states(findings: Findings, about: str) -> list[str]:
    return [state for state, *_ in findings[about]]


def test_correct_environment_has_no_problems(store: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with Server(Settings(store=store, port=0, cache_dir=tmp_path / "cache")).running() as url:
        code, findings = doctor(capfd, "--store", store, "--server", url)
        while states(findings, "server") == ["note"]:  # The kernels are still being compiled.
            code, findings = doctor(capfd, "--store", store, "--server", url)
    assert code == 0
    assert {about for about in findings if "wrong" in states(findings, about)} == set()
    assert "graphkin 0." in findings["versions"][0][1]
    assert "10 items, 10 edges, 1 generation" in findings["collection mine"][0][1]
    assert findings["server"][0][0] == "ok"


def test_other_rdkit_version_is_noted(store: Path, capfd: pytest.CaptureFixture[str]) -> None:
    _, findings = doctor(capfd, "--store", store)
    (_, (state, text, hint)) = findings["collection mine"]
    assert (state, text.split(",")[0]) == ("note", "made with rdkit 2019.09.1")
    assert hint is not None


def test_many_generations_are_noted(store: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with open_store(store) as opened:
        for number in range(10):
            rows: list[dict[str, Any]] = [
                {"smiles": "C" * (number + 1), "inchikey": None, "names": [], "properties": {}}
            ]
            Hierarchy(rows, {}, [], dropped=[0]).publish(opened, "mine")
    code, findings = doctor(capfd, "--store", store)
    assert code == 0
    assert [hint for _, _, hint in findings["collection mine"] if hint and "prune" in hint]


def test_few_files_are_noted() -> None:
    command = f"ulimit -n 512; exec {shlex.quote(sys.executable)} -m graphkin doctor"
    output = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True).stdout
    assert [line.split()[0] for line in output.splitlines() if "open files" in line] == ["note"]


def test_problems_are_reported_with_hints(store: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(next((store / "collections" / "mine").iterdir()))
    code, findings = doctor(capfd, "--store", store, "--server", "http://127.0.0.1:9")
    assert code == 1
    assert (states(findings, "collection mine"), states(findings, "server")) == (["wrong"], ["wrong"])
    assert "delete this generation" in str(findings["collection mine"][0][2])
    code, findings = doctor(capfd, "--store", tmp_path / "nothing", "--server", "ftp://example.org")
    assert (code, states(findings, "store"), states(findings, "server")) == (1, ["wrong"], ["wrong"])


def test_default_output_is_lines_of_text(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:2]] == ["ok", "ok"]
    assert lines[0].startswith("ok     versions: Python 3.")
