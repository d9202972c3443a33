"""Methods of a collection that look at it as a whole: clusters, a map, activity cliffs, diverse subsets."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from graphkin.collection.batches import add_item_columns
from graphkin.collection.cliffs import cliffs_table
from graphkin.collection.clusters.mcs import CommonSubstructure
from graphkin.library.base import CollectionBase, require_limit
from graphkin.library.request_arguments import integer_ids, request_json
from graphkin.library.table import Table
from graphkin.protocol.errors import require
from graphkin.protocol.requests import CliffsQuery, ClusteredFields, ClusteringFields, MapQuery, PickBody
from graphkin.protocol.validation import translate_validation_errors
from graphkin.protocol.values import MAX_CLIFFS, By, ClusterMethod, Picking
from graphkin.store.records import Int32


class Analyses(CollectionBase):
    """The methods of a collection that look at it as a whole."""

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
                cluster; the default is 0.55. `single` joins the items of edges with at least this similarity; the
                default is the smallest threshold at which the largest cluster holds at most a tenth of all items, or 10
                items. `scaffold` has no threshold.
            property: A numeric property to summarize for each cluster.
            limit: Maximum number of clusters. The default is all.

        Returns:
            One row per cluster: cluster int32, its number, from 1; size int32; centre int32, the id of the item that
            represents the cluster; smiles or structure, and names, of this item. With `property`, also min, max and
            mean float64, and values int64, the number of members that have a value. `note` says how many clusters
            there are in all, and which share of the items is alone in a cluster.

        Raises:
            InvalidInput: If an argument is out of range, or there is no such numeric property.
            Conflict: If `method` is `scaffold` and the items are not molecules.

        Example:
            ```python
            clusters = mine.clusters(method="butina", threshold=0.55, property="molwt")
            print(clusters.note)
            largest = mine.cluster(1, threshold=0.55)
            ```
        """
        require_limit(limit, "clusters")
        fields = {"method": method, "threshold": threshold, "property": property}
        with translate_validation_errors():
            request = ClusteredFields.model_validate(fields)
        clusters, counts = self._clusters(request, limit)
        centers = self._rows(clusters["centre"].to_numpy())
        described = {name: centers[name] for name in (self.manifest.structure, "names")}
        columns = {name: clusters[name] for name in clusters.column_names}
        first = {name: columns.pop(name) for name in ("cluster", "size", "centre")}
        return Table(pa.table({**first, **described, **columns}), note=counts.text)

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
        require_limit(limit, "members")
        with translate_validation_errors():
            request = ClusteredFields.model_validate({"method": method, "threshold": threshold})
        return Table(self._rows(self._cluster(number, request, limit)))

    def labels(self, method: ClusterMethod = "butina", threshold: float | None = None) -> Int32:
        """Return the cluster of each item.

        Args:
            method: Clustering method, as in `clusters`.
            threshold: Similarity threshold, as in `clusters`.

        Returns:
            (N,) int32 numbers of clusters, in id order. They begin with 1, the largest cluster, and are those of
            `clusters` and `cluster`.

        Raises:
            InvalidInput: If an argument is out of range.
            Conflict: As in `clusters`. On a server, also if the collection has more than 500,000 items.

        Example:
            ```python
            labels = mine.labels("butina", 0.6)
            sizes = numpy.bincount(labels)[1:]
            ```
        """
        with translate_validation_errors():
            request = ClusteredFields.model_validate({"method": method, "threshold": threshold})
        return self._labels(request)

    def lineage(
        self,
        before: str | None = None,
        *,
        method: ClusterMethod = "butina",
        threshold: float | None = None,
        limit: int | None = None,
    ) -> Table:
        """Return the changes of clusters since an earlier generation, those of the largest clusters first.

        Both generations are clustered by the same method and threshold. Items are the same if their structures are,
        whatever their ids. A cluster is split if its items are in several later clusters, and merged if its items come
        from several earlier ones. It grew, shrank or has its items replaced if all items that remain stay together and
        no others join but added ones. It appeared if all of its items were added, and vanished if all were removed.

        Args:
            before: Id of the earlier generation, or its beginning. The default is the generation that was published
                before this one.
            method: Clustering method, as in `clusters`.
            threshold: Similarity threshold, as in `clusters`.
            limit: Maximum number of rows. The default is all.

        Returns:
            One row for each two clusters of a change that share items: change int32, the number of the change; event
            string: grew, shrank, replaced, split, merged, appeared or vanished; before and after int32, the numbers of
            the clusters in their generations, null if the cluster appeared or vanished; size_before and size_after
            int32; shared int32, the number of items in both; added and removed int32, the number of items of the
            cluster that only its generation has; and smiles or structure, and names, of the center of the later
            cluster, or of the earlier one if it vanished. `note` counts the changes, the added and the removed items.

        Raises:
            Conflict: If `before` is None and there is no earlier generation, or if `method` is `scaffold` and the items
                are not molecules.
            NotFound: If the collection has no generation with this id.
            InvalidInput: If an argument is out of range.

        Example:
            ```python
            mine.append(["CCCO"])
            changes = mine.lineage()
            print(changes.note)
            merged = [row for row in changes if row["event"] == "merged"]
            ```
        """
        require_limit(limit, "rows")
        with translate_validation_errors():
            request = ClusteringFields.model_validate({"method": method, "threshold": threshold})
        rows, totals = self._lineage(before, request, limit)
        return Table(rows, note=totals.text)

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
        complete: bool = False,
    ) -> Table:
        """Return activity cliffs: pairs of similar items that differ in a property.

        The first result without pairs that the collection's top-k limit truncated issues a `TruncatedPairsWarning`.

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
            complete: Whether to compare all items again, by an exact join without the top-k limit, instead of the
                stored neighbors. Only the pairs of the result are kept in memory.

        Returns:
            One row per pair, the largest quantity first: a and b int32, the ids of the items; similarity float32;
            difference float64; sali float64, infinite if the similarity is 1; and smiles or structure, names and the
            property of both items, with suffixes such as smiles_a and smiles_b.

        Raises:
            InvalidInput: If an argument is out of range, or there is no such numeric property. The error lists the
                numeric properties.
            Conflict: If `complete` is set and the collection is read from a server.

        Example:
            ```python
            mine.cliffs("molwt", min_similarity=0.6, max_similarity=0.95, limit=100)
            mine.cliffs("molwt", by="sali", complete=True)
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
        cliffs = self._cliffs(request, limit, complete)
        self._warn_of_truncated_pairs(complete)
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
            source["substructure"] = substructure
        if ids is not None:
            source["ids"] = integer_ids(ids).tolist()
        fields = {"count": count, "method": method, "threshold": threshold, "from": source or None}
        with translate_validation_errors():
            request = PickBody.model_validate_json(request_json(fields))
        picks = self._pick(request)
        return Table(add_item_columns({"id": picks.ids, "nearest": picks.nearest}, self._rows(picks.ids)))
