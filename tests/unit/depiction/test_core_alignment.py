"""Molecules lie in their depictions as the core of their R-group table does."""

import numpy as np
import pytest
from rdkit import Chem

from graphkin.depiction.molecule import draw_molecule
from graphkin.depiction.rgroups import align_with_core, core_template, read_core
from graphkin.protocol.errors import InvalidInput

BENZENE = "c1cc([*:2])ccc1[*:1]"


def place(smiles: str, core: str) -> tuple[Chem.Mol, list[int]]:
    molecule = Chem.MolFromSmiles(smiles)
    return molecule, align_with_core(molecule, core)


def position_of(molecule: Chem.Mol, symbol: str) -> np.ndarray:
    (atom,) = [atom for atom in molecule.GetAtoms() if atom.GetSymbol() == symbol]
    return np.asarray(molecule.GetConformer().GetAtomPosition(atom.GetIdx()))


@pytest.mark.parametrize(
    ("smiles", "core", "core_size"),
    [
        ("Fc1ccc(Cl)cc1", f"{BENZENE}.[*:1]Cl.[*:2]F", 6),
        ("Clc1ccccc1", f"{BENZENE}.[*:1]Cl.[H][*:2]", 6),
        ("C[C@H](N)C(=O)Nc1ccccc1", "O=C(N[*:2])[C@@H](N)[*:1].[*:1]C.[*:2]c1ccccc1", 5),
        ("c1ccc2c(c1)CCN2", "c1cc([*:1])c([*:2])cc1.[*:1]CCN[*:2]", 6),  # one group at two positions
        ("Fc1ccc(Cl)cc1", "c1ccccc1", 6),
        ("Fc1ccc(Cl)cc1", f"{BENZENE}.[*:1]Br.[*:2]F", 6),  # groups of another molecule
        ("Fc1ccc(Cl)cc1", f"{BENZENE}.[*:1]Cl.(", 6),
        (  # RDKit mirrors this molecule as a whole.
            "Cc1cc(NC(=O)c2cnn3ccc(N)nc23)n(-c2cc(Cl)ccc2C)n1",
            "c1c([*:4])c([*:3])nc2c([*:2])c([*:1])nn12.[H][*:1].Cc1cc(NC(=O)[*:2])n(-c2cc(Cl)ccc2C)n1.N[*:3].[H][*:4]",
            9,
        ),
        ("Fc1cccc(F)c1-c1nccs1", "c1csc(-c[*:1])n1.Fc(cccc(F):[*:1]):[*:1]", 6),  # a part of an aromatic ring
    ],
)
def test_core_atoms_lie_where_the_depiction_of_the_core_has_them(smiles: str, core: str, core_size: int) -> None:
    molecule, atoms = place(smiles, core)
    assert len(set(atoms)) == core_size
    template = core_template(read_core(core.split(".")[0]))
    own = [atom.GetIdx() for atom in template.GetAtoms() if atom.GetAtomicNum()]
    assert molecule.GetConformer().GetPositions()[atoms] == pytest.approx(
        template.GetConformer().GetPositions()[own], abs=1e-4
    )
    for first, second in zip(atoms, own, strict=True):
        assert molecule.GetAtomWithIdx(first).GetSymbol() == template.GetAtomWithIdx(second).GetSymbol()


@pytest.mark.parametrize("fragment", ["Cn(cn:[*:1]):[*:1]", "O=C(N[*:2])c1csc(-c[*:1])n1"])
def test_part_of_an_aromatic_ring_is_drawn(fragment: str) -> None:
    svg = draw_molecule(fragment, "", "", 110, 90, is_fragment=True)
    assert svg.count("<path class='bond") >= Chem.MolFromSmiles(fragment, sanitize=False).GetNumBonds()


def test_groups_decide_the_side_of_a_symmetrical_core() -> None:
    first, _ = place("Fc1ccc(Cl)cc1", f"{BENZENE}.[*:1]Cl.[*:2]F")
    second, _ = place("Fc1ccc(Cl)cc1", f"{BENZENE}.[*:1]F.[*:2]Cl")
    assert position_of(first, "Cl") == pytest.approx(position_of(second, "F"), abs=1e-4)
    assert position_of(first, "F") == pytest.approx(position_of(second, "Cl"), abs=1e-4)


@pytest.mark.parametrize(
    ("groups", "label"), [("F[*:1].F[*:1].C[*:2]", 1), ("C[*:1].F[*:2].F[*:2]", 2), ("F[*:2].C[*:1].F[*:2]", 2)]
)
def test_two_groups_at_one_atom_decide_the_side_of_a_symmetrical_core(groups: str, label: int) -> None:
    core = "C1CC([*:1])CCC1[*:2]"
    molecule, atoms = place("CC1CCC(F)(F)CC1", f"{core}.{groups}")
    with_fluorine = {atom.GetNeighbors()[0].GetIdx() for atom in molecule.GetAtoms() if atom.GetSymbol() == "F"}
    (position,) = [order for order, atom in enumerate(atoms) if atom in with_fluorine]
    own = [atom for atom in read_core(core).GetAtoms() if atom.GetAtomicNum()][position]
    assert label in [atom.GetAtomMapNum() for atom in own.GetNeighbors()]


def test_molecule_without_the_core_is_drawn_as_without_alignment() -> None:
    molecule, atoms = place("CCO", BENZENE)
    assert (atoms, molecule.GetNumConformers()) == ([], 0)
    plain, aligned = (draw_molecule("CCO", "", "", 100, 100, core=core) for core in (None, BENZENE))
    assert plain == aligned


def test_unreadable_core_is_invalid_input() -> None:
    with pytest.raises(InvalidInput, match="core of this depiction cannot be read") as error:
        draw_molecule("CCO", "", "", 100, 100, core="c1cc(")
    assert error.value.given == "c1cc("
