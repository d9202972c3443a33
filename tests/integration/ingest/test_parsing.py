"""Parsing of chunks in worker processes, which may crash."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from graphkin.ingest.parsing import Chunk, ChunkParser, Parsed
from graphkin.ingest.pool import ParserPool
from graphkin.ingest.workspace import Workspace
from graphkin.protocol.errors import StoreError
from graphkin.similarity.molecules.describer import MoleculeDescriber
from graphkin.similarity.molecules.recipe import MoleculeRecipe, resolve

RECIPE = resolve(tie_seed=3)
CRASH = "".join(f"[{isotope}CH2]" for isotope in range(1, 40_001))
"""RDKit parses this chain, but overflows the stack while writing its SMILES. The isotopes make the crash fast."""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    new_workspace = Workspace(tmp_path / "work")
    new_workspace.prepare()
    return new_workspace


def _parsed(
    chunks: Iterable[Chunk], workspace: Workspace, recipe: MoleculeRecipe, max_atoms: int, workers: int
) -> list[Parsed]:
    with ParserPool(MoleculeDescriber, recipe, max_atoms, workers, workspace) as pool:
        pool.start(chunks)
        return list(pool.results())


def _rows(parsed: list[Parsed]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return molecules and rejections in order."""
    return (
        [row for each in parsed for row in each.items.to_pylist()],
        [row for each in parsed for row in each.rejections.to_pylist()],
    )


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_results_do_not_depend_on_the_number_of_workers(
    chunk: Callable[..., Chunk], nci_smiles: list[str], workers: int, workspace: Workspace
) -> None:
    texts = [*nci_smiles[:300], "nonsense", "", *nci_smiles[300:330]]
    whole = chunk(texts, names=[f"n{n}" for n in range(len(texts))])
    sizes = [1, 200, 3, 50, 0, 7, 60, 11]
    starts = [sum(sizes[:n]) for n in range(len(sizes))]
    chunks = [whole.slice(start, size) for start, size in zip(starts, sizes, strict=True)]
    results = _parsed(iter(chunks), workspace, RECIPE, 1000, workers)
    expected = [ChunkParser(MoleculeDescriber(RECIPE, 1000)).parse(each) for each in chunks]
    assert results == expected


def test_no_chunks_give_no_results(workspace: Workspace) -> None:
    assert _parsed([], workspace, RECIPE, 1000, 2) == []


def test_crash_only_rejects_its_record(chunk: Callable[..., Chunk], workspace: Workspace) -> None:
    """Every record before and after it, in its chunk and in others, is parsed once and in order."""
    texts = [["C", "CC", CRASH, "CCC", "nonsense"], ["N"], [CRASH], ["O", "CO"], ["F"]]
    results = _parsed(map(chunk, texts), workspace, RECIPE, 100_000, 2)
    molecules, rejections = _rows(results)
    assert [row["smiles"] for row in molecules] == ["C", "CC", "CCC", "N", "O", "CO", "F"]
    crash_reason = "the parser process died on this record"
    assert [(row["line"], row["input"], row["reason"] == crash_reason) for row in rejections] == [
        (3, CRASH[:4096], True),
        (5, "nonsense", False),
        (1, CRASH[:4096], True),
    ]


def test_complete_results_are_reused_and_partial_ones_are_not(
    chunk: Callable[..., Chunk], workspace: Workspace
) -> None:
    """Two result files are exchanged between runs, which shows that the second run reads them."""
    chunks = [chunk(["C", "nonsense"]), chunk(["N"]), chunk(["O"])]
    first = _parsed(chunks, workspace, RECIPE, 1000, 2)
    pieces = {Parsed.read(path).items["smiles"][0].as_py(): path for path in workspace.folder.iterdir()}
    assert sorted(pieces) == ["C", "N", "O"]
    content = {smiles: path.read_bytes() for smiles, path in pieces.items()}
    pieces["C"].write_bytes(content["N"])
    for length in (0, 1, len(content["O"]) // 2, len(content["O"]) - 300):
        pieces["O"].write_bytes(content["O"][:length])
        second = _parsed(chunks, workspace, RECIPE, 1000, 2)
        assert second == [first[1], first[1], first[2]]
    for recipe, max_atoms in ((resolve(tie_seed=4), 1000), (RECIPE, 999), (resolve(tie_seed=3, inchikey=True), 1000)):
        other, *_ = _parsed(chunks, workspace, recipe, max_atoms, 1)
        assert other.items["smiles"].to_pylist() == ["C"]


def test_write_error_is_reported(chunk: Callable[..., Chunk], workspace: Workspace) -> None:
    workspace.folder.rmdir()
    with pytest.raises(StoreError, match="cannot write the store"):
        _parsed([chunk(["C"])], workspace, RECIPE, 1000, 1)
