"""Stereo groups, compared with an independent oracle that enumerates isomers by flipping `@` in the text."""

import random
import re
from collections.abc import Iterator
from itertools import product

import pytest
from rdkit import Chem
from rdkit.Chem import rdDepictor

from graphkin.similarity.describer import Rejected
from graphkin.similarity.molecules.query import read_molecule
from graphkin.similarity.molecules.reader import MoleculeReader
from graphkin.similarity.molecules.recipe import resolve
from graphkin.similarity.molecules.stereo import MAX_GROUPS

ATOM = re.compile(r"\[[^\]]*\]|Cl|Br|[BCNOPSFIbcnops*]")
FIELD = re.compile(r"(a|[&o]\d+):(\d+(?:,\d+)*)")
Groups = dict[str, list[int]]

BASES = [
    "C[C@H](O)[C@H](F)Cl",
    "C[C@H](O)[C@@H](F)C",
    "F[C@H](Cl)NCO[C@H](F)Cl",
    "C[C@H]1CN(C)CCN1C",
    "CC(C)[C@@H]1CC[C@@H](C)C[C@H]1O",
    "O=C(N[C@H]1C[C@@H](C(=O)O)[C@@H]2C[C@H]12)C1CC(=O)N(Cc2ccccn2)C1",
    "OC[C@H]1O[C@@H](O)[C@H](O)[C@@H](O)[C@@H]1O",
    "C[C@]12CC[C@H]3[C@@H](CC=C4CCCC[C@]34C)[C@@H]1CC[C@@H]2O",
    "C/C=C/[C@H](O)[C@@H](N)C",
    "C[S@](=O)C[C@H](F)Cl",
    "C[C@H](O)[C@H](F)[C@H](Cl)C.C[C@H](N)Br",
    "C[C@H](O)F.C[C@H](O)F",
    "C[C@H](O)[C@H](O)C",
    "C[C@H](O)[C@@H](O)C",
    "[CH3:3][C@H:4](O)[C@@H](F)C",
]


def _parsed(text: str) -> tuple[str, Groups]:
    smiles, _, extension = text.partition(" ")
    groups: Groups = {}
    for name, atoms in FIELD.findall(extension):
        groups.setdefault(name, []).extend(map(int, atoms.split(",")))
    return smiles, groups


def _inverted(smiles: str, atoms: set[int]) -> str:
    """Return the SMILES with the chirality of these atoms inverted."""
    number = iter(range(len(smiles)))

    def invert(match: re.Match[str]) -> str:
        atom = match[0]
        if next(number) not in atoms or "@" not in atom:
            return atom
        return atom.replace("@@", "@") if "@@" in atom else atom.replace("@", "@@")

    return ATOM.sub(invert, smiles)


def _meaning(text: str) -> frozenset[frozenset[str]]:
    """Return the meaning of a text: sets of isomers that occur together."""
    smiles, groups = _parsed(text)
    ors, ands = ([set(atoms) for name, atoms in groups.items() if name[0] == sign] for sign in "o&")
    return frozenset(
        frozenset(Chem.CanonSmiles(_inverted(smiles, one | other)) for other in _combinations(ands))
        for one in _combinations(ors)
    )


def _combinations(groups: list[set[int]]) -> Iterator[set[int]]:
    for flags in product((False, True), repeat=len(groups)):
        yield set().union(*(group for group, flag in zip(groups, flags, strict=True) if flag))


def _rewritten(text: str, rng: random.Random) -> str:
    """Return the same meaning with other orders of atoms, other group numbers, and a random isomer of each group."""
    smiles, groups = _parsed(text)
    molecule = Chem.MolFromSmiles(smiles)
    order = list(range(molecule.GetNumAtoms()))
    rng.shuffle(order)
    shuffled = Chem.RenumberAtoms(molecule, order)
    random_smiles = Chem.MolToSmiles(shuffled, canonical=False)
    output = list(shuffled.GetPropsAsDict(True, True)["_smilesAtomOutputOrder"])
    place = {order[index]: position for position, index in enumerate(output)}
    numbers = rng.sample(range(1, 20), 9)
    fields, inverted = [], set()
    for name, atoms in rng.sample(list(groups.items()), len(groups)):
        positions = [place[atom] for atom in atoms]
        rng.shuffle(positions)
        if name == "a":
            fields.append(_field("a", positions))
            continue
        if rng.random() < 0.5:
            inverted |= set(positions)
        fields.append(_field(f"{name[0]}{numbers.pop()}", positions))
    return f"{_inverted(random_smiles, inverted)} |{','.join(fields)}|"


def _canonical(text: str, writing: str = "smiles") -> str:
    return read_molecule(resolve(), text, writing).text


def _grouped(base: str, rng: random.Random) -> str:
    groups: Groups = {}
    for position, match in enumerate(ATOM.finditer(base)):
        if "@" in match[0]:
            groups.setdefault(rng.choice(["a", "&1", "&1", "&2", "o1", "o1", "o2"]), []).append(position)
    return f"{base} |{','.join(_field(name, atoms) for name, atoms in groups.items())}|"


def _field(name: str, atoms: list[int]) -> str:
    return f"{name}:{','.join(map(str, atoms))}"


