"""The tables of docs/concepts/molecule-identity.md match the behavior of the code, line by line."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rdkit import Chem
from rdkit.Chem import rdDepictor

from graphkin.protocol.errors import InvalidInput
from graphkin.similarity.describer import Rejected
from graphkin.similarity.molecules.query import read_molecule
from graphkin.similarity.molecules.reader import MoleculeReader
from graphkin.similarity.molecules.recipe import resolve

PAGE = Path(__file__).parents[3] / "docs" / "concepts" / "molecule-identity.md"
_CELLS = re.compile(r"(?<!\\)\|")


def _lines(first: str) -> Iterator[tuple[str, str]]:
    """Yield the first two cells of each line, of the tables whose first column has this title."""
    inside = False
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if not line.startswith("|"):
            inside = False
            continue
        text, becomes = (cell.strip().replace(r"\|", "|") for cell in _CELLS.split(line)[1:3])
        if inside and not text.startswith("---"):
            yield text, becomes
        inside = inside or text == first


SMILES = [(given.strip("`"), becomes) for given, becomes in _lines("input")]
TAUTOMERS = [(given.strip("`"), becomes) for given, becomes in _lines("tautomer")]
DRAWINGS = dict(_lines("molfile"))


def _v2000(atoms: tuple[str, ...] = ("C", "C", "O"), bonds: tuple[int, ...] = (1, 1), lines: str = "") -> str:
    """Return a molblock of three atoms in a row, with extra lines."""
    atom_lines = "".join(
        f"{1.3 * position:10.4f}{0.7 * (position % 2):10.4f}{0:10.4f} {symbol:3} 0  0  0  0\n"
        for position, symbol in enumerate(atoms)
    )
    bond_lines = "".join(f"{position:3}{position + 1:3}{kind:3}  0\n" for position, kind in enumerate(bonds, 1))
    return f"\n  drawn\n\n  3  2  0  0  0  0            999 V2000\n{atom_lines}{bond_lines}{lines}M  END\n"


def _molblock(smiles: str) -> str:
    molecule = Chem.MolFromSmiles(smiles)
    rdDepictor.Compute2DCoords(molecule)
    return str(Chem.MolToMolBlock(molecule))


SRU = "M  STY  1   1 SRU\nM  SAL   1  1   2\nM  SBL   1  2   1   2\nM  SMT   1 n\nM  SCN  1   1 HT \n"
ISOMER = "C[C@H](F)[C@H](O)C"
BLOCKS = {
    "groups STERAC, STEREL (V3000)": [_molblock(f"{ISOMER} |&1:1,3|")],
    "a group that names an atom without a wedge (V3000)": [
        _molblock(f"{ISOMER} |&1:1,3|").replace("(2 2 4)", "(3 1 2 4)")
    ],
    "group STEABS (V3000)": [_molblock(f"{ISOMER} |a:1,3|")],
    "chiral flag 0": [_molblock(ISOMER)],
    "atom `*`": [_v2000(("C", "C", "*"))],
    "atom `R`": [_v2000(("C", "C", "R"))],
    "atom `R#`, number 1": [_v2000(("C", "C", "R#"), lines="M  RGP  1   3   1\n")],
    "atom `D`": [_v2000(("C", "C", "D"))],
    "atom `A`": [_v2000(("C", "C", symbol)) for symbol in ("A", "Q", "X", "M")],
    "a list of atoms": [_v2000(("C", "C", "L"), lines=f"M  ALS   3  2 {no} N   O   \n") for no in "FT"],
    "number of ring bonds": [_v2000(lines=f"M  {what}  1   1   1\n") for what in ("SUB", "UNS")]
    + [_v2000(lines="M  RBC  1   1   2\n")],
    "atom `Pol`": [_v2000(("C", "C", symbol)) for symbol in ("Pol", "LP")],
    "bond type 8": [_v2000(bonds=(kind, 1)) for kind in (5, 6, 7, 8, 10)],
    "bond type 9": [_v2000(("O", "C", "C"), bonds=(9, 1))],
    "bond of order zero": [_v2000(lines="M  ZBO  1   1   0\n")],
    "alias `Boc`": [_v2000(lines="A    1\nBoc\n")],
    "value of an atom": [_v2000(lines="V    1 note\n")],
    "attachment point": [_v2000(lines="M  APO  1   1   1\n")],
    "link node": [_v2000(lines="M  LIN  1   2   4   1   3\n")],
    "S-group SUP": [
        _v2000(lines=f"M  STY  1   1 {kind}\nM  SAL   1  1   3\n") for kind in ("SUP", "DAT", "MUL", "GEN")
    ],
    "S-group SRU": [_v2000(lines=SRU)],
    "a wedge at an axis": [_molblock("Cc1cccc(F)c1-c1c(C)cccc1Cl |wU:7.7|")],
    "radical, isotope, charge": [_v2000(lines="M  RAD  1   1   2\nM  ISO  1   1  13\nM  CHG  1   3  -1\n")],
    "an element `Xx`": [_v2000(("C", "C", "Xx"))],
}


def _outcome(text: str, writing: Any, *steps: str) -> str:
    reader = MoleculeReader(resolve(standardise=steps))
    try:
        return f"`{reader.describe(reader.read(text, writing)).smiles}`"
    except Rejected as reason:
        return f"rejected: {reason}"


@pytest.mark.parametrize(("given", "becomes"), SMILES)
def test_smiles_are_read_as_the_page_says(given: str, becomes: str) -> None:
    assert _outcome(given, "smiles") == becomes


@pytest.mark.parametrize(("given", "becomes"), SMILES)
def test_queries_are_read_as_the_page_says(given: str, becomes: str) -> None:
    if becomes.startswith("rejected: "):
        with pytest.raises(InvalidInput) as error:
            read_molecule(resolve(), given, "smiles")
        assert error.value.detail == becomes.replace("rejected", "this is not a molecule")
    else:
        assert f"`{read_molecule(resolve(), given, 'smiles').text}`" == becomes


@pytest.mark.parametrize(("given", "becomes"), TAUTOMERS)
def test_tautomers_are_read_as_the_page_says(given: str, becomes: str) -> None:
    assert _outcome(given, "smiles", "tautomer") == becomes


def test_each_drawing_on_the_page_is_tested() -> None:
    assert DRAWINGS.keys() == BLOCKS.keys()
    assert len(SMILES) > 40
    assert len(TAUTOMERS) == 8


@pytest.mark.parametrize(("drawn", "block"), [(drawn, block) for drawn, blocks in BLOCKS.items() for block in blocks])
def test_molfiles_are_read_as_the_page_says(drawn: str, block: str) -> None:
    assert _outcome(block, "molblock") == DRAWINGS[drawn]
