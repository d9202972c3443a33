"""The reader of molecules, for records and for queries: it parses, checks, standardizes and describes them."""

from dataclasses import dataclass

from rdkit import Chem
from rdkit.Chem import Descriptors
from rdkit.Chem.MolStandardize import rdMolStandardize

from graphkin.similarity.describer import Rejected
from graphkin.similarity.molecules import features, stereo, tautomers
from graphkin.similarity.molecules.messages import rdkit_messages, readable_messages
from graphkin.similarity.molecules.recipe import MoleculeRecipe, Step
from graphkin.similarity.molecules.structure_text import Notation, StructureText, UnreadableStructure

MAX_ATOMS = 1_000
"""Default limit on the number of atoms of a molecule."""

MAX_RECORD_BYTES = 1_000_000
"""Maximum length of the text of a record, in bytes."""

_BYTES_PER_ATOM = 10  # of SMILES or InChI text; drug-like SMILES need about two


@dataclass(frozen=True)
class Description:
    """The columns of the item table that describe a molecule.

    Attributes:
        smiles: Canonical SMILES, or canonical CXSMILES if there are stereo groups.
        inchikey: InChIKey; None if the recipe asks for none, or if InChI cannot represent the molecule.
        molwt: Molecular weight in g/mol.
        rings: Number of rings in RDKit's symmetrized smallest set of smallest rings (SSSR).
        heavy_atoms: Number of heavy atoms.
    """

    smiles: str
    inchikey: str | None
    molwt: float
    rings: int
    heavy_atoms: int


class MoleculeReader:
    """Reads and describes molecules according to a recipe.

    Thread safety:
        Instances may be shared between threads.
    """

    def __init__(self, recipe: MoleculeRecipe, max_atoms: int = MAX_ATOMS) -> None:
        self._recipe = recipe
        self._max_atoms = max_atoms

    def read(self, text: str, notation: Notation) -> Chem.Mol:
        """Parse, check and standardize a molecule.

        The length of the text is checked before parsing, and the number of atoms right after it: RDKit can parse a
        chain of 20,000 carbons, but crashes the process when it writes the SMILES of the chain.

        Raises:
            Rejected: RDKit cannot read the text, or the text has a feature that an item cannot represent
                (docs/concepts/molecule-identity.md). The reason is RDKit's message, if there is one.
        """
        self._check_text(text, notation)
        with rdkit_messages() as messages:
            try:
                return self._read(StructureText.from_text(text, notation))
            except (UnreadableStructure, SystemError) as error:  # SystemError: RDKit's message is not Unicode text
                raise Rejected(readable_messages(messages, text) or f"RDKit cannot read this {notation}") from error
            except (ValueError, RuntimeError) as error:
                reason = readable_messages(str(error).splitlines(), text)
                raise Rejected(reason or f"RDKit cannot handle this {notation}") from error

    def _read(self, structure: StructureText) -> Chem.Mol:
        molecule = structure.molecule()
        self._check_atoms(molecule)
        if structure.may_have_unsupported_features:
            if reason := features.rejection_reason(molecule):
                raise Rejected(reason)
            if structure.grouped_atom_count != stereo.count_grouped_atoms(molecule):
                raise Rejected("a stereo group names an atom that is no stereocenter")
        molecule = _standardize(molecule, self._recipe.standardise)
        return molecule if self._keeps_fingerprint(structure) else stereo.reread(molecule)

    def _keeps_fingerprint(self, structure: StructureText) -> bool:
        """Return whether the parsed molecule surely has the fingerprint of its canonical SMILES.

        The fingerprint can differ if there are stereo groups, if a format other than SMILES marks stereochemistry, and
        after standardization. Topological torsions can always differ, because RDKit makes those of three-membered rings
        depend on the order of the atoms.
        """
        plain = structure.notation == "smiles" and not structure.may_have_unsupported_features
        return plain and not self._recipe.standardise and self._recipe.fingerprint.name != "torsion"

    def _check_text(self, text: str, notation: Notation) -> None:
        if not text.strip():
            raise Rejected("empty record")
        if "\0" in text:
            raise Rejected("contains a NUL byte")  # at which RDKit's InChI reader would stop
        limit = MAX_RECORD_BYTES if notation == "molblock" else _BYTES_PER_ATOM * self._max_atoms
        try:
            size = len(text.encode())
        except UnicodeEncodeError as error:
            raise Rejected("is not Unicode text") from error
        if size > limit:
            raise Rejected(f"{size} bytes of {notation}, more than {limit}")

    def _check_atoms(self, molecule: Chem.Mol) -> None:
        atoms = molecule.GetNumAtoms()
        if not atoms:
            raise Rejected("no atoms")
        if atoms > self._max_atoms:
            raise Rejected(f"{atoms} atoms, more than {self._max_atoms}")

    def describe(self, molecule: Chem.Mol) -> Description:
        """Compute the columns of a molecule that `read` returned."""
        return Description(
            smiles=stereo.canonical_text(molecule),
            inchikey=_inchikey(molecule) if self._recipe.inchikey else None,
            molwt=round(Descriptors.MolWt(molecule), 6),  # further digits depend on the order of the atoms
            rings=molecule.GetRingInfo().NumRings(),  # sanitization has computed the symmetrized SSSR
            heavy_atoms=molecule.GetNumHeavyAtoms(),
        )


def _standardize(molecule: Chem.Mol, steps: tuple[Step, ...]) -> Chem.Mol:
    for step in steps:
        match step:
            case "largest_fragment":
                molecule = rdMolStandardize.LargestFragmentChooser().choose(molecule)
            case "uncharge":
                molecule = rdMolStandardize.Uncharger().uncharge(molecule)
            case "tautomer":
                molecule = tautomers.canonical_tautomer(molecule)
    if steps:
        Chem.GetSymmSSSR(molecule)
    return molecule


def _inchikey(molecule: Chem.Mol) -> str | None:
    """Return the InChIKey, or None if the molecule has dummy atoms or stereo groups, which InChI cannot represent."""
    if stereo.count_grouped_atoms(molecule):
        return None
    with rdkit_messages():
        return Chem.MolToInchiKey(molecule) or None  # type: ignore[no-untyped-call]
