"""What is said of structures that RDKit does not read: its words, never the insides of its library."""

import random
import re
import time
from pathlib import Path
from typing import Any

import pytest
from rdkit import Chem, rdBase

from graphkin.protocol.errors import InvalidInput
from graphkin.similarity.describer import Rejected
from graphkin.similarity.molecules.messages import rdkit_messages, readable_messages
from graphkin.similarity.molecules.query import read_molecule
from graphkin.similarity.molecules.reader import MoleculeReader
from graphkin.similarity.molecules.recipe import resolve

INSIDE = re.compile(r"\.cpp|\.h\b|\.so\b|Stacktrace|Violation|/site-packages/|line \d+ in file|0x[0-9a-fA-F]{6}")
LONG = "C" * 400
SYNTAX = "SMILES Parse Error: syntax error while parsing:"
PLACE = "SMILES Parse Error: check for mistakes around position"
ETHANOL = Chem.MolToMolBlock(Chem.MolFromSmiles("CCO"))


def _reason(text: str, writing: Any = "smiles") -> str:
    with pytest.raises(Rejected) as error:
        MoleculeReader(resolve()).read(text, writing)
    return str(error.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[CH999]", "RDKit cannot read this smiles"),
        ("[#119]", "Atomic number not found"),
        ("C[N+](C)(C)(C)C", "Explicit valence for atom # 1 N, 5, is greater than permitted"),
        ("c1cc1", "Can't kekulize mol.  Unkekulized atoms: 0 1 2"),
        ("c1ccccc", "SMILES Parse Error: unclosed ring for input: 'c1ccccc'"),
        ("C1CC", "SMILES Parse Error: unclosed ring for input: 'C1CC'"),
        ("[Xx]", f"{SYNTAX} [Xx]; {PLACE} 2:"),
        (
            f"{LONG}(",
            f"{SYNTAX} {LONG[:152]}…; {PLACE} 401:",
        ),
    ],
)
def test_reasons_in_full(text: str, reason: str) -> None:
    assert _reason(text) == reason


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (" O  ", " Xx ", "Element 'Xx' not found"),
        ("  2  3  1", "  2  9  1", "RDKit cannot read this molblock"),
        ("V2000", "V20\ufeff00", "RDKit cannot read this molblock"),  # cut inside a character, which no log takes
        ("  3  2", "  9  2", "Atom line too short: '  1  2  1  0' on line 8"),
    ],
)
def test_reasons_for_molfiles(old: str, new: str, reason: str) -> None:
    assert old in ETHANOL
    assert _reason(ETHANOL.replace(old, new), "molblock") == reason


@pytest.mark.parametrize("message", ["Bad thing", "value < limit()", "", "Range Error"])
def test_of_a_broken_assumption_only_words_are_told(message: str) -> None:
    heading, rest = "Pre-condition Violation", ["Violation occurred on line 95 in file /build/Atom.cpp", "Stacktrace:"]
    for lines in (["****", heading, message, *rest, "0# f() in /lib/x.so", "****"], [heading, f"\t{message}", *rest]):
        assert readable_messages(lines, "CC") == ("Bad thing" if message == "Bad thing" else "")


PIECES = (
    *"@[](|)&%.~/\\$=+-\x00\x01\x7f\u2028\u20ac\ufeff\udcff",
    *("&1:", "o1:", " |&1:1,3|", " |$a;b$|", " |(0,0,;1,1,)|", "#119", "CH999", "%12", "[*]", "->", ">>", "[C@TB7H]"),
    *(
        "+99",
        "99999999999",
        "\nM  END\n",
        "M  V30 ",
        "M  RAD  1   1   9\n",
        "$$$$",
        "InChI=1S/",
        "/t1-",
        "/p-1",
        "/i1D",
    ),
)
FIELDS = ("&1:", "&2:", "o1:", "a:", "^1:", "w:", "wU:", "C:", "t:", "ctu:", "lp:", "rb:", "$", "(", "LN:", "Sg:n:")


def _mutated(text: str, rng: random.Random) -> str:
    characters = list(text)
    for _ in range(rng.randint(0, 4)):
        at = rng.randrange(len(characters))
        match rng.randrange(3):
            case 0:
                characters.insert(at, rng.choice(PIECES))
            case 1 if len(characters) > 1:
                del characters[at]
            case _:
                characters[at] = rng.choice("0123456789CNOPSclBr()[]=#@+-|&:,; ")
    return "".join(characters)


def _extended(smiles: str, rng: random.Random) -> str:
    def numbers() -> str:
        return ",".join(f"{rng.randrange(20)}{rng.choice(['', '', '.0', ':1'])}" for _ in range(rng.randint(1, 3)))

    fields = (rng.choice(FIELDS) + numbers() for _ in range(rng.randint(1, 3)))
    return f"{smiles} |{','.join(fields)}|"


def _writings(molecule: Chem.Mol, rng: random.Random) -> list[tuple[str, str]]:
    smiles = Chem.MolToSmiles(molecule)
    with rdBase.BlockLogs():
        inchi = Chem.MolToInchi(molecule)
    return [
        (smiles, "smiles"),
        (_extended(smiles, rng), "smiles"),
        (_extended(smiles, rng), "smiles"),
        (Chem.MolToMolBlock(molecule), "molblock"),
        (Chem.MolToV3KMolBlock(molecule), "molblock"),
        (inchi or smiles, "inchi"),
    ]


@pytest.mark.parametrize("recipe", [{}, {"standardise": ["largest_fragment", "uncharge"], "inchikey": True}])
def test_nothing_but_a_reason_comes_of_mutated_structures(nci_molecules: list[Chem.Mol], recipe: Any) -> None:
    """A reason that can be sent to anybody; and stereo groups that are read have a text that is read as itself."""
    rng = random.Random(str(recipe))
    texts: list[str] = []
    refused: list[InvalidInput] = []
    for molecule in rng.sample(nci_molecules, 60):
        for text, writing in _writings(molecule, rng):
            begin = time.process_time()
            try:
                texts.append(read_molecule(resolve(**recipe), _mutated(text, rng), writing).text)
            except InvalidInput as error:
                refused.append(error)
            assert time.process_time() - begin < 5
    assert len(texts) > 50
    assert len(refused) > 100
    assert [error.detail for error in refused if INSIDE.search(error.detail) or len(error.detail) > 1000] == []
    assert all(f"{error.detail} {error.given}".encode() for error in refused)
    assert [text for text in texts if "|" in text and read_molecule(resolve(), text, "smiles").text != text] == []


def test_no_message_quotes_this_machine() -> None:
    here = str(Path(rdBase.__file__).parent)
    for text in ("[CH999]", "[#119]", "[#200]"):
        with pytest.raises(InvalidInput) as error:
            read_molecule(resolve(), text, "smiles")
        assert here not in str(error.value)


def test_a_log_that_was_switched_off_is_heard() -> None:
    """PyTorch Geometric switches it off in the whole process when it reads a SMILES."""
    rdBase.DisableLog("rdApp.*")
    with rdkit_messages() as messages:
        assert Chem.MolFromSmiles("C1CC") is None
    assert messages == ["SMILES Parse Error: unclosed ring for input: 'C1CC'"]
