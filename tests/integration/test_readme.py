"""The sections of README's first five minutes run on small files with the names in the text.

`CHANGES` makes them end quickly and without a user. The servers are those of the test.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import networkx as nx
import pyarrow as pa
import pytest

from tests.documentation_files import (
    packed_bits,
    write_data_sets,
    write_fingerprints,
    write_graphs,
    write_large_graphs,
    write_molecules,
)

ROOT = Path(__file__).parents[2]
SERVER = "127.0.0.1:8000"
REPLACEMENTS = {
    r"graphkin serve[^\n]*\n": "",
    r"pip install[^\n]*\n": "",
    r"00f81c…": "{bits}",
    r"\[0\.12, -0\.5, …\]": "{vector}",
    r"--threshold 0\.5": "--threshold 0.2",
    r"--max-steps 3000": "--max-steps 2",
    r"--epochs 40": "--epochs 1",
    r"count=255": "count=25",
    r"curl -s": "curl --silent --fail-with-body",
}
"""Patterns and their replacements. Braces mark values that README omits."""

Serve = Callable[[Path], AbstractContextManager[str]]


def section(title: str) -> list[tuple[str, str]]:
    """Return language and text of the code blocks under a heading."""
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    (text,) = re.findall(rf"^### {title}\n(.*?)^##", page, re.MULTILINE | re.DOTALL)
    return re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def changed(text: str, server: str, omitted_values: dict[str, str]) -> str:
    for pattern, replacement in REPLACEMENTS.items():
        text = re.sub(pattern, lambda _, replacement=replacement: replacement.format(**omitted_values), text)  # type: ignore[misc]
    return text.replace(SERVER, server)


def run(language: str, text: str, folder: Path) -> str:
    """Run a block of code and return its output."""
    command = [sys.executable, "-c", text] if language == "python" else ["bash", "-euo", "pipefail", "-c", text]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    process = subprocess.run(command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, check=False)
    assert process.returncode == 0, (process.stdout[-2000:], process.stderr.decode())
    return process.stdout.decode(errors="replace")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, nci_smiles: list[str]) -> Path:
    folder = tmp_path_factory.mktemp("machine")
    (folder / ".venv").symlink_to(sys.prefix)
    write_molecules(folder, nci_smiles)
    write_data_sets(folder, nci_smiles)
    write_graphs(folder)
    write_large_graphs(folder)
    write_fingerprints(folder, nci_smiles[:100])
    return folder


@pytest.fixture(scope="module")
def chemist_output(folder: Path) -> list[str]:
    """Run the section of the chemist, which creates the collection `mine`, and return its output."""
    return [run(language, changed(text, SERVER, {}), folder) for language, text in section("A chemist with a file")]


@pytest.fixture(scope="module")
def run_section(folder: Path, chemist_output: list[str], serve: Serve) -> Iterator[Callable[..., list[str]]]:
    """Yield `run_section(title, ...)`, which runs a section and returns the output of each block."""
    with serve(folder / "store") as url:

        def run_blocks(title: str, preamble: str = "", **omitted_values: str) -> list[str]:
            server = url.removeprefix("http://")
            blocks = [(language, changed(text, server, omitted_values)) for language, text in section(title)]
            return [run(language, f"{preamble}{text}", folder) for language, text in blocks]

        yield run_blocks


def test_section_of_a_chemist(chemist_output: list[str], folder: Path) -> None:
    (printed,) = chemist_output
    assert "aspirin" in printed
    assert "<graphml" in (folder / "mine.graphml").read_text()


def test_section_of_a_notebook(run_section: Callable[..., list[str]]) -> None:
    vectors = (
        "from rdkit.Chem import rdFingerprintGenerator, MolFromSmiles\n"
        "generator = rdFingerprintGenerator.GetMorganGenerator()\n"
        'bit_vectors = [generator.GetFingerprint(MolFromSmiles(each)) for each in ("CCO", "CCCO", "CCCCO")]\n'
    )
    assert run_section("A notebook", vectors) == [""]


@pytest.mark.long
def test_section_with_graphs(run_section: Callable[..., list[str]]) -> None:
    (printed,) = run_section("Somebody with graphs")
    assert json.loads(printed.splitlines()[-1])["hits"]


@pytest.mark.long
def test_section_with_one_large_graph(run_section: Callable[..., list[str]], folder: Path) -> None:
    (printed,) = run_section("Somebody with one big graph")
    assert json.loads(printed.splitlines()[-1])["items"][0]["names"] == ["10241"]
    with pa.ipc.open_stream(folder / "flights.arrow") as links:
        assert links.read_all().num_rows == nx.karate_club_graph().number_of_edges()


@pytest.mark.long
def test_section_with_fingerprints(run_section: Callable[..., list[str]], nci_smiles: list[str], folder: Path) -> None:
    (printed,) = run_section("Somebody with fingerprints of their own", bits=packed_bits(nci_smiles[0]).tobytes().hex())
    assert "CHEMBL0" in printed
    assert (folder / "mine.fps").read_text().startswith("#FPS1")


def test_section_of_a_program(run_section: Callable[..., list[str]]) -> None:
    query_output, hits = run_section("A program")
    assert "aspirin" in query_output
    assert len(hits.splitlines()) == 5


@pytest.mark.long
def test_sections_of_a_trainer_and_with_embeddings(run_section: Callable[..., list[str]], folder: Path) -> None:
    training_output, query_output = run_section("A trainer")
    assert "bace" in training_output
    assert json.loads((folder / "bace.json").read_text())
    assert '"complete":true' in query_output
    (embedding_output,) = run_section("Somebody with embeddings", vector=str([0.1] * 300))
    assert embedding_output
