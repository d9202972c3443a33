"""Molecules read from text: accepted, rejected with a reason, and standardized."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from rdkit import Chem, rdBase
from rdkit.Chem import rdMolDescriptors
from rdkit.Chem.MolStandardize import rdMolStandardize

from graphkin.similarity.describer import Rejected
from graphkin.similarity.molecules.fingerprints import Fingerprinter
from graphkin.similarity.molecules.messages import rdkit_messages
from graphkin.similarity.molecules.reader import MoleculeReader
from graphkin.similarity.molecules.recipe import resolve

ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"
CUBANE = "C12C3C4C1C5C2C3C45"


def _reader(max_atoms: int = 1000, **recipe: Any) -> MoleculeReader:
    return MoleculeReader(resolve(**recipe), max_atoms)


def _canonical(text: str, writing: Any = "smiles", **recipe: Any) -> str:
    reader = _reader(**recipe)
    return reader.describe(reader.read(text, writing)).smiles


def _reason(text: str, writing: Any = "smiles", max_atoms: int = 1000, **recipe: Any) -> str:
    with pytest.raises(Rejected) as error:
        _reader(max_atoms, **recipe).read(text, writing)
    return str(error.value)


def test_aspirin_is_described_by_its_canonical_smiles_and_counts() -> None:
    reader = _reader(inchikey=True)
    description = reader.describe(reader.read("OC(=O)c1ccccc1OC(C)=O", "smiles"))
    assert (description.smiles, description.inchikey) == (ASPIRIN, "BSYNRYMUTXBXSQ-UHFFFAOYSA-N")
    assert (round(description.molwt, 3), description.rings, description.heavy_atoms) == (180.159, 1, 13)


def test_inchikey_is_computed_if_the_recipe_asks_and_inchi_exists() -> None:
    plain, with_inchikey = _reader(), _reader(inchikey=True)
    assert plain.describe(plain.read("C", "smiles")).inchikey is None
    assert with_inchikey.describe(with_inchikey.read("*C", "smiles")).inchikey is None
    assert with_inchikey.describe(with_inchikey.read("C", "smiles")).inchikey == "VNWKTOKETHGBQD-UHFFFAOYSA-N"


@pytest.mark.parametrize("steps", [(), ("largest_fragment", "uncharge")])
def test_rings_are_the_symmetrized_smallest_set(nci_molecules: list[Chem.Mol], steps: tuple[str, ...]) -> None:
    reader = _reader(standardise=steps)
    for molecule in [Chem.MolFromSmiles(CUBANE), *nci_molecules[:200]]:
        parsed = reader.read(Chem.MolToSmiles(molecule), "smiles")
        description = reader.describe(parsed)
        assert description.rings == len(Chem.GetSymmSSSR(Chem.Mol(parsed)))
        assert description.heavy_atoms == rdMolDescriptors.CalcNumHeavyAtoms(parsed)
    assert reader.describe(reader.read(CUBANE, "smiles")).rings == 6


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("OCC", "CCO"),
        ("  OCC\t", "CCO"),
        ("OCC |$_AV:a;b;c$|", "CCO"),
        ("[Na+].[Cl-]", "[Cl-].[Na+]"),
        ("[H][H]", "[H][H]"),
        ("*", "*"),
        ("F/C=C/F", "F/C=C/F"),
        ("N[C@@H](C)C(=O)O", "C[C@H](N)C(=O)O"),
        ("[2H]O[2H]", "[2H]O[2H]"),
        ("C1=CC=CC=C1", "c1ccccc1"),
    ],
)
def test_valid_smiles_become_canonical(text: str, canonical: str) -> None:
    assert _canonical(text) == canonical


def test_molblock_and_inchi_give_the_molecule_of_the_smiles() -> None:
    molblock = Chem.MolToMolBlock(Chem.AddHs(Chem.MolFromSmiles(ASPIRIN)))
    assert _canonical(molblock, "molblock") == ASPIRIN
    assert _canonical(molblock.replace("\n", "\r\n"), "molblock") == ASPIRIN
    inchi = Chem.MolToInchi(Chem.MolFromSmiles(ASPIRIN))
    assert _canonical(inchi, "inchi") == ASPIRIN
    assert _canonical(f" {inchi}\n", "inchi") == ASPIRIN


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty record"),
        (" \t\r\n\u00a0", "empty record"),
        ("CC O", "white space inside the SMILES"),
        ("CC\tethane", "white space inside the SMILES"),
        ("C1CC", "unclosed ring"),
        ("c1cc1", "Can't kekulize mol"),
        ("C(C)(C)(C)(C)C", "Explicit valence for atom # 0 C, 5, is greater than permitted"),
        ("not-a-smiles", "SMILES Parse Error"),
        ("CC>>CO", "SMILES Parse Error"),
        ("CC |nonsense|", "no CXSMILES: nonsense"),
        ("CC\0O", "NUL"),
        ("CC\udcff", "not Unicode"),
        ("C" * 5000, "5000 atoms, more than 1000"),
        ("C" * 1001, "1001 atoms, more than 1000"),
        ("C" * 100_000, "100000 bytes of smiles, more than 10000"),
        ("é" * 5001, "10002 bytes of smiles"),
    ],
)
def test_invalid_smiles_are_rejected(text: str, reason: str) -> None:
    assert reason in _reason(text)


@pytest.mark.parametrize(
    ("text", "writing", "reason"),
    [
        ("\n\n\n", "molblock", "empty record"),
        ("line\n" * 6, "molblock", "Counts line too short"),
        ("\n  x\n\n  0  0  0  0  0  0  0  0  0  0999 V2000\nM  END\n", "molblock", "no atoms"),
        ("x" * 1_000_001, "molblock", "1000001 bytes of molblock, more than 1000000"),
        ("InChI=1S/nonsense", "inchi", "cannot read this inchi"),
        ("CCO", "inchi", "cannot read this inchi"),
        ("InChI=1S/CH4/h1H4\0/and/more", "inchi", "NUL"),
        ("x" * 10_001, "inchi", "10001 bytes of inchi"),
    ],
)
def test_invalid_molblocks_and_inchis_are_rejected(text: str, writing: str, reason: str) -> None:
    assert reason in _reason(text, writing)


def test_size_limits_are_inclusive() -> None:
    assert _reader(30).read("C" * 30, "smiles").GetNumAtoms() == 30
    assert _reason("C" * 31, max_atoms=30) == "31 atoms, more than 30"
    assert _reader(3).read("C" + " " * 29, "smiles").GetNumAtoms() == 1
    assert _reason("C" + " " * 30, max_atoms=3) == "31 bytes of smiles, more than 30"


def test_chain_that_would_overflow_the_stack_is_rejected() -> None:
    """RDKit parses it, and overflows the stack when it writes the SMILES."""
    assert _reason("C" * 20_000, max_atoms=2_000) == "20000 atoms, more than 2000"


@pytest.mark.parametrize("name", ["morgan", "rdkit", "maccs", "atompair", "torsion"])
def test_molecules_up_to_the_size_limit_are_read(name: str) -> None:
    reader = _reader(fingerprint={"name": name})
    assert reader.describe(reader.read("C" * 1000, "smiles")).heavy_atoms == 1000


def test_rdkit_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    reader = _reader(standardise=("largest_fragment", "uncharge"), inchikey=True)
    for text in ("C1CC", "c1cc1", "C(C)(C)(C)(C)C", "[Na+].[Cl-]", "*", "nonsense", "[O-]C(=O)C.[Na+]", "[#119]"):
        try:
            reader.describe(reader.read(text, "smiles"))
        except Rejected:
            continue
    rdBase.LogErrorMsg("nobody listens")
    assert capfd.readouterr() == ("", "")


def test_messages_belong_to_their_own_thread() -> None:
    barrier = Barrier(2)

    def reasons(text: str) -> set[str]:
        messages = set()
        for _ in range(30):
            barrier.wait(10)
            messages.add(_reason(text))
        return messages

    with ThreadPoolExecutor(2) as pool:
        rings, valence = pool.map(reasons, ["C1CCCC", "C(C)(C)(C)(C)C"])
    assert len(rings) == len(valence) == 1
    assert "unclosed ring" in rings.pop()
    assert "valence" in valence.pop()


def test_messages_end_with_the_block() -> None:
    with rdkit_messages() as messages:
        Chem.MolFromSmiles("C1CC")
    before = list(messages)
    Chem.MolFromSmiles("c1cc1")
    assert before
    assert messages == before


SALTS = ["CC(=O)[O-].[Na+]", "C[NH3+].[Cl-]", "[Na+].[Cl-]", "OCC.CCCCO", "[O-][n+]1ccccc1", "C[N+](C)(C)C", ASPIRIN]


@pytest.mark.parametrize("text", SALTS)
def test_standardization_applies_rdkit_steps_in_order(text: str) -> None:
    steps = {
        "largest_fragment": rdMolStandardize.LargestFragmentChooser().choose,
        "uncharge": rdMolStandardize.Uncharger().uncharge,
    }
    for order in ((), ("largest_fragment",), ("uncharge",), tuple(steps), tuple(reversed(steps))):
        expected = Chem.MolFromSmiles(text)
        for step in order:
            expected = steps[step](expected)
        assert _canonical(text, standardise=order) == Chem.MolToSmiles(expected)


def test_sodium_acetate_is_standardized_to_acetic_acid() -> None:
    assert _canonical(SALTS[0], standardise=("largest_fragment", "uncharge")) == "CC(=O)O"
    assert _canonical(SALTS[0]) == "CC(=O)[O-].[Na+]"


EPOXIDE = "C1O[CH]1COC2=C3C=CC=CC3=CC=C2"
"""RDKit's topological torsions of a three-membered ring depend on the order of the atoms."""


