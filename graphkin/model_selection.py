"""Splits without leaks for scikit-learn: no training molecule is similar to a test molecule.

The names and the arguments are those of `sklearn.model_selection`. The extra `sklearn` installs scikit-learn.
"""

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
import pyarrow as pa

from graphkin.ingest.progress_bars import library_progress
from graphkin.library.estimators import read_words
from graphkin.library.leakage import leaking_pairs, most_similar_first
from graphkin.library.pairs import require_threshold, thread_count
from graphkin.library.splits import Split, Splitter
from graphkin.library.table import Table
from graphkin.protocol.errors import InvalidInput, require, require_extra
from graphkin.protocol.values import SplitMethod
from graphkin.store.records import Int64

with require_extra("sklearn", "splits for scikit-learn need"):
    from sklearn.model_selection import BaseCrossValidator
    from sklearn.utils import check_random_state

__all__ = ["SimilarityGroupKFold", "Split", "leaks", "train_test_split"]

_MAX_SEED = 2**32


def train_test_split(
    data: Any,
    *,
    threshold: float,
    test_size: float = 0.2,
    stratify: Any = None,
    random_state: Any = None,
    method: SplitMethod = "components",
    smiles: str | None = None,
) -> Split:
    """Split molecules so that no training molecule has similarity ≥ `threshold` with a test molecule.

    Every pair is compared, so the property is proven, not likely. The similarity is the Tanimoto similarity of Morgan
    fingerprints of radius 2 with 2,048 bits, or of the given fingerprints.

    Both methods first put whole connected components into the test set, in random order, as long as they fit. A split
    depends on the seed and the fingerprints, but neither on their order nor on the number of threads.

    Args:
        data: A list, Series or array of SMILES, RDKit molecules or bit vectors, an (n, bits) array of 0 and 1, packed
            fingerprints (n, bits / 64) uint64, a data frame, a file, or a collection.
        threshold: Smallest similarity that no pair across the split may reach, above 0 and at most 1.
        test_size: Share of the test molecules, above 0 and below 1, rounded up, or their number as an integer.
        stratify: Class of each molecule, as an array, Series or list. Each class gets its share of the test set, as far
            as components allow it, and the report has the numbers of each class. Divide a continuous value into
            classes, as with `pandas.qcut`.
        random_state: Seed, or a `numpy.random.RandomState`. None makes another split at each call.
        method: `components` discards no molecule, and raises where a component is larger than the training set.
            `min-discard` also cuts such components: the test set has exactly the requested size, and the other
            molecules with similarity ≥ `threshold` to it are discarded. It tries several test sets and keeps the one
            with the fewest. For that test set the number is the smallest possible. The smallest over all test sets is
            NP-hard to find, and `report["lower_bound"]` is a number that it cannot go below. The method holds 8 bytes
            per similar pair.
        smiles: Column of a data frame or of a file with the SMILES.

    Returns:
        The split, which unpacks to the positions of the training and the test molecules: `train, test = ...`. Its
            `discarded` has the positions of the others, and its `report` the numbers of the split.

    Raises:
        InvalidInput: If a molecule cannot be read, an argument is out of range, or there is no such split.

    Example:
        ```python
        from graphkin.model_selection import leaks, train_test_split

        train, test = train_test_split(smiles, threshold=0.6, test_size=0.2, random_state=0)  # an array of SMILES
        leaks(smiles[train], smiles[test], 0.6)  # an empty table
        ```
    """
    splitter = _splitter(data, "data", smiles, threshold, random_state)
    return splitter.split(test_size, method, stratify)


def leaks(train: Any, test: Any, threshold: float, *, smiles: str | None = None) -> Table:
    """Return every pair of a training and a test molecule with similarity ≥ `threshold`.

    Args:
        train: The training molecules, in any form that `train_test_split` accepts.
        test: The test molecules. Their fingerprints have the same number of bits.
        threshold: Smallest similarity, above 0 and at most 1.
        smiles: Column of the data frames or files with the SMILES.

    Returns:
        One row per pair, the most similar first: left int32, the position in `train`; right int32, the position in
            `test`; similarity float64. It is empty if nothing leaks. It takes 16 bytes per pair.

    Raises:
        InvalidInput: If a molecule cannot be read, or the threshold is out of range.

    Example:
        ```python
        from graphkin.model_selection import leaks

        leaks(["CC(=O)Oc1ccccc1C(=O)O", "CCO"], ["CC(=O)Oc1ccccc1C(=O)OC"], 0.6).to_pandas()
        ```
    """
    require_threshold(threshold)
    left, right = (read_words(data, smiles, name) for data, name in ((train, "train"), (test, "test")))
    progress = library_progress()
    with progress.stage("compare", len(left), "molecules") as advance:
        pairs = most_similar_first(leaking_pairs(left, right, threshold, thread_count(None), advance))
    return Table(pa.table({name: getattr(pairs, name) for name in ("left", "right", "similarity")}))


