"""What `graphkin doctor` finds where all is well, and where it is not."""

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
    found: Findings = {}
    for each in json.loads(capfd.readouterr().out):
        found.setdefault(each["about"], []).append((each["state"], each["said"], each["hint"]))
    return code, found


def states(found: Findings, about: str) -> list[str]:
    return [state for state, *_ in found[about]]


def test_all_is_well(store: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with Server(Settings(store=store, port=0, cache_dir=tmp_path / "cache")).running() as url:
        code, found = doctor(capfd, "--store", store, "--server", url)
        while states(found, "server") == ["note"]:  # kernels are still compiled
            code, found = doctor(capfd, "--store", store, "--server", url)
    assert code == 0
    assert {about for about in found if "wrong" in states(found, about)} == set()
    assert "graphkin 0." in found["versions"][0][1]
    assert "10 items, 10 edges, 1 generations" in found["collection mine"][0][1]
    assert found["server"][0][0] == "ok"


def test_another_rdkit_is_noted(store: Path, capfd: pytest.CaptureFixture[str]) -> None:
    _, found = doctor(capfd, "--store", store)
    (_, (state, said, hint)) = found["collection mine"]
    assert (state, said.split(",")[0]) == ("note", "made with rdkit 2019.09.1")
    assert hint is not None


def test_many_generations_are_noted(store: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with open_store(store) as opened:
        for number in range(10):
            rows: list[dict[str, Any]] = [
                {"smiles": "C" * (number + 1), "inchikey": None, "names": [], "properties": {}}
            ]
            Hierarchy(rows, {}, [], dropped=[0]).publish(opened, "mine")
    code, found = doctor(capfd, "--store", store)
    assert code == 0
    assert [hint for _, _, hint in found["collection mine"] if hint and "prune" in hint]


def test_few_files_are_noted() -> None:
    command = f"ulimit -n 512; exec {shlex.quote(sys.executable)} -m graphkin doctor"
    told = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True).stdout
    assert [line.split()[0] for line in told.splitlines() if "open files" in line] == ["note"]


def test_what_is_wrong_is_told_with_what_to_do(store: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(next((store / "collections" / "mine").iterdir()))
    code, found = doctor(capfd, "--store", store, "--server", "http://127.0.0.1:9")
    assert code == 1
    assert (states(found, "collection mine"), states(found, "server")) == (["wrong"], ["wrong"])
    assert "delete this generation" in str(found["collection mine"][0][2])
    code, found = doctor(capfd, "--store", tmp_path / "nothing", "--server", "ftp://example.org")
    assert (code, states(found, "store"), states(found, "server")) == (1, ["wrong"], ["wrong"])


def test_people_read_lines(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:2]] == ["ok", "ok"]
    assert lines[0].startswith("ok     versions: Python 3.")
