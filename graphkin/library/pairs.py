"""The similarity join as a library function, for data that is not stored."""

import os
import warnings
from collections import deque
from numbers import Integral, Real
from typing import Any, overload

import numpy as np
import pyarrow as pa

from graphkin.ingest.progress import Progress, report_compilation
from graphkin.ingest.progress_bars import library_progress
from graphkin.library.inputs import FingerprintSet, read_fingerprints
from graphkin.library.table import Table
from graphkin.protocol.errors import InvalidInput, require
from graphkin.similarity.join import Join, Pairs, SelfJoin, TwoSetJoin
from graphkin.similarity.molecules.recipe import FingerprintName, FingerprintRecipe, MoleculeRecipe, resolve_flat
from graphkin.similarity.packed import MAX_JOINED_WORDS
from graphkin.similarity.planes import BitPlanes
from graphkin.store.records import UInt64

_MAX_FINGERPRINTS = 2**31 - 1


@overload
def similar_pairs(
    a: Any,
    threshold: float,
    *,
    smiles: str | None = None,
    fingerprint: FingerprintName | None = None,
    radius: int | None = None,
    bits: int | None = None,
    chirality: bool | None = None,
    threads: int | None = None,
) -> Table: ...


@overload
def similar_pairs(
    a: Any,
    b: Any,
    threshold: float,
    *,
    smiles: str | None = None,
    fingerprint: FingerprintName | None = None,
    radius: int | None = None,
    bits: int | None = None,
    chirality: bool | None = None,
    threads: int | None = None,
) -> Table: ...


def similar_pairs(  # type: ignore[misc]  # mypy does not see that `threshold` may be the second or the third argument
    a: Any,
    b: Any = None,
    threshold: float | None = None,
    *,
    smiles: str | None = None,
    fingerprint: FingerprintName | None = None,
    radius: int | None = None,
    bits: int | None = None,
    chirality: bool | None = None,
    threads: int | None = None,
) -> Table:
    """Return every pair with Tanimoto similarity ≥ `threshold`, within one set or across two sets.

    `similar_pairs(a, 0.7)` compares all pairs of records of `a`. `similar_pairs(a, b, 0.7)` compares each record of `a`
    with each record of `b`.

    The join is exact: no pair is missed. The result takes 16 bytes per pair, and sorting it needs 40 bytes per pair
    in total. Progress bars are shown in notebooks and on terminals. Records that cannot be read are in no pair, and a
    warning says how many there are.

    Args:
        a: Molecules or fingerprints: a list, Series or array of SMILES, RDKit molecules, RDKit bit vectors, an
            (n, bits) array of 0 and 1, an (n, bits / 64) uint64 array of packed bits, a sparse matrix of SciPy, a data
            frame or an Arrow table with a column of SMILES, a file or a list of files, or a collection. A fingerprint
            has at most 65,472 bits.
        b: The second set, with fingerprints of the same length.
        threshold: Smallest similarity, above 0 and at most 1.
        smiles: Name of the column with SMILES, for tables. The default is "smiles".
        fingerprint: Name of the fingerprint of molecules, as in `graphkin ingest molecules`. The default is "morgan".
            Stored and precomputed fingerprints are compared as they are.
        radius: Radius of Morgan fingerprints. The default is 2.
        bits: Length of the fingerprints of molecules. The default is 2048.
        chirality: Whether the fingerprints of molecules include chirality. The default is False.
        threads: Number of threads, which does not change the result. The default is the number of cores.

    Returns:
        One row per pair, ordered by left, then right: left int32 and right int32, the positions of the two records, and
        similarity float64, the number of common bits divided by the number of bits in either. With one set, right >
        left. With two sets, left is a position in `a` and right one in `b`. A fingerprint without bits is in no pair.

    Raises:
        InvalidInput: If a set cannot be read, the lengths of the fingerprints differ, or the threshold is out of range.

    Example:
        ```python
        graphkin.similar_pairs(bit_vectors, 0.5)
        bits = numpy.random.default_rng(0).random((1000, 256)) < 0.3
        graphkin.similar_pairs(bits, 0.5)
        graphkin.similar_pairs(["CCO", "CCN"], ["OCC", "CCCO"], 0.4)
        ```
    """
    if threshold is None:
        b, threshold = None, b
    similarity = require_threshold(threshold)
    count = thread_count(threads)
    recipe = resolve_flat(fingerprint=fingerprint, radius=radius, bits=bits, chirality=chirality).fingerprint
    progress = library_progress()
    first = _read(a, "a", smiles, recipe, count, progress)
    join: Join
    if b is None:
        join = SelfJoin(first.words, similarity)
    else:
        left, right = comparable_words(first, _read(b, "b", smiles, recipe, count, progress))
        join = TwoSetJoin(left, similarity, BitPlanes.from_words(right))
    compile_join(progress)
    with progress.stage("join", len(first), "fingerprints") as advance:
        pairs = Pairs.concatenate([*join.pairs(0, count, advance)])
    order = np.lexsort((pairs.right, pairs.left))
    columns = {name: pa.array(getattr(pairs, name)[order]) for name in ("left", "right", "similarity")}
    return Table(pa.table(columns))


