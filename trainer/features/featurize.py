"""Molecules to features, as Hu et al. (2020) define them. No other module of `features` needs RDKit."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem, rdBase

from graphkin.protocol.errors import GraphkinError, InvalidInput
from graphkin.runtime.workers.chunks import ProcessEnded, map_chunks
from graphkin.trainer.features.corpus import DIRECTIONS, DUMMY, Corpus
from graphkin.trainer.features.feature_sets import FEATURE_SETS, MAX_CHARGE, Details

_BLOCK = 4096  # molecules handed to a process at a time

TYPE_CODES = {Chem.BondType.SINGLE: 0, Chem.BondType.DOUBLE: 1, Chem.BondType.TRIPLE: 2, Chem.BondType.AROMATIC: 3}
"""Codes of the types of bonds, by RDKit's name."""
DIRECTION_CODES = {Chem.BondDir.NONE: 0, Chem.BondDir.ENDUPRIGHT: 1, Chem.BondDir.ENDDOWNRIGHT: 2}
"""Codes of the directions of bonds, by RDKit's name."""
_MAX_CHIRALITY = 2


def featurize(smiles: Sequence[str], identity: str, workers: int = 1, features: str = "hu") -> Corpus:
    """Return the features of molecules, item i from smiles[i]. The number of workers does not change the result.

    Atom: (Z - 1, chirality tag), where Z = 0 is 118 and tags beyond the third count as the third. Bond: single,
    double, triple, aromatic as 0..3, any other kind as single; direction none, up-right, down-right as 0..2.
    Explicit hydrogens are removed as RDKit does by default. The features `rich` add the details of `feature_sets`.

    Raises `InvalidInput` at the first SMILES that RDKit cannot read or that has no atoms.
    """
    corpus, rows = featurize_readable(smiles, identity, workers, features)
    if len(rows) < len(smiles):
        missing = int(np.setdiff1d(np.arange(len(smiles)), rows)[0])
        raise InvalidInput(
            f"item {missing} is not a molecule that RDKit {rdBase.rdkitVersion} reads",
            given=smiles[missing],
            expected="SMILES with at least one atom",
            hint="install the version of RDKit that the collection was ingested with, or a later one",
        )
    return corpus


def featurize_readable(
    smiles: Sequence[str], identity: str, workers: int = 1, features: str = "hu"
) -> tuple[Corpus, NDArray[np.int64]]:
    """Return the features of the readable molecules and their ascending rows in `smiles`.

    The rows select the labels of the readable molecules. The features are those of `featurize`.
    """
    starts = range(0, len(smiles), _BLOCK)
    blocks = [smiles[start : start + _BLOCK] for start in starts] or [[]]
    corpora, rows = zip(*_featurize_blocks(blocks, min(workers, len(blocks)), features), strict=True)
    readable = [start + each for start, each in zip(starts, rows, strict=False)]
    return Corpus.concatenate(identity, corpora), np.concatenate([np.empty(0, np.int64), *readable])


def _featurize_blocks(
    blocks: Sequence[Sequence[str]], workers: int, features: str
) -> Iterator[tuple[Corpus, NDArray[np.int64]]]:
    featurize_block = partial(_featurize_block, features=features)
    if workers <= 1:
        yield from map(featurize_block, blocks)
        return
    try:
        yield from map_chunks(featurize_block, blocks, workers)
    except ProcessEnded as error:
        raise GraphkinError(
            f"the features were not computed: {error}", hint="free memory, or use fewer processes"
        ) from error


def _featurize_block(smiles: Sequence[str], features: str) -> tuple[Corpus, NDArray[np.int64]]:
    details = FEATURE_SETS[features]
    readable: list[int] = []
    atom_counts: list[int] = []
    bond_counts: list[int] = []
    atoms: list[tuple[int, int]] = []
    bonds: list[tuple[int, int, int]] = []
    atom_details: list[tuple[int, ...]] = []
    bond_details: list[tuple[int, ...]] = []
    with rdBase.BlockLogs():
        for row, text in enumerate(smiles):
            molecule = Chem.MolFromSmiles(text)
            if molecule is None or molecule.GetNumAtoms() == 0:
                continue
            readable.append(row)
            atom_counts.append(molecule.GetNumAtoms())
            bond_counts.append(molecule.GetNumBonds())
            atoms.extend(map(_atom, molecule.GetAtoms()))
            bonds.extend(map(_bond, molecule.GetBonds()))
            if details.atoms is not None:
                atom_details.extend(map(_atom_details, molecule.GetAtoms()))
                bond_details.extend(map(_bond_details, molecule.GetBonds()))
    counts = np.array(atom_counts, np.int64), np.array(bond_counts, np.int64)
    columns = _with_details(_table(atoms, 2), details.atoms, atom_details)
    bond_columns = _with_details(_table(bonds, 3), details.bonds, bond_details)
    return Corpus.from_bonds("", *counts, columns, bond_columns), np.array(readable, np.int64)


def _atom(atom: Chem.Atom) -> tuple[int, int]:
    number = atom.GetAtomicNum()
    return (number - 1 if number else DUMMY, min(int(atom.GetChiralTag()), _MAX_CHIRALITY))


def _bond(bond: Chem.Bond) -> tuple[int, int, int]:
    code = DIRECTIONS * TYPE_CODES.get(bond.GetBondType(), 0) + DIRECTION_CODES.get(bond.GetBondDir(), 0)
    return bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), code


def _atom_details(atom: Chem.Atom) -> tuple[int, ...]:
    return (
        min(max(atom.GetFormalCharge(), -MAX_CHARGE), MAX_CHARGE) + MAX_CHARGE,
        atom.GetTotalNumHs(),
        int(atom.GetHybridization()),
        int(atom.GetIsAromatic()),
        int(atom.IsInRing()),
    )


def _bond_details(bond: Chem.Bond) -> tuple[int, ...]:
    return int(bond.GetIsConjugated()), int(bond.GetStereo()), int(bond.IsInRing())


def _with_details(
    table: NDArray[np.int64], details: Details | None, values: Sequence[tuple[int, ...]]
) -> NDArray[np.int64]:
    """Return a table with the codes of the details as its last column, if there are details."""
    if details is None:
        return table
    return np.column_stack([table, details.encode(_table(values, len(details.sizes)))])


def _table(rows: Sequence[tuple[int, ...]], width: int) -> NDArray[np.int64]:
    return np.fromiter(chain.from_iterable(rows), np.int64, len(rows) * width).reshape(-1, width)
