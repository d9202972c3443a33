"""The part of a collection that its public methods build on: what it is, the data that it reads, and result tables.

`stored.py` implements the abstract methods for a store that this process reads, and `served.py` for a server.
"""

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from html import escape
from numbers import Integral
from typing import BinaryIO, NamedTuple

import pyarrow as pa

from graphkin.collection.batches import add_item_columns
from graphkin.collection.cliffs import Cliffs
from graphkin.collection.clusters.lineage import LineageTotals
from graphkin.collection.clusters.mcs import CommonSubstructure
from graphkin.collection.clusters.partition import ClusterCounts
from graphkin.collection.picking import DiverseSubset
from graphkin.collection.sar.rgroups import RGroups
from graphkin.collection.selection import Selection
from graphkin.ingest.info import CollectionInfo
from graphkin.library.table import Table
from graphkin.protocol.errors import Closed, TruncatedPairsWarning, require
from graphkin.protocol.manifest import Manifest
from graphkin.protocol.matched_pairs import ItemMatchedPairsQuery, MatchedPairsQuery
from graphkin.protocol.requests import (
    CliffsQuery,
    ClusteredFields,
    ClusteringFields,
    MapQuery,
    PickBody,
    QueryBody,
    SearchBatchBody,
    SearchBody,
)
from graphkin.protocol.rgroups import RGroupsBody
from graphkin.protocol.scaffold_tree import ScaffoldTreeBody
from graphkin.protocol.values import Exported
from graphkin.runtime.closing import Closeable
from graphkin.similarity.hits import Matches
from graphkin.store.records import Float32, Int32, Int64


class Hits(NamedTuple):
    """Items and their similarity to a query structure or an item, most similar first.

    Attributes:
        ids: (n,) int32 item ids.
        similarity: (n,) float32 in [0, 1].
    """

    ids: Int32
    similarity: Float32


def closed_error(noun: str, name: str) -> Closed:
    """Return the error of a method that is called after `close`.

    Args:
        noun: The closed object, such as "collection".
        name: Its name or location.
    """
    return Closed(
        f"the {noun} is closed",
        given=name,
        expected=f"an open {noun}",
        hint="open it again with graphkin.open or graphkin.connect, and close it after the last call",
    )


class CollectionBase(Closeable):
    """One generation of a collection: its attributes, the data that subclasses read, and how it is shown and closed."""

    def __init__(self, name: str, manifest: Manifest) -> None:
        self.name = name
        self.manifest = manifest
        self._has_warned = False

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
    def _clusters(self, request: ClusteredFields, limit: int | None) -> tuple[pa.Table, ClusterCounts]:
        """Return the columns of `clusters`, without those of the central items, and the numbers of all clusters."""

    @abstractmethod
    def _lineage(
        self, before: str | None, request: ClusteringFields, limit: int | None
    ) -> tuple[pa.Table, LineageTotals]:
        """Return the table of `lineage`, and the numbers of all changes."""

    @abstractmethod
    def _cluster(self, number: int, request: ClusteredFields, limit: int | None) -> Int32:
        """Return the ids of the members of a cluster, the center first."""

    @abstractmethod
    def _mcs(self, number: int, request: ClusteringFields) -> CommonSubstructure:
        """Return the maximum common substructure of a cluster."""

    @abstractmethod
    def _matched_pairs(self, request: MatchedPairsQuery, limit: int | None) -> tuple[pa.Table, dict[str, int]]:
        """Return the columns of `matched_pairs`, and the numbers of uncut molecules by reason.

        The cursor and the limit of the request are ignored.
        """

    @abstractmethod
    def _matched_pairs_of(
        self, id: int, request: ItemMatchedPairsQuery, limit: int | None
    ) -> tuple[pa.Table, str | None]:
        """Return the columns of `matched_pairs_of`, and the reason if the item is not cut.

        The cursor and the limit of the request are ignored.
        """

    @abstractmethod
    def _rgroups(self, request: RGroupsBody) -> RGroups:
        """Return the R groups of a series."""

    @abstractmethod
    def _map(self, request: MapQuery) -> pa.Table:
        """Return the columns of `map`."""

    @abstractmethod
    def _labels(self, request: ClusteredFields) -> Int32:
        """Return the cluster of each item, from 1."""

    @abstractmethod
    def _cliffs(self, request: CliffsQuery, limit: int, complete: bool) -> Cliffs:
        """Return the first `limit` pairs. The cursor of the request is ignored."""

    @abstractmethod
    def _pick(self, request: PickBody) -> DiverseSubset:
        """Return the ids of the picked items, and the similarity of each to its nearest predecessor."""

    @abstractmethod
    def _scaffold_tree(self, request: ScaffoldTreeBody) -> tuple[pa.Table, int]:
        """Return the columns of `scaffold_tree`, and the number of molecules of the series.

        The limit and the cursor of the request are ignored.
        """

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
    def _edges(self, min_similarity: float | None, start: int, stop: int | None, complete: bool) -> pa.Table:
        """Return the columns of `edges`."""

    @abstractmethod
    def _range(self, columns: Sequence[str] | None, start: int, stop: int | None) -> pa.Table:
        """Return items `start` to `stop` - 1. The columns, by default all, keep their stored order."""

    @abstractmethod
    def _rows(self, ids: Int32 | Int64, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the items `ids`, in this order. The columns, by default all, keep their stored order."""

    @abstractmethod
    def _structure_descriptors(self, smiles: str) -> dict[str, float | None]:
        """Return the descriptors of a molecule by name."""

    @abstractmethod
    def _info(self) -> CollectionInfo:
        """Return the facts of `info`."""

    @abstractmethod
    def _rejections(self) -> pa.Table:
        """Return the columns of `rejections`."""

    @abstractmethod
    def _export(
        self,
        file: BinaryIO,
        content: Exported,
        format: str,
        *,
        columns: Sequence[str] | None,
        min_similarity: float | None,
        start: int,
        stop: int | None,
    ) -> None:
        """Write an export to a file, which can be positioned."""

    def _hits_table(self, hits: Hits) -> Table:
        return Table(add_item_columns({"id": hits.ids, "similarity": hits.similarity}, self._rows(hits.ids)))

    def _warn_of_truncated_pairs(self, complete: bool) -> None:
        """Warn once that results lack truncated pairs. The warning names the line that called a public method."""
        if not complete and not self._has_warned and self.manifest.truncation is not None:
            self._has_warned = True
            warnings.warn(f"{self.name}: {self.manifest.truncation}", TruncatedPairsWarning, stacklevel=3)

    @abstractmethod
    def close(self) -> None:
        """Release files or connections. Later calls raise `Closed`. Garbage collection releases them, too."""

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


def require_limit(limit: int | None, plural: str) -> None:
    """Raise `InvalidInput` unless a maximum number is None or at least 1.

    Args:
        limit: The number.
        plural: What it limits, such as "items".
    """
    require(
        limit is None or (isinstance(limit, Integral) and limit > 0),
        "limit",
        limit,
        "1 or more, or None",
        hint=f"leave limit out, or pass None for all {plural}",
    )
