"""RDKit molecules as records: text, name and properties."""

from rdkit import Chem

from graphkin.similarity.describer import Rejected
from graphkin.similarity.molecules import features, stereo
from graphkin.similarity.molecules.messages import rdkit_messages
from graphkin.similarity.molecules.reader import MAX_ATOMS


def molecule_text(molecule: Chem.Mol) -> str:
    """Return the canonical SMILES of a molecule, or its canonical CXSMILES if there are stereo groups.

    Conformers are not part of the text.

    Raises:
        Rejected: The molecule has a feature that an item cannot represent, or more than 1,000 atoms.
    """
    atoms = molecule.GetNumAtoms()
    if atoms > MAX_ATOMS:  # RDKit crashes while it writes the SMILES of a long chain
        raise Rejected(f"{atoms} atoms, more than {MAX_ATOMS}")
    with rdkit_messages():
        if reason := features.rejection_reason(molecule):
            raise Rejected(reason)
        return stereo.canonical_text(molecule)


def molecule_name(molecule: Chem.Mol) -> str | None:
    """Return the title of a molecule, or None."""
    return molecule.GetProp("_Name").strip() or None if molecule.HasProp("_Name") else None


def molecule_properties(molecule: Chem.Mol) -> dict[str, str]:
    """Return the properties of a molecule as texts, without private and computed ones and without empty texts."""
    values = molecule.GetPropsAsDict(includePrivate=False, includeComputed=False, autoConvertStrings=False)
    texts = {name: str(value).strip() for name, value in values.items()}
    return {name: text for name, text in texts.items() if text}
