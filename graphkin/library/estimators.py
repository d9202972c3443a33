"""Checks that the estimators for scikit-learn have in common."""

import os
from typing import Any

from graphkin.library.inputs import read_fingerprints
from graphkin.protocol.errors import InvalidInput, require
from graphkin.store.records import UInt64

_NAMED = 10  # positions that an error names


def read_words(data: Any, smiles: str | None, threads: int | None) -> UInt64:
    """Return the packed fingerprints of molecules, (n, W) uint64.

    Args:
        data: The molecules or fingerprints, as `read_fingerprints` accepts them.
        smiles: Name of the column with SMILES, for tables.
        threads: Number of worker processes for many records.

    Raises:
        InvalidInput: A record cannot be read, or there is none.
    """
    fingerprints = read_fingerprints(data, smiles=smiles, workers=threads)
    if len(fingerprints.rejected):
        positions = ", ".join(map(str, fingerprints.rejected[:_NAMED].tolist()))
        more = ", …" if len(fingerprints.rejected) > _NAMED else ""
        raise InvalidInput(
            f"{len(fingerprints.rejected):,} of {len(fingerprints.words):,} records cannot be read",
            given=f"positions {positions}{more}; the first: {fingerprints.reasons[0]}",
            expected="molecules that RDKit reads",
            hint="remove these positions first, or correct them",
        )
    require(len(fingerprints) > 0, "data", "no records", "one record or more", hint="pass molecules or fingerprints")
    return fingerprints.words


def require_threshold(threshold: float) -> None:
    """Check a similarity threshold.

    Raises:
        InvalidInput: It is not above 0 and at most 1.
    """
    require(
        0 < threshold <= 1,
        "threshold",
        threshold,
        "a similarity above 0, at most 1",
        hint="pass a threshold such as 0.6",
    )


def thread_count(threads: int | None) -> int:
    """Return the number of threads, by default that of the cores.

    Raises:
        InvalidInput: It is not positive.
    """
    require(
        threads is None or threads > 0,
        "number of threads",
        threads,
        "1 or more",
        hint="leave threads out to use all cores",
    )
    return threads or os.cpu_count() or 1
