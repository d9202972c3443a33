"""Similarity of labeled data: the clusters that a split keeps whole, and the evidence for a prediction.

The evidence for a prediction are the most similar items that the model was trained on, with their measured values, and
the most similar items of a collection.
"""

import os
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa
from rdkit import Chem, rdBase

from graphkin.collection.open_collection import OpenCollection
from graphkin.library.inputs import compute_fingerprints
from graphkin.library.subgraphs import similarity_network
from graphkin.protocol.errors import Conflict
from graphkin.protocol.parameters import parameter
from graphkin.similarity.columns import fixed_width_array, fixed_width_column
from graphkin.similarity.graphs.describer import read_structure
from graphkin.similarity.graphs.index import SubtreeIndex
from graphkin.similarity.graphs.recipe import StructureRecipe, resolve_graphs
from graphkin.similarity.graphs.structure import Structure
from graphkin.similarity.graphs.wl import Features, normalize
from graphkin.similarity.hits import Hits, Matches, ranks_in_groups
from graphkin.similarity.molecules.recipe import resolve
from graphkin.similarity.nearest import FingerprintIndex
from graphkin.similarity.nodes.describer import node_structures
from graphkin.similarity.nodes.recipe import NodeRecipe
from graphkin.store.records import Int32
from graphkin.trainer.downstream.nodes import LabeledNodes
from graphkin.trainer.features.corpus import Corpus

_RECIPE, _GRAPH_RECIPE = resolve(), resolve_graphs()

FINGERPRINT = _RECIPE.fingerprint.type
"""Type of the fingerprints of a saved model, in the notation of chemfp."""


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


def graph_items(corpus: Corpus, measured: Mapping[str, pa.Array]) -> pa.Table:
    """Return the columns of a saved model of graphs: structure, and `measured_TARGET` for each target."""
    return pa.table({"structure": pa.array(graph_texts(corpus), pa.large_string()), **_measured_columns(measured)})


def node_items(nodes: LabeledNodes, recipe: NodeRecipe, measured: Mapping[str, pa.Array]) -> pa.Table:
    """Return the columns of a saved model of nodes: node, structure, and `measured_TARGET` for each target."""
    return pa.table(
        {
            "node": pa.array([nodes.names[node] for node in nodes.nodes], pa.string()),
            "structure": pa.array(node_texts(nodes, recipe), pa.large_string()),
            **_measured_columns(measured),
        }
    )


def node_texts(nodes: LabeledNodes, recipe: NodeRecipe) -> list[str]:
    """Return the subgraphs around nodes as JSON, with all that a recipe compares."""
    structures = node_structures(similarity_network(nodes), recipe, nodes.nodes.astype(np.int32))
    return [structure.text for _, structure in structures]


def graph_texts(corpus: Corpus) -> list[str]:
    """Return the graphs of a corpus as JSON that `graphkin ingest graphs` reads."""
    offsets, edge_offsets = corpus.atom_offsets.astype(np.int64), corpus.edge_offsets.astype(np.int64)
    first = np.repeat(offsets[:-1], corpus.atoms)
    end = np.repeat(np.arange(len(first)) - first, corpus.degree)
    edges = np.stack([end, corpus.source], axis=1).astype(np.int64)  # each edge in both directions, sorted by `end`
    texts = []
    for nodes, start, stop in zip(corpus.atoms.tolist(), edge_offsets, edge_offsets[1:], strict=False):
        own = edges[start:stop]
        texts.append(Structure(nodes, own[own[:, 0] < own[:, 1]]).text)
    return texts


def training_items(smiles: Sequence[str], measured: Mapping[str, pa.Array]) -> pa.Table:
    """Return the columns of a saved model of molecules: smiles, `measured_TARGET` for each target, and fingerprint."""
    fingerprints = fixed_width_column(compute_fingerprints(smiles))
    return pa.table(
        {"smiles": pa.array(smiles, pa.string()), **_measured_columns(measured), "fingerprint": fingerprints}
    )


