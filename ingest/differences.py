"""Differing values: values of later records of an item that differ from those of its first record.

The values of the first record are stored, so the later ones are lost. The manifest counts them and lists examples.
"""

from collections import Counter
from collections.abc import Mapping
from itertools import repeat
from typing import Any

import numpy as np
import pyarrow as pa

from graphkin.ingest.values import differing_columns
from graphkin.protocol.manifest import DifferingValue, DifferingValues
from graphkin.store.records import Int64

KEPT = 100
"""Maximum number of differing values that a manifest lists."""

_MAX_TEXT_LENGTH = 200  # texts in the manifest are cut to so many characters
_STRUCTURES = ("smiles", "structure")


class Differences:
    """Counts differing values, and keeps the first of them as examples."""

    def __init__(self) -> None:
        self._counts = Counter[str]()
        self._first: list[tuple[int, str, DifferingValue]] = []

    def add(
        self,
        records: pa.Table,
        columns: Mapping[str, pa.Array],
        first_columns: Mapping[str, pa.Array],
        positions: Int64,
    ) -> None:
        """Compare R records with the first records of their items.

        Args:
            records: The records, with their structures if they have any.
            columns: Texts of the records, by column.
            first_columns: Texts of the first record of the item of each record, by column.
            positions: (R,) positions of the records in the input, by which the examples are sorted.
        """
        structures = next((records[name] for name in _STRUCTURES if name in records.column_names), None)
        first = list[tuple[int, str, int]]()
        for name, differs in differing_columns(first_columns, columns):
            rows = np.flatnonzero(differs)
            self._counts[name] += len(rows)
            kept = rows[np.argsort(positions[rows], kind="stable")][:KEPT]
            first += zip(positions[kept].tolist(), repeat(name), kept.tolist())
        for position, name, row in sorted(first)[:KEPT]:
            cells = structures, first_columns.get(name), columns[name]
            texts = (None if column is None else column[row].as_py() for column in cells)
            structure, before, value = (None if text is None else text[:_MAX_TEXT_LENGTH] for text in texts)
            entry = DifferingValue(structure=structure, property=name, kept=before, value=value or "")
            self._first.append((position, name, entry))
        self._shorten()

    def merge(self, state: Mapping[str, Any]) -> None:
        """Add the counts and examples of another object, whose method `state` returned `state`."""
        self._counts.update(state["counts"])
        self._first += [(position, name, DifferingValue(**entry)) for position, name, entry in state["first"]]
        self._shorten()

    def state(self) -> dict[str, Any]:
        """Return the counts and examples as JSON values."""
        first = [[position, name, entry.model_dump()] for position, name, entry in self._first]
        return {"counts": dict(self._counts), "first": first}

    def _shorten(self) -> None:
        self._first = sorted(self._first, key=lambda entry: entry[:2])[:KEPT]

    def differing(self) -> DifferingValues:
        """Return the counts and examples in the form of the manifest."""
        return DifferingValues(counts=dict(sorted(self._counts.items())), first=[entry for _, _, entry in self._first])


def combine_differing(before: DifferingValues, after: DifferingValues) -> DifferingValues:
    """Return the differing values of earlier records and of later records together."""
    counts = Counter(before.counts) + Counter(after.counts)
    return DifferingValues(counts=dict(sorted(counts.items())), first=[*before.first, *after.first][:KEPT])
