"""Reader of CSV files of molecules."""

import bz2
import csv
import gzip
import hashlib
import lzma
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TextIO

from graphkin.protocol.errors import Damaged, InvalidInput, NotFound
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.featurize import featurize_readable

_SMILES_COLUMNS = ("smiles", "mol")
_DELIMITERS = ",;\t|"
_COMPRESSED: dict[str, Callable[..., TextIO]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


class Rejection(NamedTuple):
    """A rejected record of a file.

    Attributes:
        line: Number of the line on which it ends. The header is line 1.
        smiles: Its SMILES; empty if the record has a wrong number of fields.
        reason: Reason for the rejection.
    """

    line: int
    smiles: str
    reason: str


_Record = tuple[int, list[str]]  # line number and fields


@dataclass(frozen=True, eq=False)
class MoleculeFile:
    """N molecules that RDKit can read, in the order of the file.

    Attributes:
        corpus: Features. `corpus.identity` is the SHA-256 of the file.
        smiles: (N,) SMILES as in the file.
        others: Names of the columns other than SMILES.
        rejected: Rejected records.
    """

    corpus: Corpus
    smiles: tuple[str, ...]
    others: tuple[str, ...]
    rejected: tuple[Rejection, ...]
    _header: tuple[str, ...]
    _records: tuple[_Record, ...]

    def cells(self, column: str) -> list[str]:
        """Return the cells of a column, (N,).

        Raises:
            InvalidInput: There is no column of this name.
        """
        index = _column_index(self._header, column)
        return [fields[index] for _, fields in self._records]

    def line(self, row: int) -> int:
        """Return the number of the line on which the record of a molecule ends."""
        return self._records[row][0]


def read_molecules(
    path: Path, smiles_column: str | None = None, workers: int = 1, features: str = "hu"
) -> MoleculeFile:
    """Read the molecules of a CSV file with a header, plain or compressed (`.gz`, `.bz2`, `.xz`).

    The delimiter is the comma, semicolon, tab or pipe that is most frequent in the header.

    Args:
        path: The file.
        smiles_column: Column of SMILES; by default `smiles` or `mol`, in upper or lower case.
        workers: Number of worker processes that featurize.
        features: Name of the set of features.

    Raises:
        NotFound: There is no such file.
        InvalidInput: The column is missing, or no molecule can be read.
        Damaged: The file is not text in UTF-8, or is not compressed as its name says.
    """
    header, records, rejected = _read_records(path)
    smiles_index = _column_index(header, smiles_column or _smiles_column(header))
    smiles = [fields[smiles_index] for _, fields in records]
    corpus, rows = featurize_readable(smiles, _digest(path), workers, features)
    readable = set(rows.tolist())
    rejected += [
        Rejection(records[row][0], smiles[row], "no molecule with atoms that RDKit reads")
        for row in range(len(records))
        if row not in readable
    ]
    if not readable:
        raise InvalidInput(
            "no molecule of the file can be read",
            given=str(path),
            expected=f"SMILES in column {header[smiles_index]}",
            hint="check the column, or name another one with --smiles-column",
        )
    return MoleculeFile(
        corpus,
        tuple(smiles[row] for row in rows),
        tuple(name for index, name in enumerate(header) if index != smiles_index),
        tuple(sorted(rejected)),
        tuple(header),
        tuple(records[row] for row in rows),
    )


def _read_records(path: Path) -> tuple[list[str], list[_Record], list[Rejection]]:
    """Return the header, the records with as many fields as the header, and the rejected other records."""
    try:
        with _open(path) as file:
            header_line = file.readline()
            file.seek(0)
            reader = csv.reader(file, delimiter=max(_DELIMITERS, key=header_line.count))
            header = next(reader, [])
            records = [(reader.line_num, fields) for fields in reader if fields]
    except FileNotFoundError as error:
        raise NotFound(
            "the file does not exist", given=str(path), expected="the path of a CSV file", hint="check the path"
        ) from error
    except (OSError, EOFError, UnicodeDecodeError, csv.Error, lzma.LZMAError) as error:
        raise Damaged(
            f"the file cannot be read: {error}",
            given=str(path),
            expected="CSV in UTF-8",
            hint="check the format of the file, or copy it again",
        ) from error
    ragged = [
        Rejection(line, "", f"{len(fields)} fields where the header has {len(header)}")
        for line, fields in records
        if len(fields) != len(header)
    ]
    return header, [record for record in records if len(record[1]) == len(header)], ragged


def _open(path: Path) -> TextIO:
    file: TextIO = _COMPRESSED.get(path.suffix, open)(path, "rt", encoding="utf-8-sig", newline="")
    return file


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _smiles_column(header: Sequence[str]) -> str:
    matches = (name for standard in _SMILES_COLUMNS for name in header if name.lower() == standard)
    return next(matches, _SMILES_COLUMNS[0])


def _column_index(header: Sequence[str], name: str) -> int:
    if name not in header:
        raise InvalidInput(
            f"the file has no column {name!r}",
            given=name,
            expected=f"one of {', '.join(header)}",
            hint="choose one of the columns",
        )
    return header.index(name)
