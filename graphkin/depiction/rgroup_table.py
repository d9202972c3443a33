"""An R-group table as one picture, with molecules aligned with the core."""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Literal

import pyarrow as pa
from rdkit import Chem, rdBase
from rdkit.Chem.Draw import rdMolDraw2D
from rdkit.Geometry import Point2D

from graphkin.depiction.fragments import number_attachment_points, parse_fragment, prepare
from graphkin.depiction.molecule import PALETTE, parse
from graphkin.depiction.rgroups import align_row, core_template
from graphkin.protocol.errors import InvalidInput

PictureFormat = Literal["svg", "png"]

MAX_ROWS = 100
"""The largest number of molecules of a picture."""

MAX_STRUCTURES = 600
"""The largest number of molecules and R groups of a picture, which has at least one row."""

_WIDTH, _STRUCTURE = 240, 170  # width and height of a structure in pixels
_TEXT = 24  # height of a line of text in pixels
_ROW = _STRUCTURE + _TEXT
_VALUE_WIDTH = 120  # pixels of the column of the property
_BOND = 22.0  # pixels of a bond, unless a structure would not fit
_FONT, _CHARACTER = 13, 8  # height of the text and width of a character in pixels
_MIDDLE = 0  # alignment of a text around a point
_GRAY, _BLACK = (0.8, 0.8, 0.8), (0.0, 0.0, 0.0)
_SMALLEST, _LARGEST = (1.0, 1.0, 1.0), (0.45, 0.72, 0.88)  # background of the smallest and the largest value


