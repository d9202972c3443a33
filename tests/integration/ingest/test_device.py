"""`--device cuda` builds the similarity graph that the CPU builds, or says why it cannot."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from graphkin.store import open_store

MOLECULES = ["CCO ethanol", "CCCO propanol", "CCN ethylamine"]


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.fixture
def molecules_file(tmp_path: Path) -> str:
    file = tmp_path / "molecules.smi"
    file.write_text("".join(f"{line}\n" for line in MOLECULES))
    return str(file)


def commands(folder: Path, device: str, files: list[str]) -> list[list[str]]:
    """Return commands that ingest, append, measure recall and search, all on one device."""
    target = ["--store", str(folder / "store"), "--collection", device]
    hits, nearest = (str(folder / f"{name}-{device}.csv") for name in ("hits", "nearest"))
    search = ["search", *target, "--file", files[1], "--limit", "4", "--output"]
    return [
        ["ingest", "molecules", files[0], *target, "--threshold", "0.3", "--top-k", "5", "--device", device],
        ["append", files[1], *target, "--device", device],
        ["recall", *target, "--sample", "40", "--json", "--device", device],
        [*search, hits, "--min-similarity", "0.45", "--device", device],
        [*search, nearest, "--device", device],
    ]


def test_results_of_a_gpu_equal_those_of_the_cpu(graphkin: Any, nci_file: Path, tmp_path: Path) -> None:
    pytest.importorskip("triton")
    lines = nci_file.read_text().splitlines(keepends=True)
    files = [str(tmp_path / name) for name in ("first.smi", "later.smi")]
    for file, part in zip(files, (lines[:200], lines[200:300]), strict=True):
        Path(file).write_text("".join(part))
    interpreted = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("interpreted.py"))]
        + [json.dumps(command) for command in commands(tmp_path, "cuda", files)],
        check=True,
        env=os.environ | {"TRITON_INTERPRET": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    outcomes = [graphkin(*command) for command in commands(tmp_path, "cpu", files)]
    assert [outcome.code for outcome in outcomes] == [0] * len(outcomes)
    assert outcomes[2].out in interpreted.stdout
    for name in ("hits", "nearest"):
        expected = (tmp_path / f"{name}-cpu.csv").read_text()
        assert (tmp_path / f"{name}-cuda.csv").read_text() == expected
        assert len(expected.splitlines()) > 100
    with open_store(tmp_path / "store") as store:
        for number in range(2):
            ids = [store.collection(name).generations[number] for name in ("cuda", "cpu")]
            assert ids[0] == ids[1]
            assert _content(store, "cuda", ids[0]) == _content(store, "cpu", ids[1])


def _content(store: Any, collection: str, id: str) -> list[bytes]:
    """Return the bytes of graph, forest and truncated counts of a generation."""
    with store.open(collection, id) as generation:
        graph, forest = vars(generation.graph()), vars(generation.forest())
        return [array.tobytes() for array in (*graph.values(), *forest.values(), generation.dropped())]


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize("items", ["molecules", "fingerprints"])
def test_ingest_without_a_gpu_names_the_option(graphkin: Any, molecules_file: str, tmp_path: Path, items: str) -> None:
    if items == "fingerprints":
        Path(molecules_file).with_suffix(".fps").write_text("#FPS1\n#num_bits=8\n01\ta\n03\tb\n")
        molecules_file = str(Path(molecules_file).with_suffix(".fps"))
    outcome = graphkin("ingest", items, molecules_file, "--store", "s", "--collection", "c", "--device", "cuda")
    assert outcome.code == 2
    assert "error: PyTorch finds no NVIDIA GPU\n  given: device cuda\n  expected: device cpu" in outcome.err


@pytest.mark.usefixtures("no_gpu")
def test_append_without_a_gpu_names_the_option(graphkin: Any, ingest: Any, molecules_file: str, tmp_path: Path) -> None:
    assert ingest("CCCCO butanol\n").code == 0
    store = tmp_path / "store"
    outcome = graphkin("append", molecules_file, "--store", store, "--collection", "c", "--device", "cuda")
    assert outcome.code == 2
    assert "given: device cuda\n  expected: device cpu" in outcome.err
    assert "hint: use --device cpu" in outcome.err


@pytest.mark.usefixtures("no_gpu")
def test_recall_and_search_without_a_gpu_name_the_option(
    graphkin: Any, ingest: Any, molecules_file: str, tmp_path: Path
) -> None:
    assert ingest("CCCCO butanol\n").code == 0
    target = ("--store", tmp_path / "store", "--collection", "c", "--device", "cuda")
    recall = graphkin("recall", *target)
    search = graphkin("search", *target, "--file", molecules_file, "--output", "hits.csv")
    for outcome in (recall, search):
        assert outcome.code == 2
        assert "given: device cuda\n  expected: device cpu" in outcome.err
        assert "hint: use --device cpu" in outcome.err


def test_search_for_one_structure_refuses_a_gpu(graphkin: Any, ingest: Any, tmp_path: Path) -> None:
    assert ingest("CCCCO butanol\n").code == 0
    target = ("--store", tmp_path / "store", "--collection", "c", "--device", "cuda")
    outcome = graphkin("search", "CCO", *target)
    assert outcome.code == 2
    assert "--device cuda needs --file" in outcome.err


@pytest.mark.parametrize("package", ["torch", "triton"])
def test_ingest_without_the_extra_says_how_to_install_it(
    graphkin_without: Callable[..., Any], molecules_file: str, package: str
) -> None:
    arguments = ("ingest", "molecules", molecules_file, "--store", "s", "--collection", "c")
    refused = graphkin_without(package, *arguments, "--device", "cuda")
    assert refused.returncode == 2
    assert f"the package {package}, which is not installed" in refused.stderr
    assert "hint: install the extra gpu: pip install '.[gpu]' in a clone" in refused.stderr
    if package == "torch":
        assert graphkin_without(package, *arguments, "--device", "cpu").returncode == 0


def test_window_candidates_are_refused(graphkin: Any, molecules_file: str) -> None:
    arguments = ("ingest", "molecules", molecules_file, "--store", "s", "--collection", "c", "--preset", "paper")
    outcome = graphkin(*arguments, "--device", "cuda")
    assert outcome.code == 2
    assert "a GPU compares only molecules and fingerprints" in outcome.err


@pytest.mark.parametrize("device", ["auto", "gpu"])
def test_other_devices_are_refused(graphkin: Any, molecules_file: str, device: str) -> None:
    outcome = graphkin("ingest", "molecules", molecules_file, "--store", "s", "--collection", "c", "--device", device)
    assert outcome.code == 2
    assert "expected: cpu or cuda" in outcome.err


def test_tasks_refuse_a_gpu(graphkin: Any, molecules_file: str) -> None:
    arguments = ("ingest", "molecules", molecules_file, "--lake", "l", "--engine", "tasks", "--collection", "c")
    outcome = graphkin(*arguments, "--device", "cuda")
    assert outcome.code == 2
    assert "--device cuda needs --engine local\n" in outcome.err
