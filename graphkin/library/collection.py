"""Abstract base classes of the library: a collection, and all collections of a store or a server.

`stored.py` implements them for a store that this process reads, and `served.py` for a server. The public methods of
`Collection` check their arguments and make tables. The abstract methods that they call get the data.
"""

import json
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, Unpack

import numpy as np
import pyarrow as pa

from graphkin.collection.batches import join_items
from graphkin.collection.cliffs import Cliffs, cliffs_table
from graphkin.collection.clusters.mcs import CommonSubstructure
from graphkin.collection.picking import DiverseSubset
from graphkin.collection.selection import Selection
from graphkin.library.table import Table
from graphkin.protocol.errors import TruncatedPairsWarning, require, require_extra
from graphkin.protocol.manifest import Manifest
from graphkin.protocol.requests import (
    CliffsQuery,
    ClusteredFields,
    ClusteringFields,
    MapQuery,
    PickBody,
    QueryBody,
    SearchBatchBody,
    SearchBody,
    structure_list,
)
from graphkin.protocol.validation import translate_validation_errors
from graphkin.protocol.values import MAX_CLIFFS, By, ClusterMethod, Picking, PolicyName
from graphkin.similarity.hits import Matches
from graphkin.store.records import Float32, Int32, Int64

if TYPE_CHECKING:
    from graphkin.client.options import PolicyOptions
    from graphkin.trainer.features.corpus import Corpus
    from graphkin.trainer.geometric import PositiveSample, PositivesFeed

_NON_PROPERTIES = ("id", "smiles", "structure", "names", "inchikey")
"""Columns of items that are not properties."""


class Hits(NamedTuple):
    """Items and their similarity to a query structure or an item, most similar first.

    Attributes:
        ids: (n,) int32 item ids.
        similarity: (n,) float32 in [0, 1].
    """

    ids: Int32
    similarity: Float32


