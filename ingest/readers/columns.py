"""Columns of a table: the structure, the name, the fingerprint and the properties of each row."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from graphkin.ingest.readers.records import Record
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.parameters import parameter
from graphkin.similarity.molecules.fingerprint_text import join_fingerprint

MAX_COLUMNS = 10_000

Delimiter: TypeAlias = Literal["comma", "tab", "semicolon", "pipe", "space"]
"""Name of the character that separates the cells of a text table."""

Decimal: TypeAlias = Literal[".", ","]
"""Character between the whole and the fractional part of a number."""

Options: TypeAlias = tuple[str, str]
"""Command-line options that choose the column of the structure and that of the name, for error messages."""

OPTIONS: Options = ("--smiles-column", "--name-column")
_FINGERPRINT_OPTION = "--fingerprint-column"

_DECIMAL_COMMA = re.compile(r"([<>=≤≥~]*\s*[+-]?\d*),(\d+([eE][+-]?\d+)?)")
"""A number with a decimal comma. It may be censored."""

_MAX_LIST_LENGTH = 500  # characters of column names in an error message

_NAME_TITLES = (
    "id", "compoundid", "moleculeid", "molid", "chemblid", "moleculechemblid", "zincid", "idnumber", "compoundname",
    "moleculename", "name", "compoundcode", "code", "cmpdid", "cid", "sampleid", "substanceid", "structureid",
    "identifier", "compound", "cmpd", "casnumber", "casno", "casrn", "cas", "catalognumber", "catalogno", "drugname",
)  # fmt: skip
"""Titles of name columns, in lower case without spaces and punctuation, the preferred title first."""

_LIKELY_NAME = re.compile(r"(?<![a-zA-Z])(?i:ids?|identifier|names?|code|number|no)(?![a-zA-Z])|(?<=[a-z])I[Dd]$")
"""Titles that suggest a name column: with a word such as "name", "code" or "no", or ending like "SampleID"."""


@dataclass(frozen=True)
class Columns:
    """The columns of a table by their role. A position is the index of a column.

    Attributes:
        names: Names of all columns.
        structure: Position of the structure column.
        name: Position of the name column, or None.
        properties: Position and name of each other column.
        fingerprint: Position of the fingerprint column, or None. The fingerprint and the structure together are the
            text of a record (`join_fingerprint`).
        decimal: Decimal separator of numbers.
    """

    names: tuple[str, ...]
    structure: int
    name: int | None
    properties: tuple[tuple[int, str], ...]
    fingerprint: int | None = None
    decimal: Decimal = "."

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
        properties: Sequence[str] | None = None,
        decimal: Decimal = ".",
    ) -> "Columns":
        """Find the columns in a header.

        A column with exactly the title is preferred to one whose title differs in case. If `name` is None, the first of
        the usual titles of names that occurs is used, such as "id", "Compound ID", "Name", "Code" or "Compound". A
        column without a title gets the name "column N", counted from 1.

        Args:
            source: Name of the file, for errors.
            header: Titles of the columns.
            structure: Title of the structure column.
            name: Title of the name column; None to look for a usual title.
            options: Command-line options that choose the structure and name columns, for errors.
            separated: Phrase that names the delimiter, which errors append to the list of columns.
            fingerprint: Title of the fingerprint column, or None.
            properties: Titles of the columns that become properties; None for all other columns.
            decimal: Decimal separator of numbers.

        Raises:
            InvalidInput: A column is missing or ambiguous, two columns have the same name, or there are more than
                `MAX_COLUMNS` columns. If a column is missing, the error lists the columns.
        """
        if len(header) > MAX_COLUMNS:
            raise InvalidInput(
                f"{source} has too many columns",
                given=len(header),
                expected=f"at most {MAX_COLUMNS:,}",
                hint="remove the columns that you do not need",
            )
        names = column_names(header)
        title, occurrences = Counter(names).most_common(1)[0] if names else ("", 0)
        if occurrences > 1:
            raise InvalidInput(
                f"{source} has several columns with the same name",
                given=_shorten(title),
                expected="distinct column names",
                hint="rename the columns, so that each name occurs once",
            )
        structure_position = _require_column(source, names, structure, options[0], separated)
        if name is not None:
            name_position: int | None = _require_column(source, names, name, options[1], separated)
        else:
            name_position = _find_name_column(source, names, structure_position, options[1])
        fingerprint_position = (
            None if fingerprint is None else _require_column(source, names, fingerprint, _FINGERPRINT_OPTION, separated)
        )
        used = (structure_position, name_position, fingerprint_position)
        positions = (
            range(len(names))
            if properties is None
            else [_require_column(source, names, title, "--properties", separated) for title in properties]
        )
        kept = tuple((position, names[position]) for position in dict.fromkeys(positions) if position not in used)
        return cls(names, structure_position, name_position, kept, fingerprint_position, decimal)

    def record(self, line: int, cells: Sequence[str | None]) -> Record:
        """Return one row as a record. Empty and null cells do not become properties.

        Args:
            line: Line of the row.
            cells: The cells. Without cells, the result is an empty record.

        Raises:
            ValueError: The row has too many cells, or so few that it has no structure. The message is the fault of the
                record.
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
        for position, title in self.properties:
            if position < count and (value := cells[position]):
                keys.append(title)
                values.append(value if self.decimal == "." else _with_point(value))
        return line, structure, (name and name.strip()) or None, keys, values, None


def column_names(header: Sequence[str]) -> tuple[str, ...]:
    """Return the names of columns. A column without a title is named "column N", counted from 1."""
    return tuple(title.strip() or f"column {position}" for position, title in enumerate(header, 1))


def has_decimal_comma(value: str) -> bool:
    """Return whether a text is a number with a decimal comma."""
    return _DECIMAL_COMMA.fullmatch(value.strip()) is not None


def _with_point(value: str) -> str:
    """Return a number with a decimal comma with a point instead, and any other text unchanged."""
    match = _DECIMAL_COMMA.fullmatch(value.strip())
    return value if match is None else f"{match[1]}.{match[2]}"


def likely_names(columns: Sequence[str]) -> list[str]:
    """Return the columns whose titles suggest that they hold names."""
    return [name for name in columns if _LIKELY_NAME.search(name)]


def _find_name_column(source: str, names: Sequence[str], structure: int, option: str) -> int | None:
    """Return the position of the column with the most preferred of the usual titles, or None."""
    normalized = [re.sub(r"[\W_]", "", title.casefold()) for title in names]
    normalized[structure] = ""
    match = next((candidate for candidate in _NAME_TITLES if candidate in normalized), None)
    if match is None:
        return None
    return _find(source, names, names[normalized.index(match)], option)


def _find(source: str, names: Sequence[str], column: str, option: str) -> int | None:
    """Return the position of the column with this name, if need be regardless of case, or None.

    Raises:
        InvalidInput: Several names differ from `column` only in case.
    """
    if column in names:
        return names.index(column)
    matches = [position for position, title in enumerate(names) if title.casefold() == column.casefold()]
    if len(matches) > 1:
        raise InvalidInput(
            f"{source} has several columns that match {column!r} in another case",
            given=column,
            expected=f"one of {_shorten(', '.join(names[position] for position in matches))}",
            hint=f"name the column exactly with {parameter(option)}",
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
            hint=f"name the column with {parameter(option)}"
            if similar_name is None
            else f"did you mean {parameter(option, _shorten(similar_name))}?",
        )
    return position


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_LIST_LENGTH else f"{text[:_MAX_LIST_LENGTH]}…"
