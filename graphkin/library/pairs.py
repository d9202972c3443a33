"""The join as a library: every pair of fingerprints that is similar enough, whoever made them."""

import os
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graphkin.ingest.progress import compiling
from graphkin.ingest.progress_bars import library_progress
from graphkin.library.table import Table
from graphkin.protocol.errors import InvalidInput, require
from graphkin.store.records import UInt64

BitVectors: TypeAlias = Sequence[Any]  # of rdkit.DataStructs.ExplicitBitVect, which ships no type information

_MOST_BITS = 65_472  # of a fingerprint: the kernels number bits by sixteen bits
_MOST = 2**31 - 1  # fingerprints


def similar_pairs(
    fingerprints: NDArray[np.uint64] | BitVectors, threshold: float, *, threads: int | None = None
) -> Table:
    """Every pair of fingerprints with Tanimoto similarity ≥ threshold, exactly; none is missed.

    fingerprints  RDKit bit vectors of one length, or packed bits, (n, bits / 64) uint64; of at most 65,472 bits.
    threshold     in (0, 1].
    threads       by default as many as there are cores. The answer does not depend on them.

    Columns: left < right int32, rows of the input; similarity float64, common / union. Sorted by left, then right; an
    empty fingerprint is similar to none. All pairs are held in memory, 16 bytes each and as much again to sort them.
    Raises `InvalidInput` for anything else. Shows progress in a notebook or on a terminal.
    """
    from graphkin.similarity.join import Pairs
    from graphkin.similarity.join import similar_pairs as join

    require(0 < threshold <= 1, "threshold", threshold, "a similarity above 0, at most 1")
    require(threads is None or threads > 0, "number of threads", threads, "1 or more")
    words = _words(fingerprints)
    progress = library_progress()
    with compiling(progress):
        Pairs.concatenate([*join(words[:2], threshold, 1)])
    with progress.stage("join", len(words), "fingerprints") as advance:
        found = Pairs.concatenate([*join(words, threshold, threads or os.cpu_count() or 1, advance)])
    order = np.lexsort((found.right, found.left))
    columns = {name: pa.array(getattr(found, name)[order]) for name in ("left", "right", "similarity")}
    return Table(pa.table(columns))


def _words(fingerprints: NDArray[np.uint64] | BitVectors) -> UInt64:
    """As (n, W) uint64."""
    if not isinstance(fingerprints, np.ndarray):
        from graphkin.similarity.molecules.fingerprints import pack

        return _bounded(pack(fingerprints)) if len(fingerprints) else np.empty((0, 1), np.uint64)
    if fingerprints.dtype != np.uint64 or fingerprints.ndim != 2 or not fingerprints.shape[1]:
        raise InvalidInput(
            "not packed fingerprints",
            given=f"{fingerprints.dtype} {fingerprints.shape}",
            expected="uint64 (n, bits / 64), or a list of RDKit bit vectors",
            hint='of rows of 0 and 1: numpy.packbits(rows, axis=1, bitorder="little").view("uint64")',
        )
    return _bounded(np.ascontiguousarray(fingerprints))


def _bounded(words: UInt64) -> UInt64:
    fits = len(words) <= _MOST and 64 * words.shape[1] <= _MOST_BITS
    require(fits, "array of fingerprints", words.shape, f"at most {_MOST:,} of at most {_MOST_BITS:,} bits")
    return words