@pytest.mark.parametrize("name", ["morgan", "rdkit", "maccs", "atompair", "torsion"])
def test_fingerprint_equals_that_of_the_canonical_smiles(nci_smiles: list[str], name: str) -> None:
    """Search, verification and users recompute the fingerprint of an item from its SMILES."""
    recipe = resolve(fingerprint={"name": name})
    reader, fingerprinter = MoleculeReader(recipe), Fingerprinter(recipe.fingerprint)
    for text in [EPOXIDE, *nci_smiles[:150]]:
        molecule = reader.read(text, "smiles")
        reread = Chem.MolFromSmiles(reader.describe(molecule).smiles)
        assert fingerprinter.compute_packed(molecule) == fingerprinter.compute_packed(reread)


@pytest.mark.parametrize("atom", ["*", "R", "C"])
@pytest.mark.parametrize("name", ["morgan", "rdkit", "maccs", "atompair", "torsion"])
def test_fingerprint_of_a_molblock_equals_that_of_the_canonical_smiles(name: str, atom: str) -> None:
    """A dummy atom in a molfile is a query atom, also in the fingerprints of the parsed molecule."""
    recipe = resolve(fingerprint={"name": name})
    reader, fingerprinter = MoleculeReader(recipe), Fingerprinter(recipe.fingerprint)
    molblock = Chem.MolToMolBlock(Chem.MolFromSmiles("CCOC1CC1")).replace(" O ", f" {atom} ")
    molecule = reader.read(molblock, "molblock")
    reread = Chem.MolFromSmiles(reader.describe(molecule).smiles)
    assert fingerprinter.compute_packed(molecule) == fingerprinter.compute_packed(reread)