def require_threshold(threshold: Any) -> float:
    """Return the threshold. Raises `InvalidInput` unless it is a number above 0 and at most 1."""
    is_number = isinstance(threshold, Real)
    require(
        is_number and 0 < threshold <= 1,
        "threshold",
        threshold if is_number else f"an object of type {type(threshold).__name__}",
        "a similarity above 0, at most 1",
        hint="use a threshold such as 0.7",
    )
    return float(threshold)


def thread_count(threads: int | None) -> int:
    """Return the number of threads, by default that of the cores. Raises `InvalidInput` if it is below 1."""
    require(
        threads is None or (isinstance(threads, Integral) and threads > 0),
        "number of threads",
        threads,
        "1 or more",
        hint="leave threads out to use all cores",
    )
    return threads or os.cpu_count() or 1


def compile_join(progress: Progress) -> None:
    """Compile the kernels of the join, so that a progress bar measures only the join."""
    with report_compilation(progress):
        deque(SelfJoin(np.ones((2, 1), np.uint64), 1.0).pairs(), maxlen=0)


def comparable_words(a: FingerprintSet, b: FingerprintSet) -> tuple[UInt64, UInt64]:
    """Return the packed fingerprints of two sets as arrays with the same number of columns.

    Raises:
        InvalidInput: Both sets have fingerprints, of different types or lengths.
    """
    both = {a.type, b.type}
    is_same = a.type.bits == b.type.bits and (len(both) == 1 or any(not each.name for each in both))
    if len(a) and len(b) and not is_same:
        raise InvalidInput(
            "the fingerprints of the two sets cannot be compared",
            given=" and ".join(f"{each.name or 'fingerprints'} ({each.bits:,} bits)" for each in (a.type, b.type)),
            expected="fingerprints of one type and length",
            hint="compute both with the same options",
        )
    width = (a if len(a) else b).words.shape[1]
    left, right = (each.words if len(each) else np.empty((0, width), np.uint64) for each in (a, b))
    return left, right


def read_set(
    data: Any,
    name: str,
    smiles: str | None,
    recipe: FingerprintRecipe | MoleculeRecipe,
    workers: int,
    progress: Progress,
) -> FingerprintSet:
    """Return the fingerprints of some data; the other arguments are those of `read_fingerprints`.

    Args:
        data: The data.
        name: Name of the set in errors.
        smiles: Name of the column with SMILES.
        recipe: The fingerprint of molecules.
        workers: Number of worker processes.
        progress: Receives the number of records.

    Raises:
        InvalidInput: No record can be read, or the number or the length of the fingerprints exceeds the limits.
    """
    with progress.stage(f"read {name}", None, "records") as advance:
        fingerprints = read_fingerprints(data, smiles=smiles, recipe=recipe, workers=workers, advance=advance)
    if len(fingerprints) == len(fingerprints.rejected) > 0:
        raise InvalidInput(
            f"no record of {name} can be read",
            given=f"record 0: {fingerprints.reasons[0]}",
            expected="molecules or fingerprints",
            hint="check the format of the structures and the column that holds them",
        )
    shape = fingerprints.words.shape
    require(
        shape[0] <= _MAX_FINGERPRINTS and shape[1] <= MAX_JOINED_WORDS,
        "array of fingerprints",
        shape,
        f"at most {_MAX_FINGERPRINTS:,} fingerprints with at most {64 * MAX_JOINED_WORDS:,} bits each",
        hint="split the fingerprints into several arrays, or build a collection with `graphkin ingest fingerprints`",
    )
    return fingerprints


def _read(
    data: Any, name: str, smiles: str | None, recipe: FingerprintRecipe, workers: int, progress: Progress
) -> FingerprintSet:
    """Return the fingerprints of an argument of `similar_pairs`. Issues a warning if some records cannot be read."""
    fingerprints = read_set(data, name, smiles, recipe, workers, progress)
    if len(fingerprints.rejected):
        warnings.warn(
            f"{len(fingerprints.rejected):,} of {len(fingerprints):,} records of {name} cannot be read and are in no "
            f"pair; the first is record {fingerprints.rejected[0]}: {fingerprints.reasons[0]}",
            stacklevel=3,
        )
    return fingerprints
