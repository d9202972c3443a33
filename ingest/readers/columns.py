"""The columns of a table: which of them is the structure, which the name, and which are properties."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from graphkin.ingest.readers.records import Record
from graphkin.protocol.errors import InvalidInput
from graphkin.similarity.molecules.given import beside as with_fingerprint

MAX_COLUMNS = 10_000

Delimiter: TypeAlias = Literal["comma", "tab", "semicolon", "pipe", "space"]
"""What stands between the cells of a table of text."""

Options: TypeAlias = tuple[str, str]
"""What chooses the column of the structure, and that of the name."""

OPTIONS: Options = ("--smiles-column", "--name-column")
FINGERPRINT = "--fingerprint-column"

_TOLD = 500  # characters of names in an error

_NAMES = (
    "id", "compoundid", "moleculeid", "molid", "chemblid", "moleculechemblid", "zincid", "idnumber", "compoundname",
    "moleculename", "name",
)  # fmt: skip
"""What a column of names is called, without case, spaces and punctuation; the first that there is holds them."""

_LIKELY = re.compile(r"(?<![a-zA-Z])(?i:ids?|identifier|names?|code|number|no)(?![a-zA-Z])|(?<=[a-z])I[Dd]$")


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
        separated: str = "",
        beside: str | None = None,
    ) -> "Columns":
        """Find the asked-for columns: the exact name, else in any case. The name's is by default that called id, or
        as other programs call it ("Compound ID", "molecule_chembl_id", "Name"), if there is one.
        `options` of the command line choose others; `separated` says by what cells are, for errors. `beside`: the
        column of a fingerprint, if there is one.

        A column without a name is called after its position, from "column 1". Raises `InvalidInput` naming the columns
        for one that is missing or ambiguous, for two columns of one name, and for more than `MAX_COLUMNS`.
        """
        if len(header) > MAX_COLUMNS:
            raise InvalidInput(f"{source} has too many columns", given=len(header), expected=f"at most {MAX_COLUMNS:,}")
        names = tuple(title.strip() or f"column {position}" for position, title in enumerate(header, 1))
        title, times = Counter(names).most_common(1)[0] if names else ("", 0)
        if times > 1:
            raise InvalidInput(f"{source} has several columns named {_told(title)!r}", expected="distinct column names")
        structure_at = _required(source, names, structure, options[0], separated)
        if name is not None:
            name_at: int | None = _required(source, names, name, options[1], separated)
        else:
            name_at = _naming(source, names, structure_at, options[1])
        beside_at = None if beside is None else _required(source, names, beside, FINGERPRINT, separated)
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


def likely_names(columns: Sequence[str]) -> list[str]:
    """Those of some columns that might hold names, by what they are called."""
    return [name for name in columns if _LIKELY.search(name)]


def _naming(source: str, names: Sequence[str], structure: int, option: str) -> int | None:
    """Where names are, by what the columns are called."""
    known = [re.sub(r"[\W_]", "", title.casefold()) for title in names]
    known[structure] = ""
    called = next((each for each in _NAMES if each in known), None)
    if called is None:
        return None
    return _find(source, names, names[known.index(called)], option)


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


def _required(source: str, names: Sequence[str], wanted: str, option: str, separated: str) -> int:
    found = _find(source, names, wanted, option)
    if found is None:
        near = next((title for title in names if wanted.casefold() in title.casefold()), None)
        raise InvalidInput(
            f"{source} has no column {wanted!r}",
            given=wanted,
            expected=f"one of {_told(', '.join(names))}{separated}"
            if names
            else "a header line that names the columns",
            hint=f"name the column with {option}" if near is None else f"is it {option} {_told(near)!r}?",
        )
    return found


def _told(text: str) -> str:
    return text if len(text) <= _TOLD else f"{text[:_TOLD]}…"
