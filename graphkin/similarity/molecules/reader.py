"""The reader of molecules: parses, limits, standardizes and describes records and queries."""

from dataclasses import dataclass

from rdkit import Chem
from rdkit.Chem import Descriptors
from rdkit.Chem.MolStandardize import rdMolStandardize

from graphkin.similarity.describer import Rejected
from graphkin.similarity.molecules import features, stereo
from graphkin.similarity.molecules.messages import rdkit_messages, readable_messages
from graphkin.similarity.molecules.recipe import MoleculeRecipe, Step
from graphkin.similarity.molecules.structure_text import Notation, StructureText, Unreadable

MAX_ATOMS = 1_000
MAX_RECORD_BYTES = 1_000_000
_BYTES_PER_ATOM = 10  # of SMILES or InChI text; drug-like SMILES need about two


@dataclass(frozen=True)
class Description:
    """The columns of the item table that describe a molecule.

    Attributes:
        smiles: Canonical SMILES; CXSMILES if there are stereo groups.
        inchikey: InChIKey, if the recipe has it and InChI can represent the molecule.
        molwt: Molecular weight in g/mol.
        rings: Number of rings by symmetrized SSSR.
        heavy_atoms: Number of heavy atoms.
    """

    smiles: str
    inchikey: str | None
    molwt: float
    rings: int
    heavy_atoms: int


class MoleculeReader:
    """Turns text into standardized molecules according to a recipe. Thread-safe."""

    def __init__(self, recipe: MoleculeRecipe, max_atoms: int = MAX_ATOMS) -> None:
        self._recipe = recipe
        self._max_atoms = max_atoms

    def read(self, text: str, notation: Notation) -> Chem.Mol:
        """Return the standardized molecule.

        The length of the text is limited before parsing, and the number of atoms right after it: RDKit parses a chain
        of 20,000 carbons and then crashes the process when it writes the SMILES.

        Raises:
            Rejected: RDKit cannot read the text, or the text states something that an item cannot represent
                (docs/chemistry.md). The reason is RDKit's message, if there is one.
        """
        self._check_text(text, notation)
        with rdkit_messages() as messages:
            try:
                return self._read(StructureText.from_text(text, notation))
            except (Unreadable, SystemError) as error:  # SystemError: RDKit's message is not Unicode text
                raise Rejected(readable_messages(messages, text) or f"RDKit cannot read this {notation}") from error
            except (ValueError, RuntimeError) as error:
                reason = readable_messages(str(error).splitlines(), text)
                raise Rejected(reason or f"RDKit cannot handle this {notation}") from error

    def _read(self, structure: StructureText) -> Chem.Mol:
        molecule = structure.molecule()
        self._check_atoms(molecule)
        if structure.may_say_more:
            if reason := features.rejection_reason(molecule):
                raise Rejected(reason)
            if structure.grouped_atoms != stereo.grouped_atoms(molecule):
                raise Rejected("a stereo group names an atom that is no stereocentre")
        molecule = _standardize(molecule, self._recipe.standardise)
        return molecule if self._keeps_fingerprint(structure) else _reread(molecule)

    def _keeps_fingerprint(self, structure: StructureText) -> bool:
        """Return whether the molecule as parsed has the same fingerprint as its canonical SMILES.

        This does not hold with stereo groups, for stereo marks of other formats, after standardization, and for RDKit's
        topological torsions: those of three-membered rings depend on the order of the atoms.
        """
        plain = structure.notation == "smiles" and not structure.may_say_more
        return plain and not self._recipe.standardise and self._recipe.fingerprint.name != "torsion"

    def _check_text(self, text: str, notation: Notation) -> None:
        if not text.strip():
            raise Rejected("empty record")
        if "\0" in text:
            raise Rejected("contains a NUL byte")  # RDKit's InChI reader would stop there and read only the beginning
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
    if steps:
        Chem.GetSymmSSSR(molecule)
    return molecule


def _reread(molecule: Chem.Mol) -> Chem.Mol:
    """Return the molecule parsed from its canonical SMILES, so that all its columns follow from the item's identity."""
    smiles = stereo.canonical_text(molecule)
    if "~" in smiles:
        raise Rejected(f"a bond is of a type that SMILES cannot write: {smiles}")
    parsed = Chem.MolFromSmiles(smiles)
    if parsed is None:
        raise Rejected(f"RDKit cannot read the SMILES it writes for this: {smiles}")
    if parsed.GetStereoGroups() and not stereo.same(molecule, parsed):
        raise Rejected(f"RDKit reads something else from the CXSMILES that says the same: {smiles}")
    return parsed


def _inchikey(molecule: Chem.Mol) -> str | None:
    """Return the InChIKey, or None if InChI cannot represent the molecule: it has no dummies and no stereo groups."""
    if stereo.grouped_atoms(molecule):
        return None
    with rdkit_messages():
        return Chem.MolToInchiKey(molecule) or None  # type: ignore[no-untyped-call]
