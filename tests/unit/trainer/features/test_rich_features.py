"""The features `rich` against what RDKit says of the same molecules, and their way through corpora and batches."""

from dataclasses import replace
from typing import cast

import numpy as np
import pytest
import torch
from rdkit import Chem

from graphkin.protocol.errors import Conflict, Damaged, InvalidInput
from graphkin.trainer.features.altered import augment
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.feature_sets import FEATURE_SETS, Details, require_feature_set
from graphkin.trainer.features.featurize import featurize
from graphkin.trainer.feed.validation import require_corpus
from graphkin.trainer.model.batch import Assembler, Shape

MOLECULES = (
    "C[N+](C)(C)CC([O-])=O",
    "c1ccc2[nH]ccc2c1",
    "F/C=C/C=C\\Cl",
    "FC(F)(F)S(F)(F)(F)(F)F",
    "[NH4+].[Cl-]",
    "OC1CCC(=O)C=C1",
    "CC1=CC=CC=C1C1=C(Cl)C=CC=C1Br |wU:7.7|",
    "*N=NC#N",
    "[Fe+3].[PH6-]",
)
HYBRIDIZATIONS = ("UNSPECIFIED", "S", "SP", "SP2", "SP3", "SP2D", "SP3D", "SP3D2", "OTHER")
STEREO = (
    *("STEREONONE", "STEREOANY", "STEREOZ", "STEREOE"),
    *("STEREOCIS", "STEREOTRANS", "STEREOATROPCW", "STEREOATROPCCW"),
)
RICH = FEATURE_SETS["rich"]
ATOMS, BONDS = cast("Details", RICH.atoms), cast("Details", RICH.bonds)


@pytest.fixture(scope="module")
def rich() -> Corpus:
    return featurize(MOLECULES, "molecules", features="rich")


def test_details_of_atoms_are_those_of_rdkit(rich: Corpus) -> None:
    values = ATOMS.values()[rich.atom_details]
    expected = [
        (
            atom.GetFormalCharge() + 5,
            atom.GetTotalNumHs(),
            HYBRIDIZATIONS.index(atom.GetHybridization().name),
            atom.GetIsAromatic(),
            atom.IsInRing(),
        )
        for text in MOLECULES
        for atom in Chem.MolFromSmiles(text).GetAtoms()
    ]
    np.testing.assert_array_equal(values, expected)
    assert [len(set(column)) > 1 for column in values.T.tolist()] == [True] * 5


def test_details_of_bonds_are_those_of_rdkit_in_both_directions(rich: Corpus) -> None:
    owner = np.repeat(np.arange(rich.size), rich.edges)
    target = np.concatenate([np.repeat(np.arange(n), d) for n, d in _degrees(rich)])
    stereo = set()
    for item, text in enumerate(MOLECULES):
        molecule = Chem.MolFromSmiles(text)
        for edge in np.flatnonzero(owner == item):
            bond = molecule.GetBondBetweenAtoms(int(rich.source[edge]), int(target[edge]))
            assert rich.bond_details is not None
            expected = (bond.GetIsConjugated(), STEREO.index(bond.GetStereo().name), bond.IsInRing())
            assert tuple(BONDS.values()[rich.bond_details[edge]]) == expected
            stereo.add(expected[1])
    assert {"STEREONONE", "STEREOE", "STEREOZ"} <= {STEREO[code] for code in stereo}


def _degrees(corpus: Corpus) -> list[tuple[int, np.ndarray]]:
    bounds = zip(corpus.atom_offsets[:-1], corpus.atom_offsets[1:], strict=True)
    return [(stop - first, corpus.degree[first:stop]) for first, stop in bounds]


def test_extreme_values_fall_into_the_tables() -> None:
    corpus = featurize(["[U+7]", "[C-6]", "[UH9+]"], "rare", features="rich")
    values = ATOMS.values()[corpus.atom_details]
    assert values[:, 0].tolist() == [10, 0, 6]
    assert values[2, 1] == 8


def test_each_code_has_values_of_its_own() -> None:
    details = Details({"a": 3, "b": 2, "c": 4})
    values = details.values()
    assert (details.codes, len({*map(tuple, values.tolist())})) == (25, 25)
    assert values[0].tolist() == [-1, -1, -1]
    np.testing.assert_array_equal(details.encode(values[1:]), np.arange(1, 25))


def test_hu_has_the_same_columns_without_details(rich: Corpus) -> None:
    hu = featurize(MOLECULES, "molecules")
    assert (hu.features, rich.features) == ("hu", "rich")
    assert {*rich.columns} - {*hu.columns} == {"atom_details", "bond_details"}
    for name, column in hu.columns.items():
        np.testing.assert_array_equal(column, rich.columns[name])
    assert [str(rich.columns[name].dtype) for name in ("atom_details", "bond_details")] == ["int16", "uint8"]


