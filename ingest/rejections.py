"""Rejected records as a CSV file, which a user can edit in any program."""

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from graphkin.export.cells import csv_rows
from graphkin.store.records import REJECTION_SCHEMA


def save_rejections(rejected: Iterable[pa.RecordBatch], path: Path) -> str:
    """Write the rejections as CSV, and return a phrase for the user that names the file or the error."""
    try:
        with path.open("wb") as file:
            file.write(csv_rows([REJECTION_SCHEMA.names]))
            for batch in rejected:
                file.write(csv_rows(zip(*(column.to_pylist() for column in batch.columns), strict=True)))
    except OSError as error:
        return f"they could not be saved in {path} ({error.strerror})"
    return f"they are listed in {path}"