@pytest.mark.parametrize("base", BASES)
def test_canonical_text_is_unique_for_each_meaning(base: str) -> None:
    rng = random.Random(base)
    texts: dict[frozenset[frozenset[str]], set[str]] = {}
    for _ in range(6):
        source = _grouped(base, rng)
        meaning = _meaning(source)
        for same in [source, *(_rewritten(source, rng) for _ in range(3))]:
            assert _meaning(same) == meaning
            text = _canonical(same)
            assert _meaning(text) == meaning
            assert _canonical(text) == text
            texts.setdefault(meaning, set()).add(text)
    assert [variants for variants in texts.values() if len(variants) > 1] == []
    assert len(set().union(*texts.values())) == len(texts)


@pytest.mark.parametrize("base", BASES)
def test_v3000_molfile_gives_the_text_of_the_smiles(base: str) -> None:
    rng = random.Random(base)
    for _ in range(3):
        source = _grouped(base, rng)
        molecule = Chem.MolFromSmiles(source)
        rdDepictor.Compute2DCoords(molecule)
        assert _canonical(Chem.MolToV3KMolBlock(molecule), "molblock") == _canonical(source)


RACEMATE = "C[C@H](O)[C@H](F)C |&1:1,3|"


def test_racemate_relative_enantiomers_and_diastereomers_are_different_items() -> None:
    isomers = ["C[C@H](O)[C@H](F)C", "C[C@@H](O)[C@@H](F)C", "C[C@H](O)[C@@H](F)C", "C[C@@H](O)[C@H](F)C"]
    groups = ["", " |&1:1,3|", " |o1:1,3|", " |&1:1,&2:3|", " |o1:1,o2:3|", " |o1:1,&1:3|", " |&1:1|", " |&1:3|"]
    texts = {group: {_canonical(isomer + group) for isomer in isomers} for group in groups}
    assert [len(variants) for variants in texts.values()] == [4, 2, 2, 1, 1, 1, 2, 2]
    assert len(set().union(*texts.values())) == 15


def test_too_many_stereo_groups_are_rejected() -> None:
    center = "[C@H](F)C"
    for groups in (MAX_GROUPS, MAX_GROUPS + 1):
        smiles = "C" + center.removesuffix("C") * groups + "Cl"
        fields = ",".join(f"&{number + 1}:{1 + 2 * number}" for number in range(groups))
        if groups == MAX_GROUPS:
            assert _canonical(f"{smiles} |{fields}|").count("&") == groups
        else:
            with pytest.raises(Exception, match="6 stereo groups, more than 5"):
                _canonical(f"{smiles} |{fields}|")


SALT = "[Na+].C[C@H](F)[C@H](O)C([O-])=O |&1:2,4|"


@pytest.mark.parametrize(
    ("steps", "same"),
    [
        ((), SALT),
        (("largest_fragment",), "C[C@H](F)[C@H](O)C([O-])=O |&1:1,3|"),
        (("uncharge",), SALT),
        (("largest_fragment", "uncharge"), "C[C@H](F)[C@H](O)C(O)=O |&1:1,3|"),
    ],
)
def test_standardization_keeps_the_groups_of_remaining_atoms(steps: tuple[str, ...], same: str) -> None:
    assert read_molecule(resolve(standardise=steps), SALT, "smiles").text == _canonical(same)
    mixture = "C[C@H](F)Cl.Br[C@H](F)CCCCC |&1:1,&2:5|"
    fragment = read_molecule(resolve(standardise=["largest_fragment"]), mixture, "smiles").text
    assert fragment == _canonical("Br[C@H](F)CCCCC |&1:1|")


def test_inchikey_is_missing_if_inchi_cannot_express_the_groups() -> None:
    reader = MoleculeReader(resolve(inchikey=True))
    keys = {text: reader.describe(reader.read(text, "smiles")).inchikey for text in (RACEMATE, RACEMATE.split()[0])}
    assert [key is None for key in keys.values()] == [True, False]
    meso = reader.read("C[C@H](O)[C@H](O)C |&1:1,3|", "smiles")
    assert reader.describe(meso).inchikey == Chem.MolToInchiKey(Chem.MolFromSmiles("C[C@H](O)[C@H](O)C"))


@pytest.mark.parametrize("name", ["morgan", "rdkit", "maccs", "atompair", "torsion"])
def test_fingerprint_equals_that_of_the_canonical_text(name: str) -> None:
    """With chirality, it is the fingerprint of the isomer that the text shows, whichever isomer was read."""
    chirality = name in ("morgan", "atompair", "torsion")
    recipe = resolve(fingerprint={"name": name, "chirality": chirality})
    queries = [read_molecule(recipe, text, "smiles") for text in (RACEMATE, "C[C@@H](O)[C@@H](F)C |&4:1,3|")]
    isomer = read_molecule(recipe, queries[0].text.split()[0], "smiles")
    assert queries[0].text == queries[1].text
    assert (queries[0].arrays[0] == queries[1].arrays[0]).all()
    assert (queries[0].arrays[0] == isomer.arrays[0]).all()


@pytest.mark.parametrize(
    "text",
    [
        "C[C@H](F)[C@@H](Cl)[C@H](C)F |&1:1|",
        "C[C@H](F)[C@H](Cl)[C@@H](C)F |&1:1|",
        "C[C@H](F)C(Cl)[C@H](C)F |&1:1|",
        "C[C@H](F)C(C[C@H](C)F)[C@@H](C)F |&1:1,o1:5|",
    ],
)
def test_centers_that_depend_on_a_group_are_rejected(text: str) -> None:
    with pytest.raises(Rejected, match="stereocenter"):
        MoleculeReader(resolve()).read(text, "smiles")