@pytest.mark.parametrize("workers", [1, 2])
def test_processes_change_nothing(rich: Corpus, workers: int) -> None:
    many = featurize(MOLECULES * 460, "molecules", workers, "rich")
    np.testing.assert_array_equal(many.atom_details, np.tile(rich.atom_details, 460))  # type: ignore[arg-type]
    np.testing.assert_array_equal(many.bond_details, np.tile(rich.bond_details, 460))  # type: ignore[arg-type]


def test_details_follow_atoms_and_bonds_through_batches(rich: Corpus) -> None:
    """Parts of a batch, views and padded batches hold the details of the same atoms, by hand over atom and edge ids."""
    numbered = replace(rich, atom_details=np.arange(len(rich.atom_type)), bond_details=np.arange(len(rich.bond)))
    assembler, ids = Assembler(numbered), np.array([2, 0, 5, 2])
    batch = assembler.batch(ids)
    atoms = np.concatenate([np.arange(rich.atom_offsets[i], rich.atom_offsets[i + 1]) for i in ids])
    edges = np.concatenate([np.arange(rich.edge_offsets[i], rich.edge_offsets[i + 1]) for i in ids])
    assert batch.atom_details.tolist() == atoms.tolist()  # type: ignore[union-attr]
    assert batch.bond_details.tolist() == edges.tolist()  # type: ignore[union-attr]
    shape = Shape.holding(batch.atoms, len(batch.bond))
    padded = assembler.padded_batch(torch.from_numpy(ids), shape, torch.tensor(0))
    keep = torch.arange(batch.atoms) % 3 > 0
    padded_keep = torch.cat([keep, torch.zeros(padded.atoms - batch.atoms, dtype=torch.bool)])
    for part in (batch.first(2), batch.rest(2), batch.induced(keep), padded, padded.induced(padded_keep)):
        count = part.atoms if part.padding is None else int(part.padding.atoms)
        details = part.atom_details
        assert details is not None
        np.testing.assert_array_equal(part.atom_type[:count], rich.atom_type[details[:count]])
        kept_edges = int(part.edge_ptr[count])
        assert part.bond_details is not None
        np.testing.assert_array_equal(part.bond[:kept_edges], rich.bond[part.bond_details[:kept_edges]])
    view = augment(numbered, ids, np.zeros(4, int), "drop-nodes", np.full(4, 2), (1,)).corpus()
    np.testing.assert_array_equal(view.atom_type, rich.atom_type[view.atom_details])
    np.testing.assert_array_equal(view.bond, rich.bond[view.bond_details])


def test_masked_atoms_lose_all_their_features(rich: Corpus) -> None:
    batch = Assembler(rich).batch(np.arange(rich.size))
    nodes = torch.arange(batch.atoms) % 2 == 0
    masked = batch.masked(nodes)
    assert masked.atom_details is not None
    assert batch.atom_details is not None
    assert masked.atom_details[nodes].unique().tolist() == [0]
    assert torch.equal(masked.atom_details[~nodes], batch.atom_details[~nodes])


def test_data_of_other_features_is_refused(rich: Corpus, shapes_corpus: Corpus) -> None:
    with pytest.raises(Conflict, match="different features") as raised:
        rich.require_features("hu")
    assert raised.value.hint == "fetch the data with --features hu, or train an encoder with --features rich"
    rich.require_features("rich")
    shapes_corpus.require_features("rich")
    shapes_corpus.require_features("hu")
    with pytest.raises(InvalidInput, match="no set of features") as unknown:
        require_feature_set("ritch")
    assert (unknown.value.expected, unknown.value.hint) == ("hu or rich", "did you mean rich?")


@pytest.fixture(scope="module")
def shapes_corpus() -> Corpus:
    return Corpus.from_edges("path", np.array([3]), np.array([2]), np.array([[0, 1], [1, 2]]))


def test_damaged_details_are_reported(rich: Corpus) -> None:
    for name, codes in (("atom_details", ATOMS.codes), ("bond_details", BONDS.codes)):
        column = rich.columns[name].astype(np.int64)
        column[3] = codes
        with pytest.raises(Damaged, match=f"details {codes} is outside 0 to {codes - 1}"):
            require_corpus(Corpus("molecules", **{**rich.columns, name: column}), rich.size, Damaged)
    with pytest.raises(Damaged, match="do not fit together"):
        replace(rich, bond_details=None)
