"""Features against what RDKit says of the same molecules, atom by atom and bond by bond."""

import numpy as np
import pytest
from rdkit import Chem

from graphkin.protocol.errors import Damaged, InvalidInput
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.featurize import featurize, featurize_readable

TYPES = ["SINGLE", "DOUBLE", "TRIPLE", "AROMATIC"]
DIRECTIONS = ["NONE", "ENDUPRIGHT", "ENDDOWNRIGHT"]


def edges_of(corpus: Corpus, item: int) -> list[tuple[int, int, int]]:
    """(target, source, bond) of every directed edge of an item, as stored."""
    atoms = slice(corpus.atom_offsets[item], corpus.atom_offsets[item + 1])
    edges = slice(corpus.edge_offsets[item], corpus.edge_offsets[item + 1])
    targets = np.repeat(np.arange(atoms.stop - atoms.start), corpus.degree[atoms])
    return list(zip(targets.tolist(), corpus.source[edges].tolist(), corpus.bond[edges].tolist(), strict=True))


def test_atoms_and_bonds_are_those_of_rdkit(corpus: Corpus, smiles: tuple[str, ...]) -> None:
    assert corpus.size == len(smiles)
    for item, text in enumerate(smiles):
        molecule = Chem.MolFromSmiles(text)
        atoms = slice(corpus.atom_offsets[item], corpus.atom_offsets[item + 1])
        numbers = [atom.GetAtomicNum() for atom in molecule.GetAtoms()]
        assert corpus.atom_type[atoms].tolist() == [118 if number == 0 else number - 1 for number in numbers]
        assert corpus.chirality[atoms].tolist() == [int(atom.GetChiralTag()) for atom in molecule.GetAtoms()]
        expected = []
        for bond in molecule.GetBonds():
            code = 3 * TYPES.index(bond.GetBondType().name) + DIRECTIONS.index(bond.GetBondDir().name)
            ends = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
            expected += [(*ends, code), (*ends[::-1], code)]
        assert edges_of(corpus, item) == sorted(expected)


def test_sample_molecules_cover_chirality_and_bond_direction(corpus: Corpus) -> None:
    assert set(corpus.chirality.tolist()) == {0, 1, 2}
    assert {0, 1, 2} <= {code % 3 for code in corpus.bond.tolist()}
    assert {0, 1, 2, 3} == {code // 3 for code in corpus.bond.tolist()}


def test_rare_tags_and_bonds_fall_into_the_tables() -> None:
    corpus = featurize(["Cl[Pt@SP1](F)(N)O", "[NH3]->[Cu]", "C$C"], "rare")
    assert int(Chem.MolFromSmiles("Cl[Pt@SP1](F)(N)O").GetAtomWithIdx(1).GetChiralTag()) > 2
    assert corpus.chirality[1] == 2
    assert corpus.bond[8:].tolist() == [0, 0, 0, 0]  # dative and quadruple


def test_error_names_the_item_that_is_not_a_molecule() -> None:
    with pytest.raises(InvalidInput, match=r"item 1 is not a molecule that RDKit .* reads\n  given: c1ccc"):
        featurize(["C", "c1ccc", "CC"], "x")
    with pytest.raises(InvalidInput, match="item 0"):
        featurize([""], "x")


def test_readable_molecules_keep_their_rows() -> None:
    corpus, rows = featurize_readable(["C", "", "CC", "nonsense", "CCC"], "x")
    assert rows.tolist() == [0, 2, 4]
    assert np.diff(corpus.atom_offsets).tolist() == [1, 2, 3]
    assert featurize_readable([], "x")[0].size == 0


def test_columns_make_the_same_corpus_again_and_cut_ones_do_not(corpus: Corpus) -> None:
    again = Corpus("molecules", **corpus.columns)
    assert all(again.columns[name] is column for name, column in corpus.columns.items())
    with pytest.raises(Damaged):
        Corpus("molecules", **{**corpus.columns, "bond": corpus.bond[:-1]})


def test_large_graphs_widen_the_columns() -> None:
    path = np.stack([np.arange(39_999), np.arange(1, 40_000), np.zeros(39_999, np.int64)], axis=1)
    wide = Corpus.from_bonds("x", np.array([40_000]), np.array([39_999]), np.full((40_000, 2), 0), path)
    small = Corpus.from_bonds("x", np.array([1]), np.array([0]), np.zeros((1, 2), np.int64), path[:0])
    both = Corpus.concatenate("x", [small, wide])
    assert both.source.max() == 39_999
    assert both.atom_offsets.tolist() == [0, 1, 40_001]
    assert edges_of(both, 1) == edges_of(wide, 0)
