"""Input of the modules for scikit-learn."""

from typing import Any

from graphkin.library.inputs import read_fingerprints
from graphkin.protocol.errors import InvalidInput, require
from graphkin.store.records import UInt64

_NAMED = 10  # positions that an error names


def read_words(data: Any, smiles: str | None, name: str, workers: int | None = None) -> UInt64:
    """Return the packed fingerprints of molecules, (n, W) uint64.

    Args:
        data: The molecules or fingerprints, as `read_fingerprints` accepts them.
        smiles: Name of the column with SMILES, for tables.
        name: Name of the argument with the data, for errors.
        workers: Number of worker processes for many records. The default is the number of cores.

    Raises:
        InvalidInput: A record cannot be read.
    """
    fingerprints = read_fingerprints(data, smiles=smiles, workers=workers)
    if len(fingerprints.rejected):
        positions = ", ".join(map(str, fingerprints.rejected[:_NAMED].tolist()))
        more = ", …" if len(fingerprints.rejected) > _NAMED else ""
        raise InvalidInput(
            f"{len(fingerprints.rejected):,} of {len(fingerprints.words):,} molecules of `{name}` cannot be read",
            given=f"positions {positions}{more}; the first: {fingerprints.reasons[0]}",
            expected="molecules that RDKit reads",
            hint="remove these positions first, or correct them",
        )
    return fingerprints.words


def read_samples(X: Any, smiles: str | None, threads: int | None) -> UInt64:
    """Return the packed fingerprints of the argument X of an estimator, as `read_words` does.

    Raises:
        InvalidInput: A record cannot be read, or there is none.
    """
    words = read_words(X, smiles, "X", threads)
    require(len(words) > 0, "X", "no molecules", "one molecule or more", hint="pass molecules or fingerprints")
    return words
