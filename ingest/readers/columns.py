"""The columns of a table: which of them is the structure, which the name, and which are properties."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from graphkin.ingest.readers.records import Record
from graphkin.protocol.errors import InvalidInput
from graphkin.similarity.molecules.given import beside as with_fingerprint

MAX_COLUMNS = 10_000

Options: TypeAlias = tuple[str, str]
"""What chooses the column of the structure, and that of the name."""

OPTIONS: Options = ("--smiles-column", "--name-column")
FINGERPRINT = "--fingerprint-column"

_TOLD = 500  # characters of names in an error


@dataclass(frozen=True)
class Columns:
    """A header that has been understood. `structure`, `name` and `beside`, what stands before the structure in a text,
    are positions; `properties` are (position, name)."""

    names: tuple[str, ...]
    structure: int
    name: int | None
    properties: tuple[tuple[int, str], ...]
    beside: int | None = None

    @classmethod
    def resolve(
        cls,
        source: str,
        header: Sequence[str],
        structure: str,
        name: str | None,
        options: Options = OPTIONS,
        beside: str | None = None,
    ) -> "Columns":
        """Find the asked-for columns, the name's by default "id" if there is one: the exact name, else in any case.
        `options` of the command line choose others. `beside`: the column of a fingerprint, if there is one.

        A column without a name is called after its position, from "column 1". Raises `InvalidInput` naming the columns
        for one that is missing or ambiguous, for two columns of one name, and for more than `MAX_COLUMNS`.
        """
        if len(header) > MAX_COLUMNS:
            raise InvalidInput(f"{source} has too many columns", given=len(header), expected=f"at most {MAX_COLUMNS:,}")
        names = tuple(title.strip() or f"column {position}" for position, title in enumerate(header, 1))
        title, times = Counter(names).most_common(1)[0] if names else ("", 0)
        if times > 1:
            raise InvalidInput(f"{source} has several columns named {_told(title)!r}", expected="distinct column names")
        structure_at = _required(source, names, structure, options[0])
        if name is not None:
            name_at: int | None = _required(source, names, name, options[1])
        elif (name_at := _find(source, names, "id", options[1])) == structure_at:
            name_at = None
        beside_at = None if beside is None else _required(source, names, beside, FINGERPRINT)
        taken = (structure_at, name_at, beside_at)
        others = tuple((at, title) for at, title in enumerate(names) if at not in taken)
        return cls(names, structure_at, name_at, others, beside_at)

    def record(self, line: int, cells: Sequence[str | None]) -> Record:
        """One row as a record; cells that are empty, null or absent at the end are left out. Raises `ValueError` with
        the fault of a row that is too long, or too short to have a structure. No cells at all: an empty record."""
        given = len(cells)
        if given > len(self.names) or 0 < given <= self.structure:
            missing = "" if given > self.structure else f" (no {self.names[self.structure]!r})"
            raise ValueError(f"has {given:,} cells{missing}, the header has {len(self.names):,}")
        if not given:
            return line, "", None, (), (), None
        structure = (cells[self.structure] or "").strip()
        if self.beside is not None:
            structure = with_fingerprint((cells[self.beside] or "") if self.beside < given else "", structure)
        name = cells[self.name] if self.name is not None and self.name < given else None
        keys: list[str] = []
        values: list[str] = []
        for at, title in self.properties:
            if at < given and (value := cells[at]):
                keys.append(title)
                values.append(value)
        return line, structure, (name and name.strip()) or None, keys, values, None


def _find(source: str, names: Sequence[str], wanted: str, option: str) -> int | None:
    if wanted in names:
        return names.index(wanted)
    found = [at for at, title in enumerate(names) if title.casefold() == wanted.casefold()]
    if len(found) > 1:
        raise InvalidInput(
            f"{source} has several columns named {wanted!r} but for their case",
            given=_told(", ".join(names[at] for at in found)),
            hint=f"choose one with {option}",
        )
    return found[0] if found else None


def _required(source: str, names: Sequence[str], wanted: str, option: str) -> int:
    found = _find(source, names, wanted, option)
    if found is None:
        raise InvalidInput(
            f"{source} has no column {wanted!r}",
            given=wanted,
            expected=f"one of {_told(', '.join(names))}" if names else "a header line that names the columns",
            hint=f"name the column with {option}",
        )
    return found


def _told(text: str) -> str:
    return text if len(text) <= _TOLD else f"{text[:_TOLD]}…"