def _measured_columns(measured: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    return {f"measured_{target}": column for target, column in measured.items()}


class TrainingEvidence:
    """The molecules that a model was trained on, as evidence for its predictions.

    Args:
        items: The columns that `training_items` returns.
        fingerprint: Type of the fingerprints.
        limit: Number of molecules for each prediction.

    Raises:
        Conflict: The installed RDKit or graphkin computes other fingerprints.
    """

    def __init__(self, items: pa.Table, fingerprint: str | None, limit: int) -> None:
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


class GraphEvidence:
    """The graphs or nodes that a model was trained on, as evidence for its predictions.

    They are compared by the Weisfeiler-Lehman kernel.

    Args:
        items: The columns that `graph_items` or `node_items` returns.
        limit: Number of items for each prediction.
        recipe: Settings of the kernel; for graphs, the defaults of `graphkin ingest graphs`.
    """

    def __init__(self, items: pa.Table, limit: int, recipe: StructureRecipe = _GRAPH_RECIPE) -> None:
        self._items = items
        self._limit = limit
        self._recipe = recipe

    @cached_property
    def _index(self) -> SubtreeIndex:
        texts = self._items["structure"].to_pylist()
        structures = [read_structure(text, self._recipe) for text in texts]
        return SubtreeIndex.from_features(Features.from_structures(structures, self._recipe))

    def columns(self, texts: Sequence[str]) -> dict[str, pa.Array]:
        """Return the most similar training items of n graphs, or of subgraphs around nodes, in JSON, as n rows.

        The columns of the k-th item are `nearest_k_similarity`, `nearest_k_structure` (nodes: `nearest_k_node`), and
        `nearest_k_measured_TARGET` for each target. Items of equal similarity are in the order of the training data.
        """
        parts = []
        for query, text in enumerate(texts):
            features = Features.from_structures([read_structure(text, self._recipe)], self._recipe)
            similarity = normalize(self._index.products(features), self._index.square, features.square[0])
            rows = np.arange(len(similarity), dtype=np.int32)
            parts.append(Matches.from_hits(query, Hits(rows, similarity.astype(np.float32)).best(self._limit)))
        items = self._items.drop_columns("structure") if "node" in self._items.column_names else self._items
        return _spread(Matches.concatenate(parts), items, len(texts), self._limit, "nearest")


class CollectionEvidence:
    """The items of a collection, as evidence for predictions.

    Args:
        collection: A collection.
        kind: Kind of its items: `molecule` or `graph`.
        limit: Number of items for each prediction.

    Raises:
        Conflict: The items of the collection are of another kind.
    """

    def __init__(self, collection: OpenCollection, kind: str, limit: int) -> None:
        collection_kind = collection.generation.manifest.kind
        if collection_kind != kind:
            raise Conflict(
                f"predictions for {kind}s cannot be compared with this collection",
                given=f"a collection of kind {collection_kind}",
                expected=f"a collection of {kind}s",
                hint=f"name another collection, or leave {parameter('--store')} and {parameter('--collection')} out",
            )
        self._collection = collection
        self._column = "smiles" if kind == "molecule" else "structure"
        self._limit = limit

    def columns(self, texts: Sequence[str]) -> dict[str, pa.Array]:
        """Return the most similar items of n molecules as SMILES, or graphs in JSON, as columns of n rows.

        The columns of the k-th item are `collection_k_similarity`, `collection_k_id`, `collection_k_names`, and
        `collection_k_smiles` or `collection_k_structure`. Records that the collection would reject have no items.
        """
        structures = [{self._column: text} for text in texts]
        matches = self._collection.search_each(structures, None, self._limit).hits
        ids, positions = np.unique(matches.ids, return_inverse=True)
        items = self._collection.items_of(ids).select(["id", self._column, "names"])
        hits = Matches(matches.query, positions.astype(np.int32), matches.similarity)
        return _spread(hits, items, len(texts), self._limit, "collection")


def _spread(matches: Matches, items: pa.Table, count: int, limit: int, prefix: str) -> dict[str, pa.Array]:
    """Return matches as columns of one row per query, with nulls where a query has fewer matches.

    Args:
        matches: The matches, in the order of the queries.
        items: The items, whose rows are `matches.ids`.
        count: Number of queries.
        limit: Largest number of matches per query.
        prefix: First word of the names of the columns.
    """
    rank = ranks_in_groups(matches.query)
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
