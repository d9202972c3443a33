"""The tasks `draw` and `shared_atoms`: molecules as SVG, and the atoms that two of them share."""

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
_ORIENTING = 2  # atoms in common, from which on a molecule lies like another
_LEGIBLE = {9: (0.0, 0.5, 0.5), 16: (0.55, 0.45, 0.0)}  # fluorine and sulphur, which RDKit draws too light for white


def draw(
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
    """An SVG of `width` x `height` pixels.

    It lies as another molecule does in its own picture, `like`, with which it shares `pairs`: its atom, the other's;
    `mark` says what of it is highlighted. Where it is `cut` out of another, its `*` are where that goes on.
    `title` and `note` become its title and description: any text, what XML cannot hold is left out.
    """
    molecule = _molecule(smiles)
    if like is not None and len(pairs) >= _ORIENTING:
        _lay(molecule, _molecule(like), pairs)
    atoms, bonds = _marked(molecule, {own for own, _ in pairs}, mark)
    canvas = rdMolDraw2D.MolDraw2DSVG(width, height)
    canvas.drawOptions().setHighlightColour(_HIGHLIGHT)
    canvas.drawOptions().updateAtomPalette(_LEGIBLE)
    canvas.drawOptions().dummiesAreAttachments = cut  # type: ignore[assignment]  # of its stub: it is a bool
    rdMolDraw2D.PrepareAndDrawMolecule(canvas, molecule, highlightAtoms=atoms, highlightBonds=bonds)
    canvas.FinishDrawing()
    header, _, drawing = canvas.GetDrawingText().partition(_END_OF_HEADER)
    return f"{header}<title>{_text(title)}</title>\n<desc>{_text(note)}</desc>{drawing}"


def _marked(molecule: Chem.Mol, shared: set[int], mark: Mark) -> tuple[list[int], list[int]]:
    """The atoms and bonds to highlight: a bond where both ends are shared, or where one is not."""
    if mark == "nothing":
        return [], []
    inside = [{bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()} <= shared for bond in molecule.GetBonds()]
    wanted = mark == "shared"
    atoms = [atom for atom in range(molecule.GetNumAtoms()) if (atom in shared) is wanted]
    return atoms, [bond for bond, is_shared in enumerate(inside) if is_shared is wanted]


def _lay(molecule: Chem.Mol, other: Chem.Mol, pairs: Sequence[tuple[int, int]]) -> None:
    """Give the molecule coordinates in which what is shared lies as in the other's picture."""
    shown = rdMolDraw2D.PrepareMolForDrawing(other)
    with suppress(RuntimeError):  # what is shared cannot be laid so: it lies as it would alone
        rdDepictor.GenerateDepictionMatching2DStructure(molecule, shown, [(theirs, own) for own, theirs in pairs])


def shared_atoms(smiles: str, other: str) -> list[tuple[int, int]] | None:
    """Return the maximum common substructure of two molecules as pairs of atoms; None if time ran out."""
    with rdBase.BlockLogs():
        return common_atoms(_molecule(smiles), _molecule(other))


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
