"""Columns of a table: find those of the structure, the name, the fingerprint and the properties."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from graphkin.ingest.readers.records import Record
from graphkin.protocol.errors import InvalidInput
from graphkin.similarity.molecules.fingerprint_text import join_fingerprint

MAX_COLUMNS = 10_000

Delimiter: TypeAlias = Literal["comma", "tab", "semicolon", "pipe", "space"]
"""Name of the character that separates the cells of a text table."""

Options: TypeAlias = tuple[str, str]
"""Command-line options that choose the column of the structure and that of the name, for error messages."""

OPTIONS: Options = ("--smiles-column", "--name-column")
_FINGERPRINT_OPTION = "--fingerprint-column"

_MAX_LIST_LENGTH = 500  # characters of column names in an error message

_NAME_TITLES = (
    "id", "compoundid", "moleculeid", "molid", "chemblid", "moleculechemblid", "zincid", "idnumber", "compoundname",
    "moleculename", "name",
)  # fmt: skip
"""Titles of name columns, in lower case without spaces and punctuation, the preferred title first."""

_LIKELY_NAME = re.compile(r"(?<![a-zA-Z])(?i:ids?|identifier|names?|code|number|no)(?![a-zA-Z])|(?<=[a-z])I[Dd]$")
"""Titles that suggest a name column: with a word such as "name", "code" or "no", or ending like "SampleID"."""


@dataclass(frozen=True)
class Columns:
    """Resolved header of a table.

    Attributes:
        names: All column names.
        structure: Position of the structure column.
        name: Position of the name column, if there is one.
        properties: (position, name) of every other column.
        fingerprint: Position of the fingerprint column, if there is one. Its value precedes the structure in a record's
            text.
    """

    names: tuple[str, ...]
    structure: int
    name: int | None
    properties: tuple[tuple[int, str], ...]
    fingerprint: int | None = None

    @classmethod
    def resolve(
        cls,
        source: str,
        header: Sequence[str],
        structure: str,
        name: str | None,
        options: Options = OPTIONS,
        separated: str = "",
        fingerprint: str | None = None,
    ) -> "Columns":
        """Find the columns of the structure, the name and the properties in a header.

        A title matches exactly, or else regardless of case. If `name` is None, the name column is the first of the
        usual titles that occurs ("id", "Compound ID", "molecule_chembl_id", "Name", …), or None. A column without a
        title is named after its position, starting with "column 1".

        Args:
            source: Name of the file, for errors.
            header: Titles of the columns.
            structure: Title of the structure column.
            name: Title of the name column, or None to look for a usual title.
            options: Command-line options that choose the structure and name columns, for errors.
            separated: Phrase that names the delimiter, appended to the list of columns in errors; may be empty.
            fingerprint: Title of the fingerprint column, if there is one.

        Raises:
            InvalidInput: A column is missing or ambiguous, two columns share a name, or there are more than
                `MAX_COLUMNS`. If a column is missing, the message lists the columns.
        """
        if len(header) > MAX_COLUMNS:
            raise InvalidInput(f"{source} has too many columns", given=len(header), expected=f"at most {MAX_COLUMNS:,}")
        names = tuple(title.strip() or f"column {position}" for position, title in enumerate(header, 1))
        title, occurrences = Counter(names).most_common(1)[0] if names else ("", 0)
        if occurrences > 1:
            raise InvalidInput(
                f"{source} has several columns named {_shorten(title)!r}", expected="distinct column names"
            )
        structure_at = _require_column(source, names, structure, options[0], separated)
        if name is not None:
            name_at: int | None = _require_column(source, names, name, options[1], separated)
        else:
            name_at = _find_name_column(source, names, structure_at, options[1])
        fingerprint_at = (
            None if fingerprint is None else _require_column(source, names, fingerprint, _FINGERPRINT_OPTION, separated)
        )
        used = (structure_at, name_at, fingerprint_at)
        properties = tuple((at, title) for at, title in enumerate(names) if at not in used)
        return cls(names, structure_at, name_at, properties, fingerprint_at)

    def record(self, line: int, cells: Sequence[str | None]) -> Record:
        """Return one row as a record. Empty and null cells do not become properties.

        A row without cells is an empty record.

        Raises:
            ValueError: The row has too many cells, or too few to have a structure. The message is the reason for
                rejecting the record (its fault).
        """
        count = len(cells)
        if count > len(self.names) or 0 < count <= self.structure:
            missing = "" if count > self.structure else f" (no {self.names[self.structure]!r})"
            raise ValueError(f"has {count:,} cells{missing}, the header has {len(self.names):,}")
        if not count:
            return line, "", None, (), (), None
        structure = (cells[self.structure] or "").strip()
        if self.fingerprint is not None:
            structure = join_fingerprint((cells[self.fingerprint] or "") if self.fingerprint < count else "", structure)
        name = cells[self.name] if self.name is not None and self.name < count else None
        keys: list[str] = []
        values: list[str] = []
        for at, title in self.properties:
            if at < count and (value := cells[at]):
                keys.append(title)
                values.append(value)
        return line, structure, (name and name.strip()) or None, keys, values, None


def likely_names(columns: Sequence[str]) -> list[str]:
    """Return the columns that may hold names, judged by their titles."""
    return [name for name in columns if _LIKELY_NAME.search(name)]


def _find_name_column(source: str, names: Sequence[str], structure: int, option: str) -> int | None:
    """Return the position of the column with the most preferred of the usual titles of name columns, or None."""
    normalized = [re.sub(r"[\W_]", "", title.casefold()) for title in names]
    normalized[structure] = ""
    match = next((candidate for candidate in _NAME_TITLES if candidate in normalized), None)
    if match is None:
        return None
    return _find(source, names, names[normalized.index(match)], option)


def _find(source: str, names: Sequence[str], column: str, option: str) -> int | None:
    """Return the position of the column with this name, or else with this name regardless of case, or None.

    Raises:
        InvalidInput: Several names differ from `column` only in case.
    """
    if column in names:
        return names.index(column)
    matches = [at for at, title in enumerate(names) if title.casefold() == column.casefold()]
    if len(matches) > 1:
        raise InvalidInput(
            f"{source} has several columns named {column!r} but for their case",
            given=_shorten(", ".join(names[at] for at in matches)),
            hint=f"choose one with {option}",
        )
    return matches[0] if matches else None


def _require_column(source: str, names: Sequence[str], column: str, option: str, separated: str) -> int:
    """Return the position of a column, as `_find` does, but raise `InvalidInput` if there is none."""
    position = _find(source, names, column, option)
    if position is None:
        similar_name = next((title for title in names if column.casefold() in title.casefold()), None)
        raise InvalidInput(
            f"{source} has no column {column!r}",
            given=column,
            expected=f"one of {_shorten(', '.join(names))}{separated}"
            if names
            else "a header line that names the columns",
            hint=f"name the column with {option}"
            if similar_name is None
            else f"is it {option} {_shorten(similar_name)!r}?",
        )
    return position


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_LIST_LENGTH else f"{text[:_MAX_LIST_LENGTH]}…"
