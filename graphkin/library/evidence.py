"""Similarity of labeled molecules: the clusters that a split keeps whole, and the evidence for a prediction.

The evidence for a prediction are the most similar molecules that the model was trained on, with their measured values,
and the most similar items of a collection.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa
from rdkit import Chem, rdBase

from graphkin.collection.open_collection import OpenCollection
from graphkin.protocol.errors import Conflict
from graphkin.runtime.workers.chunks import map_chunks
from graphkin.similarity.columns import fixed_width_array
from graphkin.similarity.hits import Matches
from graphkin.similarity.molecules.fingerprints import Fingerprinter
from graphkin.similarity.molecules.recipe import resolve
from graphkin.similarity.nearest import FingerprintIndex
from graphkin.store.records import Int32, UInt64

_RECIPE = resolve()
_BLOCK = 4096  # molecules handed to a process at a time

FINGERPRINT = _RECIPE.fingerprint.type
"""Type of the fingerprints that `compute_fingerprints` returns, in the notation of chemfp."""


def compute_fingerprints(smiles: Sequence[str]) -> UInt64:
    """Return the packed Morgan fingerprints (radius 2, 2048 bits) of molecules, (N, 32) uint64.

    These are the default fingerprints of `graphkin ingest molecules`. RDKit must be able to read all SMILES.
    """
    blocks = [smiles[start : start + _BLOCK] for start in range(0, len(smiles), _BLOCK)]
    workers = min(os.cpu_count() or 1, len(blocks))
    parts: Iterator[bytes] = (
        map_chunks(_fingerprint_block, blocks, workers) if workers > 1 else map(_fingerprint_block, blocks)
    )
    return np.frombuffer(b"".join(parts), "<u8").reshape(len(smiles), _RECIPE.fingerprint.words)


def _fingerprint_block(smiles: Sequence[str]) -> bytes:
    fingerprinter = Fingerprinter(_RECIPE.fingerprint)
    with rdBase.BlockLogs():
        return b"".join(fingerprinter.compute_packed(Chem.MolFromSmiles(text)) for text in smiles)


def cluster_molecules(smiles: Sequence[str]) -> Int32:
    """Return the Taylor-Butina cluster of each molecule, (N,).

    Neighbors have fingerprints with a Tanimoto similarity of 0.4 or more, the default threshold of a collection. RDKit
    must be able to read all SMILES.
    """
    from graphkin.collection.clusters.butina import clusters_from_pairs
    from graphkin.similarity.join import similar_pairs
    from graphkin.store.identity import content_digests, tie_ranks

    words = compute_fingerprints(smiles)
    pairs = similar_pairs(words, _RECIPE.threshold, os.cpu_count() or 1)
    with rdBase.BlockLogs():
        canonical = [Chem.MolToSmiles(Chem.MolFromSmiles(text)) for text in smiles]
    return clusters_from_pairs(pairs, tie_ranks(content_digests(canonical, _RECIPE.tie_seed))).label


def training_items(smiles: Sequence[str], measured: Mapping[str, pa.Array]) -> pa.Table:
    """Return the columns of a saved model: smiles, `measured_TARGET` for each target, and fingerprint."""
    words = compute_fingerprints(smiles)
    fingerprints = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(words.shape[1] * words.itemsize), len(words), [None, pa.py_buffer(words)]
    )
    values = {f"measured_{target}": column for target, column in measured.items()}
    return pa.table({"smiles": pa.array(smiles, pa.string()), **values, "fingerprint": fingerprints})


class TrainingEvidence:
    """The molecules that a model was trained on, as evidence for its predictions.

    Args:
        items: The columns that `training_items` returns.
        fingerprint: Type of the fingerprints.
        limit: Number of molecules for each prediction.

    Raises:
        Conflict: The installed RDKit or graphkin computes other fingerprints.
    """

    def __init__(self, items: pa.Table, fingerprint: str, limit: int) -> None:
        if fingerprint != FINGERPRINT:
            raise Conflict(
                "this version of graphkin computes other fingerprints than the model has",
                given=fingerprint,
                expected=FINGERPRINT,
                hint="fine-tune again with this version",
            )
        self._items = items
        self._limit = limit

    @cached_property
    def _index(self) -> FingerprintIndex:
        words = fixed_width_array(self._items["fingerprint"], "<u8")
        return FingerprintIndex(words.reshape(len(self._items), -1))

    def columns(self, smiles: Sequence[str]) -> dict[str, pa.Array]:
        """Return the most similar training molecules of n molecules, as columns of n rows.

        The columns of the k-th molecule are `nearest_k_similarity`, `nearest_k_smiles` and `nearest_k_measured_TARGET`
        for each target. Molecules of equal similarity are in the order of the training data.
        """
        threads = os.cpu_count() or 1
        matches = self._index.search(compute_fingerprints(smiles), self._limit, threads)
        return _spread(matches, self._items.drop_columns("fingerprint"), len(smiles), self._limit, "nearest")


class CollectionEvidence:
    """The items of a collection, as evidence for predictions.

    Args:
        collection: A collection of molecules.
        limit: Number of items for each prediction.

    Raises:
        Conflict: The collection does not hold molecules.
    """

    def __init__(self, collection: OpenCollection, limit: int) -> None:
        kind = collection.generation.manifest.kind
        if kind != "molecule":
            raise Conflict(
                "predictions for molecules cannot be compared with this collection",
                given=f"a collection of kind {kind}",
                expected="a collection of molecules",
                hint="name another collection, or leave --store and --collection out",
            )
        self._collection = collection
        self._limit = limit

    def columns(self, smiles: Sequence[str]) -> dict[str, pa.Array]:
        """Return the most similar items of n molecules, as columns of n rows.

        The columns of the k-th item are `collection_k_similarity`, `collection_k_id`, `collection_k_smiles` and
        `collection_k_names`. Molecules that the collection would reject have no items.
        """
        structures = [{"smiles": text} for text in smiles]
        matches = self._collection.search_each(structures, None, self._limit).hits
        ids, positions = np.unique(matches.ids, return_inverse=True)
        items = self._collection.items_of(ids).select(["id", "smiles", "names"])
        hits = Matches(matches.query, positions.astype(np.int32), matches.similarity)
        return _spread(hits, items, len(smiles), self._limit, "collection")


def _spread(matches: Matches, items: pa.Table, count: int, limit: int, prefix: str) -> dict[str, pa.Array]:
    """Return matches as columns of one row per query, with nulls where a query has fewer matches.

    Args:
        matches: The matches, in the order of the queries.
        items: The items, whose rows are `matches.ids`.
        count: Number of queries.
        limit: Largest number of matches per query.
        prefix: First word of the names of the columns.
    """
    rank = np.arange(len(matches.query)) - np.searchsorted(matches.query, matches.query)
    columns: dict[str, pa.Array] = {}
    for place in range(limit):
        is_here = rank == place
        row, similarity = np.full(count, -1, np.int32), np.zeros(count, np.float32)
        row[matches.query[is_here]] = matches.ids[is_here]
        similarity[matches.query[is_here]] = matches.similarity[is_here]
        taken = items.take(pa.array(row, mask=row < 0))
        first = f"{prefix}_{place + 1}"
        columns[f"{first}_similarity"] = pa.array(similarity, mask=row < 0)
        columns |= {f"{first}_{name}": taken[name].combine_chunks() for name in items.column_names}
    return columns
