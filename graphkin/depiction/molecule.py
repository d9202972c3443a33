"""Tasks `draw_molecule` and `shared_atoms`: molecules as SVG, and the atoms that two molecules share."""

from collections.abc import Sequence
from contextlib import suppress
from xml.sax.saxutils import escape

from rdkit import Chem, rdBase
from rdkit.Chem import rdDepictor
from rdkit.Chem.Draw import rdMolDraw2D

from graphkin.depiction.fragments import number_attachment_points, parse_fragment, prepare
from graphkin.depiction.rgroups import align_with_core
from graphkin.protocol.values import Mark
from graphkin.similarity.molecules.mcs import common_atoms
from graphkin.similarity.molecules.substructures import matched_atoms

_END_OF_HEADER = "<!-- END OF HEADER -->"
_HIGHLIGHT = (0.6, 0.83, 0.93)
_MIN_ALIGNED = 2  # minimum number of shared atoms for an alignment
_FRAGMENT_BONDS = 4  # bonds of a fragment that fit into the smaller side of the SVG, so that Cl is not drawn huge
_BOND_UNITS = 1.5  # length of a bond in the units of RDKit's coordinates
_BOND_LINES = 20  # length of a bond by the width of its line
PALETTE = {9: (0.0, 0.5, 0.5), 16: (0.55, 0.45, 0.0)}
"""Colors by atomic number. RDKit draws fluorine and sulfur too light for a white background."""


def draw_molecule(
    smiles: str,
    title: str,
    note: str,
    width: int,
    height: int,
    reference: str | None = None,
    pairs: Sequence[tuple[int, int]] = (),
    mark: Mark = "nothing",
    core: str | None = None,
    pattern: str | None = None,
    notation: str = "smarts",
    *,
    is_fragment: bool = False,
    bond_length: int | None = None,
) -> str:
    """Draw a molecule as SVG.

    Args:
        smiles: Molecule.
        title: Title of the SVG. Characters that cannot be printed are left out.
        note: Description of the SVG. Characters that cannot be printed are left out.
        width: Width in pixels.
        height: Height in pixels.
        reference: Molecule (SMILES) to align with, as its own depiction shows it; None for no alignment.
        pairs: Shared atoms, each as its index in the molecule and its index in the reference.
        mark: Atoms to highlight: `shared` with the reference, the core or the pattern, `differences` from it, or
            `nothing`.
        core: Core to align with, instead of a reference, as in `align_with_core`.
        pattern: Substructure whose matches are shared, instead of a reference, as in `Pattern`.
        notation: Notation of the pattern.
        is_fragment: Whether the molecule is a fragment whose `*` atoms are attachment points. They are drawn as cut
            bonds, with their atom map numbers if there are several.
        bond_length: Length of bonds in pixels, if the molecule then fits; None to fill the SVG. Lines have the width
            that suits this length.
    """
    molecule = parse_fragment(smiles) if is_fragment else parse(smiles)
    if reference is not None and len(pairs) >= _MIN_ALIGNED:
        _align(molecule, parse(reference), pairs)
    shared = {atom for atom, _ in pairs} if core is None else {*align_with_core(molecule, core)}
    if pattern is not None:
        shared = matched_atoms(molecule, pattern, notation)
    atoms, bonds = _highlights(molecule, shared, mark)
    canvas = rdMolDraw2D.MolDraw2DSVG(width, height)
    canvas.drawOptions().setHighlightColour(_HIGHLIGHT)
    canvas.drawOptions().updateAtomPalette(PALETTE)
    if is_fragment:
        number_attachment_points(molecule)
        canvas.drawOptions().dummiesAreAttachments = True  # type: ignore[assignment]  # The stub is wrong: it is a bool.
        canvas.drawOptions().fixedBondLength = min(width, height) / _FRAGMENT_BONDS  # type: ignore[assignment]  # as above
    if bond_length is not None:
        canvas.drawOptions().fixedBondLength = bond_length / _BOND_UNITS  # type: ignore[assignment]  # as above
        canvas.drawOptions().bondLineWidth = max(1.0, bond_length / _BOND_LINES)  # type: ignore[assignment]  # as above
    canvas.drawOptions().prepareMolsBeforeDrawing = False  # type: ignore[assignment]  # as above
    canvas.DrawMolecule(prepare(molecule), highlightAtoms=atoms, highlightBonds=bonds)
    canvas.FinishDrawing()
    header, _, drawing = canvas.GetDrawingText().partition(_END_OF_HEADER)
    return f"{header}<title>{_escape(title)}</title>\n<desc>{_escape(note)}</desc>{drawing}"


def _highlights(molecule: Chem.Mol, shared: set[int], mark: Mark) -> tuple[list[int], list[int]]:
    """Return the atoms and bonds to highlight. A bond is shared if both of its atoms are."""
    if mark == "nothing":
        return [], []
    are_bonds_shared = [{bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()} <= shared for bond in molecule.GetBonds()]
    marks_shared = mark == "shared"
    atoms = [atom for atom in range(molecule.GetNumAtoms()) if (atom in shared) is marks_shared]
    return atoms, [bond for bond, is_shared in enumerate(are_bonds_shared) if is_shared is marks_shared]


def _align(molecule: Chem.Mol, reference: Chem.Mol, pairs: Sequence[tuple[int, int]]) -> None:
    """Give the molecule coordinates in which its shared atoms lie as in the depiction of the reference."""
    template = rdMolDraw2D.PrepareMolForDrawing(reference)
    with suppress(RuntimeError):  # If RDKit cannot align the molecule, it is drawn as without a reference.
        rdDepictor.GenerateDepictionMatching2DStructure(molecule, template, [(b, a) for a, b in pairs])


def shared_atoms(smiles: str, other: str) -> list[tuple[int, int]] | None:
    """Return the maximum common substructure of two molecules; None if time ran out.

    Returns:
        One pair of indices per shared atom: the atom in `smiles`, and the atom in `other`.
    """
    with rdBase.BlockLogs():
        return common_atoms(parse(smiles), parse(other))


def parse(smiles: str) -> Chem.Mol:
    """Return the molecule of a SMILES. Raises `ValueError` if it cannot be read."""
    with rdBase.BlockLogs():
        molecule = Chem.MolFromSmiles(smiles)
    if molecule is None:
        raise ValueError(f"cannot read back {smiles}")
    return molecule


def _escape(text: str) -> str:
    """Return text escaped for XML, in the encoding that RDKit declares for the document."""
    printable = "".join(character for character in text if character.isprintable())
    return escape(printable).encode("ascii", "xmlcharrefreplace").decode()
