"""The canonical tautomer of a molecule, which RDKit chooses."""

from functools import cache

from rdkit import Chem
from rdkit.Chem.MolStandardize import rdMolStandardize

from graphkin.similarity.describer import Rejected
from graphkin.similarity.molecules import stereo

MAX_TAUTOMER_ATOMS = 100
"""Largest molecule whose tautomers are enumerated. A larger one can take minutes."""

MAX_TAUTOMERS = 1_000
"""Maximum number of tautomers, and of transforms that enumerate them. These are RDKit's defaults."""


def canonical_tautomer(molecule: Chem.Mol) -> Chem.Mol:
    """Return the tautomer that RDKit's enumerator calls canonical. It depends only on the canonical SMILES.

    Centers and double bonds keep their configuration if the canonical tautomer has them. RDKit's default settings would
    drop those of the alpha carbons of acids, for example, so that both enantiomers of ibuprofen would be one item.

    Raises:
        Rejected: The molecule is too large, has more tautomers than the enumerator may list, which makes its choice
            depend on the tautomer that is read, or has stereo groups that the canonical tautomer does not keep.
    """
    atoms = molecule.GetNumAtoms()
    if atoms > MAX_TAUTOMER_ATOMS:
        raise Rejected(f"{atoms} atoms, more than {MAX_TAUTOMER_ATOMS}, the most for which tautomers are compared")
    tautomers = _enumerator().Enumerate(stereo.reread(molecule))
    if tautomers.status != rdMolStandardize.TautomerEnumeratorStatus.Completed:
        raise Rejected(f"too many tautomers to choose one: RDKit stops after {MAX_TAUTOMERS:,} tautomers or transforms")
    canonical: Chem.Mol = _enumerator().PickCanonical(tautomers)
    if stereo.count_grouped_atoms(canonical) != stereo.count_grouped_atoms(molecule):
        raise Rejected("its canonical tautomer loses a center of a stereo group")
    return canonical


@cache
def _enumerator() -> rdMolStandardize.TautomerEnumerator:
    enumerator = rdMolStandardize.TautomerEnumerator()
    enumerator.SetMaxTautomers(MAX_TAUTOMERS)
    enumerator.SetMaxTransforms(MAX_TAUTOMERS)
    enumerator.SetRemoveSp3Stereo(False)
    enumerator.SetRemoveBondStereo(False)
    return enumerator
