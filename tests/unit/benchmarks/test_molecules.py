"""Generated molecules are reproducible, valid, distinct and drug-like."""

import gzip
import hashlib
import sys
import tracemalloc
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import TextIO

import numpy as np
import pyarrow as pa
import pytest
from rdkit import Chem
from rdkit.Chem import Descriptors, rdMolDescriptors

from benchmarks import molecules, properties
from benchmarks.molecules import Library, generate
from benchmarks.properties import PROPERTIES

FIRST = 20_000
DIGEST = "18f848d3d88c35807c7e060403ca102f3d2f824a60b6dcff0604c81b1e5ece1b"
"""SHA-256 of the first 20,000 lines."""


@pytest.fixture(scope="module")
def library() -> Library:
    return Library()


@pytest.fixture(scope="module")
def first(library: Library) -> list[str]:
    return library.block(0, FIRST).to_pylist()


@pytest.fixture(scope="module")
def parsed(first: list[str]) -> list[Chem.Mol]:
    return [Chem.MolFromSmiles(each) for each in first]


def test_generated_smiles_are_frozen(first: list[str]) -> None:
    assert hashlib.sha256("\n".join(first).encode()).hexdigest() == DIGEST


def test_every_molecule_is_valid_and_connected(parsed: list[Chem.Mol]) -> None:
    assert all(each is not None for each in parsed)
    assert all(len(Chem.GetMolFrags(each)) == 1 for each in parsed)


def test_molecules_are_distinct(parsed: list[Chem.Mol]) -> None:
    assert len({Chem.MolToSmiles(each) for each in parsed}) == FIRST


def test_molecules_are_drug_like(parsed: list[Chem.Mol]) -> None:
    """95 % meet at least three of Lipinski's four rules."""
    sample = parsed[:2_000]
    rules = [
        np.array([Descriptors.MolWt(each) for each in sample]) <= 500,
        np.array([rdMolDescriptors.CalcCrippenDescriptors(each)[0] for each in sample]) <= 5,
        np.array([rdMolDescriptors.CalcNumLipinskiHBD(each) for each in sample]) <= 5,
        np.array([rdMolDescriptors.CalcNumLipinskiHBA(each) for each in sample]) <= 10,
    ]
    assert np.mean(np.sum(rules, axis=0) >= 3) > 0.95


@pytest.mark.parametrize(
    ("name", "quartiles", "tolerance"),
    [
        ("molecular weight", (290.4, 333.4, 368.4), 10),
        ("rings", (2, 3, 3), 0),
        ("fingerprint bits", (40, 45, 50), 2),
    ],
)
def test_properties_are_close_to_those_of_zinc250k(
    parsed: list[Chem.Mol], name: str, quartiles: tuple[float, ...], tolerance: float
) -> None:
    values = [PROPERTIES[name](each) for each in parsed[:5_000]]
    assert np.quantile(values, (0.25, 0.5, 0.75)) == pytest.approx(quartiles, abs=tolerance)


def test_properties_of_files_are_printed(
    first: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "some.smi"
    file.write_text("\n".join(["c1ccccc1", "CCO", *first[:8]]) + "\n")
    monkeypatch.setattr(sys, "argv", ["properties", str(file), "--sample", "100"])
    properties.main()
    weight, *_, bits = capsys.readouterr().out.splitlines()
    weights = [Descriptors.MolWt(Chem.MolFromSmiles(each)) for each in ["c1ccccc1", "CCO", *first[:8]]]
    assert weight.split()[:3] == ["molecular", "weight", "some.smi"]
    assert weight.endswith(f"mean {np.mean(weights):.1f}")
    assert bits.startswith("fingerprint bits")


def test_blocks_concatenate_to_one_sequence(library: Library, first: list[str]) -> None:
    parts = [library.block(begin, end).to_pylist() for begin, end in ((0, 1), (1, 8), (8, 8), (8, 5_003))]
    assert list(chain(*parts)) == first[:5_003]


def test_block_beyond_the_last_molecule_is_refused(library: Library) -> None:
    assert library.capacity > 40_000_000
    (last,) = library.block(library.capacity - 1, library.capacity).to_pylist()
    assert Chem.MolFromSmiles(last) is not None
    with pytest.raises(ValueError, match=f"the library has {library.capacity:,}"):
        library.block(0, library.capacity + 1)


def test_memory_does_not_grow_with_count() -> None:
    """The strings of 400,000 molecules would take 45 MB."""
    many = generate(400_000)
    next(many)
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    allocated = max(pa.total_allocated_bytes() for _ in many)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000_000
    assert allocated - before < 20_000_000


def test_seeds_give_different_molecules(first: list[str]) -> None:
    others = Library(seed=2).block(0, 1_000).to_pylist()
    assert len(set(others) & set(first)) < 10


@pytest.mark.parametrize(("name", "read"), [("some.smi.gz", gzip.open), ("some.smi", open)])
def test_command_writes_the_molecules(
    first: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    read: Callable[..., TextIO],
) -> None:
    monkeypatch.setattr(sys, "argv", ["molecules", "300", "--output", str(tmp_path / name)])
    molecules.main()
    with read(tmp_path / name, "rt") as file:
        assert file.read().splitlines() == first[:300]
    assert capsys.readouterr().out.startswith("300 molecules in ")


def test_command_refuses_more_molecules_than_the_library_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["molecules", "10000000000", "--output", str(tmp_path / "many.smi")])
    with pytest.raises(SystemExit, match="2"):
        molecules.main()
    assert "to 10,000,000,000: the library has" in capsys.readouterr().err
    assert not (tmp_path / "many.smi").exists()
