"""Rejections for whoever mends them: a table that any program opens."""

import csv
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from graphkin.store.records import REJECTION_SCHEMA


def saved(rejected: Iterable[pa.RecordBatch], path: Path) -> str:
    """Write the rejections as CSV and say where they are."""
    try:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(REJECTION_SCHEMA.names)
            for batch in rejected:
                writer.writerows(zip(*(column.to_pylist() for column in batch.columns), strict=True))
    except OSError as error:
        return f"they could not be saved in {path} ({error.strerror})"
    return f"they are listed in {path}"
