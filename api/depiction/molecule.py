"""Tasks `draw_molecule` and `shared_atoms`: molecules as SVG, and the atoms that two molecules share."""

from collections.abc import Sequence
from contextlib import suppress
from xml.sax.saxutils import escape

from rdkit import Chem, rdBase
from rdkit.Chem import rdDepictor
from rdkit.Chem.Draw import rdMolDraw2D

from graphkin.protocol.values import Mark
from graphkin.similarity.molecules.mcs import common_atoms

_END_OF_HEADER = "<!-- END OF HEADER -->"
_HIGHLIGHT = (0.6, 0.83, 0.93)
_MIN_ALIGNED = 2  # smallest number of shared atoms that aligns a molecule with another
# RDKit draws fluorine and sulfur too light for a white background.
_PALETTE = {9: (0.0, 0.5, 0.5), 16: (0.55, 0.45, 0.0)}


def draw_molecule(
    smiles: str,
    title: str,
    note: str,
    width: int,
    height: int,
    like: str | None = None,
    pairs: Sequence[tuple[int, int]] = (),
    mark: Mark = "nothing",
    *,
    cut: bool = False,
) -> str:
    """Draw a molecule as SVG.

    Args:
        smiles: Molecule.
        title: Title of the SVG. Characters that XML cannot hold are left out.
        note: Description of the SVG, treated like the title.
        width: Width in pixels.
        height: Height in pixels.
        like: Molecule (SMILES) to align with, as it lies in its own depiction.
        pairs: Shared atoms: index in the molecule, index in `like`.
        mark: Atoms to highlight: shared, not shared, or none.
        cut: Whether `*` atoms are attachment points, as in a substructure cut out of a molecule.
    """
    molecule = _parse(smiles)
    if like is not None and len(pairs) >= _MIN_ALIGNED:
        _align(molecule, _parse(like), pairs)
    atoms, bonds = _highlights(molecule, {own for own, _ in pairs}, mark)
    canvas = rdMolDraw2D.MolDraw2DSVG(width, height)
    canvas.drawOptions().setHighlightColour(_HIGHLIGHT)
    canvas.drawOptions().updateAtomPalette(_PALETTE)
    canvas.drawOptions().dummiesAreAttachments = cut  # type: ignore[assignment]  # The stub is wrong: it is a bool.
    rdMolDraw2D.PrepareAndDrawMolecule(canvas, molecule, highlightAtoms=atoms, highlightBonds=bonds)
    canvas.FinishDrawing()
    header, _, drawing = canvas.GetDrawingText().partition(_END_OF_HEADER)
    return f"{header}<title>{_escape(title)}</title>\n<desc>{_escape(note)}</desc>{drawing}"


def _highlights(molecule: Chem.Mol, shared: set[int], mark: Mark) -> tuple[list[int], list[int]]:
    """Return the atoms and bonds to highlight. A bond is shared if both of its atoms are."""
    if mark == "nothing":
        return [], []
    inside = [{bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()} <= shared for bond in molecule.GetBonds()]
    is_marked = mark == "shared"
    atoms = [atom for atom in range(molecule.GetNumAtoms()) if (atom in shared) is is_marked]
    return atoms, [bond for bond, is_shared in enumerate(inside) if is_shared is is_marked]


def _align(molecule: Chem.Mol, other: Chem.Mol, pairs: Sequence[tuple[int, int]]) -> None:
    """Align the molecule with the other one's depiction by the shared atoms."""
    template = rdMolDraw2D.PrepareMolForDrawing(other)
    with suppress(RuntimeError):  # RDKit cannot align these: draw the molecule as if alone.
        rdDepictor.GenerateDepictionMatching2DStructure(molecule, template, [(theirs, own) for own, theirs in pairs])


def shared_atoms(smiles: str, other: str) -> list[tuple[int, int]] | None:
    """Return the maximum common substructure of two molecules as pairs of atoms; None if time ran out."""
    with rdBase.BlockLogs():
        return common_atoms(_parse(smiles), _parse(other))


def _parse(smiles: str) -> Chem.Mol:
    with rdBase.BlockLogs():
        molecule = Chem.MolFromSmiles(smiles)
    if molecule is None:
        raise ValueError(f"cannot read back {smiles}")
    return molecule


def _escape(text: str) -> str:
    """Return text escaped for XML, in the encoding that RDKit declares for the document."""
    printable = "".join(character for character in text if character.isprintable())
    return escape(printable).encode("ascii", "xmlcharrefreplace").decode()
