"""The similarity join as a library function, for fingerprints that are not stored."""

import os
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graphkin.ingest.progress import report_compilation
from graphkin.ingest.progress_bars import library_progress
from graphkin.library.table import Table
from graphkin.protocol.errors import InvalidInput, require
from graphkin.store.records import UInt64

BitVectors: TypeAlias = Sequence[Any]  # rdkit.DataStructs.ExplicitBitVect, which has no type information

_MAX_BITS = 65_472  # per fingerprint: the kernels store bit numbers in 16 bits
_MAX_FINGERPRINTS = 2**31 - 1


def similar_pairs(
    fingerprints: NDArray[np.uint64] | BitVectors, threshold: float, *, threads: int | None = None
) -> Table:
    """Return every pair of fingerprints with Tanimoto similarity ≥ `threshold`.

    The join is exact: no pair is missed. The result takes 16 bytes per pair, and sorting it needs 40 bytes per pair
    in total. Progress bars are shown in notebooks and on terminals.

    Args:
        fingerprints: RDKit bit vectors of one length, or packed bits as an (n, bits / 64) uint64 array. A fingerprint
            has at most 65,472 bits.
        threshold: Smallest similarity, above 0 and at most 1.
        threads: Number of threads, which does not change the result. The default is the number of cores.

    Returns:
        One row per pair, ordered by left, then right: left int32 and right int32 > left, the positions of the two
        fingerprints in the input; similarity float64, the number of common bits divided by the number of bits in
        either. A fingerprint without bits is in no pair.

    Raises:
        InvalidInput: If the input is not an array of fingerprints, or the threshold is out of range.

    Example:
        ```python
        graphkin.similar_pairs(bit_vectors, 0.5)
        bits = numpy.random.default_rng(0).random((1000, 256)) < 0.3
        graphkin.similar_pairs(numpy.packbits(bits, axis=1, bitorder="little").view("uint64"), 0.5)
        ```
    """
    from graphkin.similarity.join import Pairs
    from graphkin.similarity.join import similar_pairs as join

    require(
        0 < threshold <= 1,
        "threshold",
        threshold,
        "a similarity above 0, at most 1",
        hint="pass a threshold such as 0.4",
    )
    require(
        threads is None or threads > 0,
        "number of threads",
        threads,
        "1 or more",
        hint="leave threads out to use all cores",
    )
    packed = _pack(fingerprints)
    progress = library_progress()
    with report_compilation(progress):  # so that the bar of the join measures only the join
        Pairs.concatenate([*join(packed[:2], threshold, 1)])
    with progress.stage("join", len(packed), "fingerprints") as advance:
        pairs = Pairs.concatenate([*join(packed, threshold, threads or os.cpu_count() or 1, advance)])
    order = np.lexsort((pairs.right, pairs.left))
    columns = {name: pa.array(getattr(pairs, name)[order]) for name in ("left", "right", "similarity")}
    return Table(pa.table(columns))


def _pack(fingerprints: NDArray[np.uint64] | BitVectors) -> UInt64:
    """Return fingerprints as packed bits, (n, words) uint64.

    Raises:
        InvalidInput: The input is not an array of fingerprints, or exceeds the limits of the join.
    """
    if not isinstance(fingerprints, np.ndarray):
        from graphkin.similarity.molecules.fingerprints import pack

        return _require_size(pack(fingerprints)) if len(fingerprints) else np.empty((0, 1), np.uint64)
    if fingerprints.dtype != np.uint64 or fingerprints.ndim != 2 or not fingerprints.shape[1]:
        raise InvalidInput(
            "this is not an array of packed fingerprints",
            given=f"an array of {fingerprints.dtype} with shape {fingerprints.shape}",
            expected="an array of uint64 with shape (n, bits / 64), or a list of RDKit bit vectors",
            hint='pack rows of 0 and 1 with numpy.packbits(rows, axis=1, bitorder="little").view("uint64")',
        )
    return _require_size(np.ascontiguousarray(fingerprints))


def _require_size(packed: UInt64) -> UInt64:
    """Return the fingerprints unchanged. Raises `InvalidInput` if their number or length exceeds the limits."""
    fits = len(packed) <= _MAX_FINGERPRINTS and 64 * packed.shape[1] <= _MAX_BITS
    require(
        fits,
        "array of fingerprints",
        packed.shape,
        f"at most {_MAX_FINGERPRINTS:,} fingerprints with at most {_MAX_BITS:,} bits each",
        hint="split the fingerprints into several arrays, or build a collection with `graphkin ingest fingerprints`",
    )
    return packed