class Collection(ABC):
    """One generation of a collection.

    Results:
        Most methods return a `Table`. Tables of hits have the columns id, similarity, smiles (for graphs: structure, as
        JSON), names and properties.

    Consistency:
        All methods read the same generation, even after another one is published.

    Thread safety:
        Threads may share a collection.

    Errors:
        Methods raise the errors of `graphkin.protocol.errors`, such as `InvalidInput`, `NotFound` and `Deleted`. An
        error holds the invalid value, the accepted values and, where there is one, a hint.

    Attributes:
        name: Name of the collection.
        kind: Kind of the items: `molecule`, `graph`, `node`, `fingerprint`, `vector`, or a kind that another package
            registers.
        generation: Id of the generation.
        size: Number of items. Their ids are 0 to size - 1.
        manifest: Recipe, versions, inputs and counts of the generation.
    """

    def __init__(self, name: str, manifest: Manifest) -> None:
        self.name = name
        self.manifest = manifest
        self._corpus: Corpus | None = None

    @property
    def kind(self) -> str:
        """The kind of the items, such as `molecule` or `graph`."""
        return self.manifest.kind

    @property
    def generation(self) -> str:
        """The id of the generation."""
        return self.manifest.generation

    @property
    def size(self) -> int:
        """The number of items. Their ids are 0 to size - 1."""
        return self.manifest.counts.kept

    def __len__(self) -> int:
        return self.size

    def search(
        self,
        structure: str | None = None,
        *,
        smiles: str | None = None,
        inchi: str | None = None,
        molblock: str | None = None,
        graph: Mapping[str, Any] | None = None,
        fingerprint: str | None = None,
        vector: Sequence[float] | Float32 | None = None,
        measure: Mapping[str, Any] | None = None,
        filters: Sequence[Mapping[str, Any]] | None = None,
        substructure: str | Mapping[str, str] | None = None,
        min_similarity: float | None = None,
        limit: int = 10,
    ) -> Table:
        """Return the items most similar to a query structure.

        The search is exact: it compares the query with every item, whatever the stored threshold and the top-k limit.
        Pass exactly one of the arguments `structure` to `vector`.

        Args:
            structure: Text in the format of the collection's items: a SMILES, a graph or a vector as JSON, or a
                fingerprint in hexadecimal.
            smiles: A SMILES.
            inchi: An InChI.
            molblock: A molblock (the structure part of an SDF record).
            graph: A graph, as a mapping with `edges` (pairs of node numbers from 0) and optionally `num_nodes` and
                `labels`.
            fingerprint: A fingerprint in hexadecimal, as in FPS files.
            vector: Numbers, as many as the collection's vectors have.
            measure: A similarity measure other than the collection's own, such as
                `{"name": "tversky", "alpha": 0.9, "beta": 0.1}`. `graphkin.protocol.measure.Measure` has the measures.
            filters: Conditions on properties and names, as in `query`. Only items that pass all of them are hits.
            substructure: A substructure, as in `query`. Only items that contain it are hits.
            min_similarity: Smallest similarity of a hit, above 0 and at most 1.
            limit: Maximum number of hits, up to 1,000.

        Returns:
            One row per hit, most similar first: id int32, similarity float32, smiles or structure, names, properties.

        Raises:
            InvalidInput: If an argument is out of range, or the query structure cannot be read.

        Example:
            ```python
            mine.search("CCO", limit=5).to_pandas()
            mine.search("CCO", filters=[{"property": "molwt", "max": 300}], min_similarity=0.2)
            mine.search("CCO", measure={"name": "tversky", "alpha": 0.9, "beta": 0.1})
            ```
        """
        structures = {"structure": structure, "smiles": smiles, "inchi": inchi, "molblock": molblock, "graph": graph}
        structures |= {"fingerprint": fingerprint, "vector": None if vector is None else np.asarray(vector).tolist()}
        fields = {
            **structures,
            "measure": measure,
            "filters": filters and [*filters],
            "substructure": _jsonable(substructure),
            "min_similarity": min_similarity,
            "limit": limit,
        }
        body = {name: value for name, value in fields.items() if value is not None}
        with translate_validation_errors():
            request = SearchBody.model_validate_json(json.dumps(body))
        return self._hits_table(self._search(request))

    def query(
        self,
        *,
        filters: Sequence[Mapping[str, Any]] = (),
        name: str | None = None,
        substructure: str | Mapping[str, str] | None = None,
        similar: Mapping[str, Any] | None = None,
        sort: str | None = None,
        descending: bool = False,
        columns: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> Table:
        """Return the items that pass all conditions, with a column for each property.

        Args:
            filters: Conditions such as `{"property": "logP", "min": 1, "max": 3}`. A condition is about a `property` or
                about `names` and uses `min`, `max`, `equals`, `in` or `contains`. Comparisons of text ignore case.
            name: Prefix of a name. The comparison ignores case.
            substructure: A SMARTS, or a molecule: `{"smiles": "c1ccncc1"}`, `{"inchi": …}` or `{"molblock": …}`. The
                first call prepares all molecules of the collection for substructure matching, which takes a while.
            similar: A query structure as in `search`, such as `{"smiles": "CCO", "min_similarity": 0.5}`. The table
                gets a column similarity.
            sort: Column to sort by. The default is similarity if `similar` is set, most similar first, and id
                otherwise. Items without a value come last. Items with equal values are sorted by id.
            descending: Whether the largest value comes first.
            columns: Columns to return, as in `items`.
            limit: Maximum number of items. The default is all.

        Returns:
            The table of `items`, with similarity float32 after id if `similar` is set.

        Raises:
            InvalidInput: If there is no such property or column. The error lists the existing ones.

        Example:
            ```python
            light = mine.query(filters=[{"property": "molwt", "max": 150}], sort="molwt", limit=10)
            phenols = mine.query(substructure="[OX2H]c", columns=["smiles", "molwt"])
            similar = mine.query(similar={"smiles": "CCO", "min_similarity": 0.2})
            ```
        """
        require(
            limit is None or limit > 0,
            "limit",
            limit,
            "1 or more, or None",
            hint="leave limit out, or pass None for all items",
        )
        order = None if sort is None else {"by": sort, "descending": descending}
        conditions = {"filters": [*filters], "name": name, "substructure": _jsonable(substructure)}
        fields = {**conditions, "similar": similar, "sort": order}
        with translate_validation_errors():
            request = QueryBody.model_validate_json(json.dumps({k: v for k, v in fields.items() if v is not None}))
        selection = self._query(request, limit)
        table = self.items(columns=columns, ids=selection.ids).arrow
        if selection.similarity is not None:
            table = table.add_column(1, "similarity", pa.array(selection.similarity))
        return Table(table)

    def search_batch(
        self,
        structures: Sequence[str | Mapping[str, Any]],
        *,
        min_similarity: float | None = None,
        limit: int = 10,
    ) -> Table:
        """Search for many structures at once, much faster than by as many calls of `search`.

        Args:
            structures: Up to 10,000 query structures. Each is text in the format of the collection's items (for
                molecules a SMILES), or a mapping with exactly one of `smiles`, `inchi`, `molblock`, `graph`,
                `fingerprint`, `vector`, `structure` and `name`, the name of an item.
            min_similarity: Smallest similarity of a hit, above 0 and at most 1.
            limit: Maximum number of hits per structure, up to 100.

        Returns:
            One row per hit: query int32, the position of the structure in `structures`; error; and the columns of
            `search`. A structure that cannot be read, or a name that no item has, gets one row with the reason in error
            and nulls in the columns of `search`.

        Raises:
            InvalidInput: If an argument is out of range.

        Example:
            ```python
            hits = mine.search_batch(["CCO", {"name": "aspirin"}], limit=10)
            failures = [row for row in hits.to_pylist() if row["error"] is not None]
            ```
        """
        fields = {"structures": structure_list(structures), "min_similarity": min_similarity, "limit": limit}
        body = {name: value for name, value in fields.items() if value is not None}
        with translate_validation_errors():
            request = SearchBatchBody.model_validate_json(json.dumps(body))
        rows, items = join_items(*self._search_batch(request), self._rows)
        columns = self._item_columns(items)
        return Table(pa.table({**dict(zip(rows.column_names, rows.columns, strict=True)), **columns}))

    def neighbors(
        self,
        id: int | None = None,
        *,
        smiles: str | None = None,
        name: str | None = None,
        min_similarity: float | None = None,
        filters: Sequence[Mapping[str, Any]] = (),
        substructure: str | Mapping[str, str] | None = None,
        limit: int | None = None,
    ) -> Table:
        """Return the stored neighbors of one item, by descending similarity, then by id.

        Pass exactly one of `id`, `smiles` and `name`.

        Args:
            id: Id of the item.
            smiles: Structure of the item.
            name: Name of the item.
            min_similarity: Smallest similarity, from the stored threshold (the default) to 1.
            filters: Conditions as in `query`. Only neighbors that pass all of them are returned.
            substructure: A substructure as in `query`. Only neighbors that contain it are returned.
            limit: Maximum number of neighbors. The default is all.

        Returns:
            One row per neighbor, with the columns of `search`.

        Raises:
            NotFound: If there is no such item.
            InvalidInput: If several items share the name. The error lists their ids.

        Example:
            ```python
            mine.neighbors(name="aspirin", min_similarity=0.5)
            mine.neighbors(id=0, filters=[{"property": "molwt", "max": 300}])
            ```
        """
        require(
            limit is None or limit > 0,
            "limit",
            limit,
            "1 or more, or None",
            hint="leave limit out, or pass None for all neighbors",
        )
        with translate_validation_errors():
            body = {"filters": [*filters], "substructure": _jsonable(substructure)}
            conditions = QueryBody.model_validate_json(json.dumps(body))
        return self._hits_table(self._neighbors(self._item_id(id, smiles, name), min_similarity, conditions, limit))

    def clusters(
        self,
        *,
        method: ClusterMethod = "butina",
        threshold: float | None = None,
        property: str | None = None,
        limit: int | None = None,
    ) -> Table:
        """Divide all items into clusters and return one row per cluster, the largest first.

        Clusters are computed once per generation, method and threshold, and then read from a cache.

        Args:
            method: `butina` is Taylor-Butina clustering at a threshold. `scaffold` groups molecules by their
                Bemis-Murcko scaffold. `single` is single linkage in the stored similarity graph.
            threshold: Similarity threshold. `butina` puts items with at least this similarity to a center in one
                cluster, 0.7 by default. `single` joins the items of edges with at least this similarity; the default is
                the smallest threshold at which the largest cluster holds at most a tenth of all items, or 10 items.
                `scaffold` has no threshold.
            property: A numeric property to summarize for each cluster.
            limit: Maximum number of clusters. The default is all.

        Returns:
            One row per cluster: cluster int32, its number, from 1; size int32; centre int32, the id of the item that
            represents the cluster; smiles or structure, and names, of this item. With `property`, also min, max and
            mean float64, and values int64, the number of members that have a value.

        Raises:
            InvalidInput: If an argument is out of range, or there is no such numeric property.
            Conflict: If `method` is `scaffold` and the items are not molecules.

        Example:
            ```python
            clusters = mine.clusters(method="butina", threshold=0.7, property="molwt")
            largest = mine.cluster(1, threshold=0.7)
            ```
        """
        require(
            limit is None or limit > 0,
            "limit",
            limit,
            "1 or more, or None",
            hint="leave limit out, or pass None for all clusters",
        )
        fields = {"method": method, "threshold": threshold, "property": property}
        with translate_validation_errors():
            request = ClusteredFields.model_validate(fields)
        clusters = self._clusters(request, limit)
        centers = self._rows(clusters["centre"].to_numpy())
        described = {name: centers[name] for name in (self.manifest.structure, "names")}
        columns = {name: clusters[name] for name in clusters.column_names}
        return Table(
            pa.table({**{name: columns.pop(name) for name in ("cluster", "size", "centre")}, **described, **columns})
        )

    def cluster(
        self, number: int, *, method: ClusterMethod = "butina", threshold: float | None = None, limit: int | None = None
    ) -> Table:
        """Return the members of one cluster, with the columns of `items`.

        Args:
            number: Number of the cluster, from 1, as `clusters` returns it for the same method and threshold.
            method: Clustering method, as in `clusters`.
            threshold: Similarity threshold, as in `clusters`.
            limit: Maximum number of members. The default is all.

        Returns:
            One row per member: the center first, then the others by id.

        Raises:
            NotFound: If there is no such cluster.
        """
        require(
            limit is None or limit > 0,
            "limit",
            limit,
            "1 or more, or None",
            hint="leave limit out, or pass None for all members",
        )
        with translate_validation_errors():
            request = ClusteredFields.model_validate({"method": method, "threshold": threshold})
        return Table(self._rows(self._cluster(number, request, limit)))

    def mcs(
        self, number: int, *, method: ClusterMethod = "butina", threshold: float | None = None
    ) -> CommonSubstructure:
        """Return the maximum common substructure (MCS) of a cluster.

        The search compares at most 100 members, the center and 99 others at even distances in the list of members, and
        stops after 2 s.

        Args:
            number: Number of the cluster, from 1, as in `cluster`.
            method: Clustering method, as in `clusters`.
            threshold: Similarity threshold, as in `clusters`.

        Returns:
            smarts: The MCS, which matches each compared member with RDKit's HasSubstructMatch. None if there is none.
            smiles: The MCS cut from the center, with `*` where the center continues. None if there is none.
            atoms: Number of atoms of the MCS.
            complete: False if the time ran out, so that a larger MCS may exist.

        Raises:
            NotFound: If there is no such cluster.
            Conflict: If the items are not molecules.

        Example:
            ```python
            mine.mcs(1, threshold=0.7).smarts
            ```
        """
        with translate_validation_errors():
            request = ClusteringFields.model_validate({"method": method, "threshold": threshold})
        return self._mcs(number, request)

    def map(
        self,
        *,
        property: str | None = None,
        method: ClusterMethod | None = None,
        threshold: float | None = None,
    ) -> Table:
        """Return coordinates of all items in a two-dimensional map, for a plot of the whole collection.

        The map is a layout of the spanning forest of the similarity graph. Items without neighbors lie below it. The
        map is computed once per generation and then read from a cache.

        Args:
            property: A numeric property, returned in the column value.
            method: Clustering method, as in `clusters`. Its clusters are returned in the column cluster.
            threshold: Similarity threshold, as in `clusters`.

        Returns:
            One row per item, in id order: id int32; x and y float32, from 0 to 1, with y pointing down; value float64,
            null without `property`; cluster int32, from 1, null without `method`.

        Raises:
            InvalidInput: If an argument is out of range, or there is no such numeric property.
            Conflict: If the clusters need molecules and the items are not molecules. On a server, also if the
                collection has more than 500,000 items.

        Example:
            ```python
            points = mine.map(property="molwt", method="scaffold").to_pandas()
            ```
        """
        with translate_validation_errors():
            request = MapQuery(property=property, method=method, threshold=threshold)
        return Table(self._map(request))

    def cliffs(
        self,
        property: str,
        *,
        by: By = "difference",
        min_similarity: float | None = None,
        max_similarity: float = 1.0,
        min_difference: float = 0.0,
        exclude_identical: bool = True,
        filters: Sequence[Mapping[str, Any]] = (),
        substructure: str | Mapping[str, str] | None = None,
        limit: int = 1000,
    ) -> Table:
        """Return activity cliffs: pairs of stored neighbors that differ in a property.

        Issues a `TruncatedPairsWarning` if similar pairs are missing because of the collection's top-k limit.

        Args:
            property: A numeric property, as `items` names it.
            by: Quantity to rank pairs by: `difference`, or `sali`, the difference divided by 1 - similarity. Pairs of
                the same rank are sorted by difference, then by ids.
            min_similarity: Smallest similarity of a pair. The default is 0.7, or the stored threshold if that is
                larger.
            max_similarity: Largest similarity of a pair.
            min_difference: Smallest difference of a pair.
            exclude_identical: Whether to leave out pairs with identical fingerprints. With `min_similarity=1,
                exclude_identical=False`, only such pairs are returned.
            filters: Conditions as in `query`, which both items must pass.
            substructure: A substructure as in `query`, which both items must contain.
            limit: Maximum number of pairs, up to 100,000.

        Returns:
            One row per pair, the largest quantity first: a and b int32, the ids of the items; similarity float32;
            difference float64; sali float64, infinite if the similarity is 1; and smiles or structure, names and the
            property of both items, with suffixes such as smiles_a and smiles_b.

        Raises:
            InvalidInput: If an argument is out of range, or there is no such numeric property. The error lists the
                numeric properties.

        Example:
            ```python
            mine.cliffs("molwt", min_similarity=0.6, max_similarity=0.95, limit=100)
            mine.cliffs("molwt", by="sali")
            ```
        """
        require(0 < limit <= MAX_CLIFFS, "limit", limit, f"1 to {MAX_CLIFFS:,}", hint="pass a smaller limit")
        fields = {
            "property": property,
            "by": by,
            "min_similarity": min_similarity,
            "max_similarity": max_similarity,
            "min_difference": min_difference,
            "exclude_identical": exclude_identical,
        }
        with translate_validation_errors():
            pattern = json.dumps(dict(substructure)) if isinstance(substructure, Mapping) else substructure
            request = CliffsQuery.model_validate({**fields, "filters": json.dumps([*filters]), "substructure": pattern})
        cliffs = self._cliffs(request, limit)
        self._warn_of_truncated_pairs()
        return Table(cliffs_table(cliffs, self.manifest, property, self._rows))

    def pick(
        self,
        count: int,
        *,
        method: Picking = "maxmin",
        threshold: float = 0.7,
        ids: Sequence[int] | Int32 | None = None,
        filters: Sequence[Mapping[str, Any]] = (),
        substructure: str | Mapping[str, str] | None = None,
    ) -> Table:
        """Pick a diverse subset of items.

        The same items always give the same subset, and a larger `count` extends it.

        Args:
            count: Number of items to pick, up to 10,000.
            method: `maxmin` repeatedly picks the item that is least similar to all items picked so far. `sphere` picks
                items whose similarity to every item picked so far is below `threshold`, so the subset may be smaller
                than `count`.
            threshold: Similarity threshold of `sphere`, above 0 and at most 1.
            ids: Items to pick from, up to 10,000. The default is all.
            filters: Conditions as in `query`. Only items that pass all of them are picked.
            substructure: A substructure as in `query`. Only items that contain it are picked.

        Returns:
            The table of `items` in the order of picking, with nearest float32 after id: the highest similarity to an
            item that was picked before.

        Raises:
            InvalidInput: If `count` is larger than the number of items to pick from.

        Example:
            ```python
            mine.pick(10)
            mine.pick(10, method="sphere", threshold=0.6, filters=[{"property": "molwt", "max": 300}])
            ```
        """
        source: dict[str, Any] = {}
        if filters:
            source["filters"] = [*filters]
        if substructure is not None:
            source["substructure"] = substructure if isinstance(substructure, str) else dict(substructure)
        if ids is not None:
            source["ids"] = np.asarray(ids, np.int64).tolist()
        fields = {"count": count, "method": method, "threshold": threshold, "from": source or None}
        with translate_validation_errors():
            request = PickBody.model_validate_json(json.dumps(fields))
        picks = self._pick(request)
        return Table(self._rows(picks.ids).add_column(1, "nearest", pa.array(picks.nearest)))

    @abstractmethod
    def positives(
        self,
        ids: Sequence[int] | Int32,
        policy: PolicyName = "first_order",
        *,
        seed: int = 0,
        epoch: int = 0,
        **parameters: "Unpack[PolicyOptions]",
    ) -> Table:
        """Sample the positive set of each anchor.

        The same generation, policy, seed and epoch give the same positives on every machine, whether a store or a
        server is read. A server with `GRAPHKIN_SAMPLER=gds` is the exception (docs/concepts/positives.md).

        Args:
            ids: Ids of the anchors.
            policy: Sampling policy: `first_order`, `random_walk` or `second_order`.
            seed: Seed of the samples, 0 to 2**53 - 1.
            epoch: Epoch of the samples, 0 to 2**53 - 1.
            **parameters: Parameters of the policy, such as `k`. `graphkin.protocol.policy.Policy` explains them.

        Returns:
            One row per anchor, in the order of `ids`: anchor int32; count uint16; isolated bool; positives, k int32,
            all -1 for isolated anchors; visits, k uint16.

        Raises:
            InvalidInput: If a parameter is out of range.
            NotFound: If there is no such item.

        Example:
            ```python
            mine.positives([0, 1, 2], "random_walk", k=5, seed=7)
            ```
        """

    def edges(self, *, min_similarity: float | None = None, start: int = 0, stop: int | None = None) -> Table:
        """Return the stored edges, ordered by source, then target.

        Issues a `TruncatedPairsWarning` if similar pairs are missing because of the collection's top-k limit.

        Args:
            min_similarity: Smallest similarity, from the stored threshold (the default) to 1.
            start: Smallest source.
            stop: Source to stop before. The default is all sources.

        Returns:
            One row per edge: source int32, target int32 > source, similarity float32.

        Raises:
            InvalidInput: If `min_similarity` is below the stored threshold.

        Example:
            ```python
            networkx.from_pandas_edgelist(mine.edges(min_similarity=0.7).to_pandas())
            ```
        """
        self._warn_of_truncated_pairs()
        return Table(self._edges(min_similarity, start, stop))

    def _warn_of_truncated_pairs(self) -> None:
        if self.manifest.truncation is not None:
            warnings.warn(f"{self.name}: {self.manifest.truncation}", TruncatedPairsWarning, stacklevel=3)

    def items(
        self,
        *,
        columns: Sequence[str] | None = None,
        ids: Sequence[int] | Int32 | None = None,
        start: int = 0,
        stop: int | None = None,
    ) -> Table:
        """Return items with a column for each property.

        Args:
            columns: Columns to return after id, in this order. The default is all: smiles or structure, names, inchikey
                if the recipe stores it, and the properties.
            ids: Ids of the items to return, in this order. The default is the range from `start` to `stop`.
            start: First id.
            stop: Id to stop before. The default is the number of items.

        Returns:
            One row per item.

        Raises:
            InvalidInput: If there is no such column. The error lists the columns.

        Example:
            ```python
            mine.items(columns=["smiles", "molwt"]).to_pandas()
            ```
        """
        selection = None if columns is None else [*dict.fromkeys(["id", *columns])]
        items = self._range(selection, start, stop) if ids is None else self._rows(np.asarray(ids, np.int64))
        return Table(items) if selection is None else Table(items).select(selection)

    def column(self, name: str) -> Iterator[list[Any]]:
        """Yield the values of one column in blocks, in id order.

        Args:
            name: Name of the column, as in `items`.

        Yields:
            A list of values, with None for missing ones.

        Raises:
            InvalidInput: If there is no such column. The error lists the columns.
        """
        for batch in self.items(columns=[name]).arrow.to_batches():
            yield batch[name].to_pylist()

    def to_pyg(self, *, workers: int = 1) -> list[Any]:
        """Return each item as a graph of PyTorch Geometric, with the features that the trainer uses.

        The graphs have these tensors, which are views of a few shared ones:

        - x (n, 2) int64: of each node, the atomic number minus 1 (118 for a dummy atom, 119 for a node that is not an
          atom) and the chirality, 0 to 2.
        - edge_index (2, e) int64: each edge in both directions.
        - edge_attr (e, 2) int64: of each edge, the bond type (single, double, triple, aromatic: 0 to 3) and direction.
        - id int: the id of the item.
        - For nodes of big graphs also eigenvectors (n, K) float32 and centre (n,) bool.

        This method needs the extra `trainer`.

        Args:
            workers: Number of processes that parse SMILES.

        Returns:
            One `torch_geometric.data.Data` per item, in id order.

        Raises:
            InvalidInput: If the extra `trainer` is not installed.
            Conflict: If items of this kind, such as fingerprints and vectors, have no features.

        Example:
            ```python
            from torch_geometric.loader import DataLoader

            for batch in DataLoader(mine.to_pyg(), batch_size=64):
                print(batch.num_graphs, batch.x.shape, batch.edge_index.shape, batch.edge_attr.shape)
            ```
        """
        with require_extra("trainer", "graphs for PyTorch Geometric need"):
            from graphkin.trainer.geometric import graphs

            return graphs(self._features(workers))

    def feed(
        self,
        policy: PolicyName = "first_order",
        *,
        batch_size: int = 256,
        seed: int = 0,
        workers: int = 1,
        **parameters: "Unpack[PolicyOptions]",
    ) -> "PositivesFeed":
        """Return a dataset of anchor batches and their positives, for `DataLoader(feed, batch_size=None)`.

        Each iteration over the dataset is one epoch. The positives are those of `positives`, and the features those of
        `to_pyg`. Every item with a neighbor is an anchor once per epoch. This method needs the extra `trainer`.

        Args:
            policy: Sampling policy, as in `positives`.
            batch_size: Number of anchors per batch.
            seed: Seed of the samples and of the order of the anchors.
            workers: Number of processes that parse SMILES.
            **parameters: Parameters of the policy, as in `positives`.

        Returns:
            A dataset that yields pairs of batches: the anchors, and their positives. The positives of anchor i are the
            graphs i * k to (i + 1) * k - 1.

        Raises:
            InvalidInput: If the extra `trainer` is not installed, or an argument is out of range.
            Conflict: If items of this kind, such as fingerprints and vectors, have no features.

        Example:
            ```python
            from torch.utils.data import DataLoader

            feed = mine.feed("random_walk", k=5, batch_size=256, seed=7)
            for anchors, positives in DataLoader(feed, batch_size=None):
                print(anchors.num_graphs, positives.num_graphs, positives.id)
            ```
        """
        with require_extra("trainer", "graphs for PyTorch Geometric need"):
            from graphkin.trainer.geometric import PositiveSample, PositivesFeed

            def sample(anchors: Int32, epoch: int) -> "PositiveSample":
                rows = self.positives(anchors, policy, seed=seed, epoch=epoch, **parameters).arrow.combine_chunks()
                positives = rows["positives"].combine_chunks().flatten().to_numpy()
                return PositiveSample(rows["anchor"].to_numpy(), positives.reshape(len(anchors), -1))

            return PositivesFeed(self._features(workers), sample, batch_size, seed)

    def _features(self, workers: int) -> "Corpus":
        if self._corpus is None:
            from graphkin.trainer.feed.kinds import features

            self._corpus = features(self, workers)
        return self._corpus

    @abstractmethod
    def _search(self, request: SearchBody) -> Hits:
        """Return the hits of a search."""

    @abstractmethod
    def _query(self, request: QueryBody, limit: int | None) -> Selection:
        """Return all items that pass the conditions, or the first `limit`. The cursor of the request is ignored."""

    @abstractmethod
    def _search_batch(self, request: SearchBatchBody) -> tuple[pa.Array, Matches]:
        """Search for each structure of a batch.

        Returns:
            The error of each structure, as (n,) text with null for valid structures, and the hits of all structures.
        """

    @abstractmethod
    def _clusters(self, request: ClusteredFields, limit: int | None) -> pa.Table:
        """Return the columns of `clusters`, without those of the items that represent the clusters."""

    @abstractmethod
    def _cluster(self, number: int, request: ClusteredFields, limit: int | None) -> Int32:
        """Return the ids of the members of a cluster, the center first."""

    @abstractmethod
    def _mcs(self, number: int, request: ClusteringFields) -> CommonSubstructure:
        """Return the maximum common substructure of a cluster."""

    @abstractmethod
    def _map(self, request: MapQuery) -> pa.Table:
        """Return the columns of `map`."""

    @abstractmethod
    def _cliffs(self, request: CliffsQuery, limit: int) -> Cliffs:
        """Return the first `limit` pairs. The cursor of the request is ignored."""

    @abstractmethod
    def _pick(self, request: PickBody) -> DiverseSubset:
        """Return the ids of the picked items, and the similarity of each to its nearest predecessor."""

    @abstractmethod
    def _item_id(self, id: int | None, smiles: str | None, name: str | None) -> int:
        """Return the id of the item with this id, structure or name.

        Raises:
            NotFound: There is no such item.
            InvalidInput: Several items share the name, or the number of arguments other than None is not 1.
        """

    @abstractmethod
    def _neighbors(self, id: int, min_similarity: float | None, conditions: QueryBody, limit: int | None) -> Hits:
        """Return the neighbors of an item that meet the filters and the substructure of `conditions`."""

    @abstractmethod
    def _edges(self, min_similarity: float | None, start: int, stop: int | None) -> pa.Table:
        """Return the columns of `edges`."""

    @abstractmethod
    def _range(self, columns: Sequence[str] | None, start: int, stop: int | None) -> pa.Table:
        """Return items `start` to `stop` - 1. The columns, by default all, keep their stored order."""

    @abstractmethod
    def _rows(self, ids: Int32 | Int64) -> pa.Table:
        """Return the items `ids`, in this order, with all columns."""

    def _hits_table(self, hits: Hits) -> Table:
        items = self._rows(hits.ids)
        return Table(
            pa.table({"id": items["id"], "similarity": pa.array(hits.similarity), **self._item_columns(items)})
        )

    def _item_columns(self, items: pa.Table) -> dict[str, Any]:
        """Return the structure, the names and the properties of items as columns."""
        properties = [name for name in items.column_names if name not in _NON_PROPERTIES]
        return {
            self.manifest.structure: items[self.manifest.structure],
            "names": items["names"],
            "properties": items.select(properties).to_struct_array(),
        }

    @abstractmethod
    def close(self) -> None:
        """Release files or connections. Garbage collection releases them, too."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        summary = f"{self.size:,} items ({self.kind}), {self.manifest.pairs_text}, generation {self.generation[:12]}"
        return f"{type(self).__name__}({self.name!r}, {summary})"

    def _repr_html_(self) -> str:
        manifest = self.manifest
        facts = {
            "items": f"{self.size:,} ({self.kind})",
            "edges": f"{manifest.edges:,} with similarity ≥ {manifest.threshold:g}",
            "similar pairs": manifest.pairs_text,
            "rejected": f"{manifest.counts.rejected:,} of {manifest.counts.read:,} records",
            "generation": self.generation,
        }
        rows = "".join(f"<tr><th>{name}</th><td>{escape(value)}</td></tr>" for name, value in facts.items())
        return f"<table><caption>{escape(self.name)}</caption>{rows}</table>"


def _jsonable(substructure: str | Mapping[str, str] | None) -> str | dict[str, str] | None:
    """Return a substructure as a value that `json.dumps` accepts."""
    return dict(substructure) if isinstance(substructure, Mapping) else substructure


class Collections(ABC):
    """The collections of a store or a server, by name.

    `len`, `in` and iteration work as for a mapping whose keys are the names.

    Example:
        ```python
        with graphkin.open("store") as store:
            print(len(store), "mine" in store, store["mine"].size)
        ```
    """

    @abstractmethod
    def collection(self, name: str, generation: str | None = None) -> Collection:
        """Return one generation of a collection. `collections[name]` returns the current one.

        Args:
            name: Name of the collection.
            generation: Id of the generation, or a prefix of the id. The default is the current generation.

        Returns:
            The collection, which reads this generation even after another one is published.

        Raises:
            NotFound: If there is no such collection or generation. The error lists the existing collections.
            Deleted: If the generation was deleted.
            InvalidInput: If several ids begin with the prefix.

        Example:
            ```python
            store = graphkin.open("store")
            print(list(store))
            older = store.collection("mine", mine.generation[:12])
            ```
        """

    def __getitem__(self, name: str) -> Collection:
        return self.collection(name)

    @abstractmethod
    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the collections, in order."""

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return any(collection == name for collection in self)

    @abstractmethod
    def close(self) -> None:
        """Release the files or connections of all collections. Garbage collection releases them, too."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self)})"
