"""Checks of training data that comes from responses, offline folders or epoch files.

NumPy is the only third-party package that this module imports, because a machine that trains offline may lack others.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphkin.protocol.errors import GraphkinError
from graphkin.trainer.features.corpus import BOND_TYPES, DIRECTIONS, MASK, Corpus
from graphkin.trainer.features.feature_sets import FEATURE_SETS
from graphkin.trainer.strategy import Sampling

ErrorFactory = Callable[[str], GraphkinError]
"""Function that makes an error from the description of a problem. The error names the invalid response or file."""

_CHIRALITIES = 3


def require_positives(
    positives: NDArray[Any],
    size: int,
    draws: Sampling,
    make_error: ErrorFactory,
    *,
    anchors: int | None,
    is_sampled: bool,
) -> None:
    """Check the positives of all items: the row of an anchor holds k items, and every other row holds -1.

    Args:
        positives: (size, k) Array to check.
        size: Number of items.
        draws: Requested sampling settings, with a policy.
        make_error: Makes the error for an invalid array.
        anchors: Number of anchors, which are the items with a neighbor; None if unknown.
        is_sampled: Whether all positives come from the similarity graph of one collection, without a second collection
            and without controls (`feed.positives`). If so, each positive must have a neighbor, and an anchor may be
            its own positive only to pad a short list.
    """
    assert draws.policy is not None
    _require_matrix("positives", positives, size, draws.policy.k, make_error)
    if not size:
        return
    _require_range("positive", positives, -1, size, make_error)
    has_positives = positives[:, 0] >= 0
    if len(incomplete := np.flatnonzero(((positives >= 0) != has_positives[:, None]).any(axis=1))):
        raise make_error(
            f"anchor {incomplete[0]} has fewer than {draws.policy.k} positives: {positives[incomplete[0]].tolist()}"
        )
    if anchors is not None and anchors != (count := int(np.count_nonzero(has_positives))):
        raise make_error(f"{count:,} anchors have positives, and {anchors:,} items have a neighbor")
    if is_sampled:
        _require_sampled(positives, has_positives, draws.policy.pad == "self", make_error)


def _require_sampled(
    positives: NDArray[np.int32], has_positives: NDArray[np.bool_], pads_with_anchor: bool, make_error: ErrorFactory
) -> None:
    """Check that all positives have neighbors, and that no anchor is its own positive except as padding."""
    rows = np.flatnonzero(has_positives)
    anchor_positives = positives[rows]
    if len(isolated := np.flatnonzero(~has_positives[anchor_positives].all(axis=1))):
        row = isolated[0]
        raise make_error(f"anchor {rows[row]} has a positive that has no neighbor: {anchor_positives[row].tolist()}")
    # Padding follows the sampled positives, of which there is at least one.
    unpadded = anchor_positives[:, :1] if pads_with_anchor else anchor_positives
    if len(self_positives := np.flatnonzero((unpadded == rows[:, None]).any(axis=1))):
        raise make_error(
            f"anchor {rows[self_positives[0]]} is its own positive: {anchor_positives[self_positives[0]].tolist()}"
        )


def require_negatives(ids: NDArray[Any], size: int, batches: int, count: int, make_error: ErrorFactory) -> None:
    """Check negatives, (batches, count): items from 0 to `size` - 1, distinct within a batch."""
    _require_matrix("negatives", ids, batches, count, make_error)
    _require_range("negative", ids, 0, size, make_error)
    sorted_ids = np.sort(ids, axis=1)
    if len(duplicates := np.flatnonzero((sorted_ids[:, 1:] == sorted_ids[:, :-1]).any(axis=1))):
        raise make_error(f"batch {duplicates[0]} has a negative twice")


def require_linked(ids: NDArray[np.int32], positives: NDArray[np.int32], make_error: ErrorFactory) -> None:
    """Check that all negatives have a neighbor. The items with a neighbor are those that have positives."""
    if positives.shape[1] and not (has_positives := positives[:, 0] >= 0)[ids].all():
        raise make_error(f"negative {ids[~has_positives[ids]][0]} has no neighbor")


def require_pairs(pairs: NDArray[Any], size: int, make_error: ErrorFactory) -> None:
    """Check pairs of items, (P, 2): a < b in each row (a, b), and rows distinct and in ascending order."""
    _require_matrix("pairs", pairs, len(pairs) if pairs.ndim else 0, 2, make_error)
    _require_range("end of a pair", pairs, 0, size, make_error)
    lower, upper = pairs.astype(np.int64).T
    if len(misordered := np.flatnonzero(lower >= upper)):
        raise make_error(f"pair {misordered[0]} does not name the lower item first: {pairs[misordered[0]].tolist()}")
    if len(unsorted := np.flatnonzero(np.diff(lower * size + upper) <= 0)):
        raise make_error(
            f"pair {unsorted[0] + 1} does not come after the pair before it: {pairs[unsorted[0] + 1].tolist()}"
        )


def require_similarities(values: NDArray[Any], lowest: float, make_error: ErrorFactory) -> None:
    """Check that all similarities are numbers from `lowest` to 1."""
    if len(invalid := np.flatnonzero(~((values >= np.float32(lowest)) & (values <= 1)))):
        raise make_error(f"similarity {values[invalid[0]]} of pair {invalid[0]} is not a number from {lowest:g} to 1")


def require_corpus(corpus: Corpus, size: int, make_error: ErrorFactory) -> None:
    """Check the features of `size` graphs: shapes, types, and the ranges of values that `Corpus` documents."""
    if corpus.size != size:
        raise make_error(f"it has the features of {corpus.size:,} items, and the generation has {size:,}")
    for name, column in corpus.columns.items():
        if name != "eigenvectors" and (column.ndim != 1 or not np.issubdtype(column.dtype, np.integer)):
            raise make_error(f"{name} is {column.dtype} of shape {column.shape}, and not a column of integers")
    for name in ("atom_offsets", "edge_offsets"):
        offsets = getattr(corpus, name).astype(np.int64)
        if offsets[0] or (np.diff(offsets) < 0).any():
            raise make_error(f"{name} do not ascend from 0")
    _require_range("atom type", corpus.atom_type, 0, MASK + 1, make_error)
    _require_range("chirality", corpus.chirality, 0, _CHIRALITIES, make_error)
    _require_range("bond", corpus.bond, 0, BOND_TYPES * DIRECTIONS, make_error)
    details = FEATURE_SETS[corpus.features]
    if details.atoms is not None and corpus.atom_details is not None:
        _require_range("code of an atom's details", corpus.atom_details, 0, details.atoms.codes, make_error)
    if details.bonds is not None and corpus.bond_details is not None:
        _require_range("code of a bond's details", corpus.bond_details, 0, details.bonds.codes, make_error)
    _require_graphs(corpus, make_error)
    if corpus.eigenvectors is not None and corpus.centre is not None:
        _require_centered(corpus.eigenvectors, corpus.centre, corpus.atoms, make_error)


def _require_graphs(corpus: Corpus, make_error: ErrorFactory) -> None:
    """Check that bonds join atoms of the same graph, and that each atom has as many outgoing as incoming bonds."""
    owner = np.repeat(np.arange(corpus.size), corpus.edges)
    source = corpus.source.astype(np.int64)
    if len(outside := np.flatnonzero((source < 0) | (source >= corpus.atoms[owner]))):
        item = owner[outside[0]]
        raise make_error(f"item {item} has {corpus.atoms[item]} atoms, and a bond from atom {source[outside[0]]}")
    outgoing = np.bincount(source + corpus.atom_offsets.astype(np.int64)[owner], minlength=len(corpus.degree))
    if len(unbalanced := np.flatnonzero(outgoing != corpus.degree)):
        atom = unbalanced[0]
        raise make_error(f"{outgoing[atom]} bonds leave atom {atom}, and {corpus.degree[atom]} end at it")


def _require_centered(
    eigenvectors: NDArray[Any], center: NDArray[Any], atoms: NDArray[np.int64], make_error: ErrorFactory
) -> None:
    """Check the eigenvectors and the centers of subgraphs around nodes."""
    if eigenvectors.ndim != 2 or eigenvectors.dtype != np.float32:
        raise make_error(
            f"eigenvectors are {eigenvectors.dtype} of shape {eigenvectors.shape}, and not a float32 matrix"
        )
    if not np.isfinite(eigenvectors).all():
        raise make_error("eigenvectors are not finite")
    if len(outside := np.flatnonzero((center.astype(np.int64) < 0) | (center >= atoms))):
        raise make_error(
            f"item {outside[0]} has {atoms[outside[0]]} nodes, and node {center[outside[0]]} as its center"
        )


def _require_matrix(name: str, values: NDArray[Any], rows: int, columns: int, make_error: ErrorFactory) -> None:
    if values.shape != (rows, columns) or values.dtype != np.int32:
        raise make_error(f"{name} are {values.dtype} of shape {values.shape}, and not int32 of shape {(rows, columns)}")


def _require_range(name: str, values: NDArray[Any], low: int, high: int, make_error: ErrorFactory) -> None:
    """Check that low <= value < high for all values."""
    if values.size and (values.min() < low or values.max() >= high):
        invalid = values[(values < low) | (values >= high)][0]
        raise make_error(f"{name} {invalid} is outside {low} to {high - 1}")