def draw_rgroup_table(table: pa.Table, positions: Sequence[str], property: str | None, format: PictureFormat) -> bytes:
    """Draw an R-group table.

    The head shows the core of most molecules with its positions. Each row shows a molecule, its groups and its value of
    the property on a background that is darker for a larger value. The line under the table says how many molecules are
    left out: those without the core, and those beyond `MAX_ROWS` or `MAX_STRUCTURES`.

    Args:
        table: Columns id, smiles, names, core, the positions and the property. The core is null for molecules without
            the core.
        positions: Names of the positions.
        property: Name of the property, or None.
        format: Format of the picture.

    Raises:
        InvalidInput: No molecule has the core.
    """
    matched = table.filter(table["core"].is_valid())
    if matched.num_rows == 0:
        raise InvalidInput(
            "there is nothing to draw: no molecule of the series contains the core",
            given=f"{table.num_rows:,} molecules",
            expected="a core that a molecule of the series contains",
            hint="leave core out: the maximum common substructure of the series is a core of all its molecules",
        )
    rows = matched.slice(0, min(MAX_ROWS, max(1, MAX_STRUCTURES // (1 + len(positions))))).to_pylist()
    page = _Page(len(positions), len(rows), format, has_value=property is not None)
    values = [None if property is None else row[property] for row in rows]
    numbers = [value for value in values if value is not None]
    low, high = (min(numbers), max(numbers)) if numbers else (0.0, 0.0)
    last = len(positions) + 1
    with rdBase.BlockLogs():
        ((core, _),) = Counter(matched["core"].to_pylist()).most_common(1)
        page.structure(0, 0, core_template(parse_fragment(core)))
        for column, position in enumerate(positions, 1):
            page.text(0, column, position)
        if property is not None:
            page.text(0, last, property)
        for number, (row, value) in enumerate(zip(rows, values, strict=True), 1):
            molecule = parse(row["smiles"])
            align_row(positions, molecule, row)
            page.structure(number, 0, molecule, row["names"][0] if row["names"] else str(row["id"]))
            for column, position in enumerate(positions, 1):
                if row[position] is not None:
                    page.structure(number, column, _parse_group(row[position]), is_fragment=True)
            if value is not None:
                page.fill(number, last, (value - low) / (high - low) if high > low else 0.0)
                page.text(number, last, f"{value:g}")
    return page.finish(_note(len(rows), matched.num_rows, table.num_rows))


def _note(drawn: int, matched: int, total: int) -> str:
    """Return the line under a picture."""
    note = f"The first {drawn:,} of {matched:,} molecules" if drawn < matched else f"{matched:,} molecules"
    return note if matched == total else f"{note}; {total - matched:,} without the core are left out"


def _parse_group(smiles: str) -> Chem.Mol:
    group = parse_fragment(smiles)
    number_attachment_points(group)
    return group


class _Page:
    """A drawing with a head, rows of equal height and a last line.

    Rows and columns are counted from 0. Row 0 is the head, column 0 has the molecules.
    """

    def __init__(self, positions: int, rows: int, format: PictureFormat, *, has_value: bool) -> None:
        self._lefts = [column * _WIDTH for column in range(positions + 2)]
        width = self._lefts[-1] + _VALUE_WIDTH * has_value
        height = (rows + 1) * _ROW + _TEXT
        draw = rdMolDraw2D.MolDraw2DSVG if format == "svg" else rdMolDraw2D.MolDraw2DCairo
        self._canvas = draw(width, height, _WIDTH, _STRUCTURE)
        options = self._canvas.drawOptions()
        options.updateAtomPalette(PALETTE)
        options.fixedBondLength = _BOND  # type: ignore[assignment]  # The stubs of options are wrong.
        options.prepareMolsBeforeDrawing = False  # type: ignore[assignment]
        self._canvas.ClearDrawing()
        options.clearBackground = False  # type: ignore[assignment]
        self._rows = rows
        self._width = width

    def structure(
        self, row: int, column: int, molecule: Chem.Mol, name: str = "", *, is_fragment: bool = False
    ) -> None:
        """Draw a structure, and a name under it. A fragment has wavy lines at its attachment points."""
        self._canvas.drawOptions().dummiesAreAttachments = is_fragment  # type: ignore[assignment]
        self._canvas.SetOffset(self._lefts[column], row * _ROW)
        self._canvas.DrawMolecule(prepare(molecule))
        if name:
            self._write(name, self._lefts[column] + _WIDTH / 2, row * _ROW + _STRUCTURE + _TEXT / 2, _WIDTH)

    def text(self, row: int, column: int, text: str) -> None:
        """Write text in the center of a cell."""
        width = _WIDTH if column < len(self._lefts) - 1 else _VALUE_WIDTH
        self._write(text, self._lefts[column] + width / 2, row * _ROW + _STRUCTURE / 2, width)

    def fill(self, row: int, column: int, share: float) -> None:
        """Fill a cell of the last column with the color of a value: 0 for the smallest, 1 for the largest."""
        self._canvas.SetOffset(0, 0)
        self._canvas.SetColour(tuple(low + share * (high - low) for low, high in zip(_SMALLEST, _LARGEST, strict=True)))
        self._canvas.SetFillPolys(True)
        left, top = self._lefts[column], row * _ROW
        self._canvas.DrawRect(Point2D(left, top), Point2D(left + _VALUE_WIDTH, top + _ROW), rawCoords=True)

    def finish(self, note: str) -> bytes:
        """Draw lines between the rows and the note, and return the picture."""
        self._canvas.SetOffset(0, 0)
        self._canvas.SetColour(_GRAY)
        for row in range(1, self._rows + 2):
            self._canvas.DrawLine(Point2D(0, row * _ROW), Point2D(self._width, row * _ROW), rawCoords=True)
        self._write(note, self._width / 2, (self._rows + 1) * _ROW + _TEXT / 2, self._width)
        self._canvas.FinishDrawing()
        picture = self._canvas.GetDrawingText()
        return picture if isinstance(picture, bytes) else picture.encode("latin-1")  # as the XML declaration says

    def _write(self, text: str, x: float, y: float, width: float) -> None:
        """Write one line around a point, cut to a width."""
        line = _ascii(text)
        most = int(width / _CHARACTER)
        self._canvas.SetOffset(0, 0)
        self._canvas.SetFontSize(_FONT)
        self._canvas.SetColour(_BLACK)
        cut = line if len(line) <= most else f"{line[: most - 3]}..."
        self._canvas.DrawString(cut, Point2D(x, y), _MIDDLE, rawCoords=True)


def _ascii(text: str) -> str:
    """Return text in the characters that RDKit can write: without accents, with u for µ and ? for other letters."""
    plain = unicodedata.normalize("NFKD", text.replace("µ", "u").replace("μ", "u"))
    letters = (character for character in plain if character.isprintable() and not unicodedata.combining(character))
    return "".join(letters).encode("ascii", "replace").decode()