class SimilarityGroupKFold(BaseCrossValidator):  # type: ignore[misc] # scikit-learn has no type annotations
    """K folds for cross-validation in which no training molecule is similar to a test molecule.

    It works wherever scikit-learn takes `cv`: `cross_val_score`, `cross_val_predict`, `GridSearchCV`. Every molecule is
    in the test set once.

    Args:
        n_splits: Number of folds, 2 or more.
        threshold: Smallest similarity that no training molecule may have with a test molecule, above 0 and at most 1.
        method: `components` puts whole connected components into folds, which also makes any two folds dissimilar. It
            raises where a component is larger than a training set. `min-discard` makes folds of equal size, and leaves
            the molecules that are similar to the test fold out of the training set of that split. It holds 8 bytes per
            similar pair.
        shuffle: Whether to vary the folds with `random_state`.
        random_state: Seed, or a `numpy.random.RandomState`, used with `shuffle`.
        smiles: Column of a data frame with the SMILES.

    Example:
        ```python
        from sklearn.linear_model import Ridge
        from sklearn.model_selection import cross_val_score
        from graphkin.model_selection import SimilarityGroupKFold

        folds = SimilarityGroupKFold(5, threshold=0.6)
        cross_val_score(Ridge(), features, y, groups=smiles, cv=folds)  # one row of features for each SMILES
        ```
    """

    __metadata_request__split = {"groups": True}  # noqa: RUF012 - declared like this by scikit-learn

    def __init__(
        self,
        n_splits: int = 5,
        *,
        threshold: float = 0.6,
        method: SplitMethod = "components",
        shuffle: bool = False,
        random_state: Any = None,
        smiles: str | None = None,
    ) -> None:
        self.n_splits = n_splits
        self.threshold = threshold
        self.method = method
        self.shuffle = shuffle
        self.random_state = random_state
        self.smiles = smiles

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        """Return the number of splits. The arguments are ignored.

        Args:
            X: Ignored.
            y: Ignored.
            groups: Ignored.

        Returns:
            The number of folds.
        """
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Int64, Int64]]:  # noqa: ARG002
        """Yield the positions of the training and the test molecules of each split.

        Args:
            X: The molecules, in any form that `train_test_split` accepts.
            y: Ignored.
            groups: The molecules, if X holds something else, such as features.

        Yields:
            Positions of the training molecules and of the test molecules, both int64 and ascending.

        Raises:
            InvalidInput: If a molecule cannot be read, an argument is out of range, or a component is too large.
        """
        seed = self.random_state if self.shuffle else 0
        name, data = ("X", X) if groups is None else ("groups", groups)
        try:
            splitter = _splitter(data, name, self.smiles, self.threshold, seed)
        except InvalidInput as error:
            if name == "X" and isinstance(X, np.ndarray) and X.ndim == 2:
                raise InvalidInput(
                    "X does not hold molecules",
                    given=error.given,
                    expected="molecules or fingerprints, as X or as groups",
                    hint="if X holds features, pass the molecules of its rows with groups=",
                ) from error
            raise
        if groups is not None and X is not None:
            samples = X.shape[0] if hasattr(X, "shape") else len(X)
            require(
                samples == len(splitter),
                "number of groups",
                f"{len(splitter):,} molecules for {samples:,} samples",
                "one molecule for each sample",
                hint="pass the molecules of the same rows in the same order with groups=",
            )
        folds = splitter.folds(self.n_splits, self.method)
        for fold in range(self.n_splits):
            is_training = folds != fold if self.method == "components" else splitter.training(folds, fold)
            if not is_training.any():
                raise InvalidInput(
                    "a split has no training molecules, because all are similar to its test fold",
                    given=f"fold {fold} of {self.n_splits} at threshold {self.threshold:g}",
                    expected="training molecules in every split",
                    hint="raise the threshold",
                )
            yield np.flatnonzero(is_training), np.flatnonzero(folds == fold)


def _splitter(data: Any, name: str, smiles: str | None, threshold: float, random_state: Any) -> Splitter:
    """Return the splitter of an argument. `name` is the name of the argument in errors."""
    words = read_words(data, smiles, name)
    return Splitter(words, threshold, _seed(random_state), thread_count(None), library_progress())


def _seed(random_state: Any) -> int:
    """Return the seed that an argument of scikit-learn stands for."""
    if isinstance(random_state, Integral):
        return int(random_state) % _MAX_SEED
    return int(check_random_state(random_state).randint(_MAX_SEED, dtype=np.int64))
