"""The tasks `draw` and `shared_atoms`: molecules as SVG, and what two of them share."""

from xml.sax.saxutils import escape

from rdkit import Chem, rdBase
from rdkit.Chem import rdFMCS
from rdkit.Chem.Draw import rdMolDraw2D

_END_OF_HEADER = "<!-- END OF HEADER -->"
_HIGHLIGHT = (0.6, 0.83, 0.93)
_LEGIBLE = {9: (0.0, 0.5, 0.5), 16: (0.55, 0.45, 0.0)}  # fluorine and sulphur, which RDKit draws too light for white


def draw(smiles: str, title: str, note: str, width: int, height: int, atoms: list[int]) -> str:
    """An SVG of `width` x `height` pixels with `atoms`, and the bonds between them, highlighted.

    `title` and `note` become its title and description: any text, what XML cannot hold is left out.
    """
    molecule = _molecule(smiles)
    inside = set(atoms)
    bonds = [
        bond.GetIdx()
        for bond in molecule.GetBonds()
        if bond.GetBeginAtomIdx() in inside and bond.GetEndAtomIdx() in inside
    ]
    canvas = rdMolDraw2D.MolDraw2DSVG(width, height)
    canvas.drawOptions().setHighlightColour(_HIGHLIGHT)
    canvas.drawOptions().updateAtomPalette(_LEGIBLE)
    rdMolDraw2D.PrepareAndDrawMolecule(canvas, molecule, highlightAtoms=atoms, highlightBonds=bonds)
    canvas.FinishDrawing()
    header, _, drawing = canvas.GetDrawingText().partition(_END_OF_HEADER)
    return f"{header}<title>{_text(title)}</title>\n<desc>{_text(note)}</desc>{drawing}"


def shared_atoms(smiles: str, other: str, seconds: int) -> tuple[list[int], bool]:
    """The first molecule's atoms that lie in the largest substructure common to both; False if time ran out.

    Atoms match by element, bonds by order, and rings only whole.
    """
    pair = [_molecule(smiles), _molecule(other)]
    found = rdFMCS.FindMCS(pair, timeout=seconds, ringMatchesRingOnly=True, completeRingsOnly=True)
    atoms = pair[0].GetSubstructMatch(found.queryMol) if found.numAtoms else ()
    return list(atoms), not found.canceled


def _molecule(smiles: str) -> Chem.Mol:
    with rdBase.BlockLogs():
        molecule = Chem.MolFromSmiles(smiles)
    if molecule is None:
        raise ValueError(f"cannot read back {smiles}")
    return molecule


def _text(text: str) -> str:
    """As XML text in RDKit's own encoding of the document."""
    printable = "".join(character for character in text if character.isprintable())
    return escape(printable).encode("ascii", "xmlcharrefreplace").decode()
