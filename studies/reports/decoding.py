"""Decoding of encoder features into molecules, without what the features lack (docs/reference/reports.md)."""

from collections.abc import Iterator

import numpy as np
from rdkit import Chem

from graphkin.trainer.features.corpus import DIRECTIONS, DUMMY, Corpus
from graphkin.trainer.features.featurize import DIRECTION_CODES, TYPE_CODES

_TAGS = (Chem.ChiralType.CHI_UNSPECIFIED, Chem.ChiralType.CHI_TETRAHEDRAL_CW, Chem.ChiralType.CHI_TETRAHEDRAL_CCW)
_TYPES = {code: kind for kind, code in TYPE_CODES.items()}
_DIRECTIONS = {code: direction for direction, code in DIRECTION_CODES.items()}


def molecules(corpus: Corpus) -> Iterator[Chem.Mol]:
    """Yield every molecule of the corpus, not sanitized: it has fingerprints, but RDKit has checked no chemistry.

    Features hold no charges and no hydrogens, so atoms have only the hydrogens that RDKit adds. A bond begins at the
    atom with the lower index. The ends of aromatic bonds are aromatic.
    """
    return (_molecule(corpus, item) for item in range(corpus.size))


def _molecule(corpus: Corpus, item: int) -> Chem.Mol:
    atoms = slice(corpus.atom_offsets[item], corpus.atom_offsets[item + 1])
    edges = slice(corpus.edge_offsets[item], corpus.edge_offsets[item + 1])
    result = Chem.RWMol()
    for kind, tag in zip(corpus.atom_type[atoms].tolist(), corpus.chirality[atoms].tolist(), strict=True):
        atom = Chem.Atom(0 if kind == DUMMY else kind + 1)
        atom.SetChiralTag(_TAGS[tag])
        result.AddAtom(atom)
    target = np.repeat(np.arange(result.GetNumAtoms()), corpus.degree[atoms])
    bonds = np.stack([corpus.source[edges], target, corpus.bond[edges]], axis=1)
    for begin, end, code in bonds[bonds[:, 0] < bonds[:, 1]].tolist():
        kind, direction = divmod(code, DIRECTIONS)
        result.AddBond(begin, end, _TYPES[kind])
        result.GetBondBetweenAtoms(begin, end).SetBondDir(_DIRECTIONS[direction])
    result.UpdatePropertyCache(strict=False)
    Chem.FastFindRings(result)
    return result.GetMol()
