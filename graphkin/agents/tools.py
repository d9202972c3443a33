"""The tools that agents call. Their annotations and docstrings are the schemas and descriptions that agents read."""

from collections.abc import Callable
from threading import Lock
from typing import Annotated, Any

import numpy as np
from cachetools import LRUCache
from pydantic import Field

from graphkin.agents.answers import MAX_ROWS, CollectionList, CollectionSummary, Information, Rows, rows_answer
from graphkin.library import Collection, Table
from graphkin.library.collections import Collections
from graphkin.protocol.values import BUTINA_THRESHOLD, By, ClusterMethod, Picking
from graphkin.similarity.hits import ranks_in_groups

_MAX_OPEN = 8  # number of generations that stay open
_MAX_STRUCTURES = 50
_MAX_HITS = 10  # of each structure of a list

Name = Annotated[str, Field(description="Name of the collection, as `collections` lists it.")]
Generation = Annotated[
    str | None,
    Field(description="Id of a generation, or its beginning, to read that of an earlier answer. Default: current."),
]
Filters = Annotated[
    list[dict[str, Any]] | None,
    Field(
        description="Conditions that items must meet. Each has `property`, or `property`: `names`, and one or more of "
        "`min`, `max`, `equals`, `in` (a list) and `contains`.",
        examples=[[{"property": "molwt", "max": 300}, {"property": "names", "contains": "acid"}]],
    ),
]
Substructure = Annotated[
    str | None, Field(description="SMARTS that items must contain. Molecules only.", examples=["[OX2H]c"])
]
MinSimilarity = Annotated[float | None, Field(description="Smallest similarity, above 0 and at most 1.")]
Id = Annotated[int | None, Field(description="Id of the item.")]
Structure = Annotated[str | None, Field(description="Structure of the item: a SMILES for molecules.")]
ItemName = Annotated[str | None, Field(description="Name of the item.")]
Method = Annotated[
    ClusterMethod,
    Field(
        description="butina: Taylor-Butina at a threshold. scaffold: Bemis-Murcko scaffolds of molecules. "
        "single: single linkage in the stored pairs."
    ),
]
Threshold = Annotated[
    float | None, Field(description=f"Similarity threshold. Default of butina: {BUTINA_THRESHOLD}; scaffold has none.")
]
Limit = Annotated[int, Field(ge=1, le=MAX_ROWS, description="Maximum number of rows.")]


class Tools:
    """Reading operations on the collections of a store or a server."""

    def __init__(self, collections: Collections) -> None:
        self._collections = collections
        self._opened: LRUCache[tuple[str, str], Collection] = LRUCache(_MAX_OPEN)
        self._lock = Lock()

    def all(self) -> list[Callable[..., Any]]:
        """Return the tools. The name of each method is the name of the tool."""
        return [
            self.collections,
            self.info,
            self.search,
            self.search_list,
            self.neighbors,
            self.item,
            self.query,
            self.clusters,
            self.cluster,
            self.cliffs,
            self.pick,
        ]

    def collections(self) -> CollectionList:
        """List the collections with their kinds, sizes and current generations."""
        opened = [self._open(name, None) for name in self._collections]
        return CollectionList(
            collections=[
                CollectionSummary(collection=each.name, generation=each.generation, kind=each.kind, items=each.size)
                for each in opened
            ]
        )

    def info(self, collection: Name, generation: Generation = None) -> Information:
        """Describe a collection: its size, origin, properties, recipe and similar pairs."""
        opened = self._open(collection, generation)
        manifest = opened.manifest
        return Information(
            collection=opened.name,
            generation=opened.generation,
            kind=opened.kind,
            items=opened.size,
            rejected=manifest.counts.rejected,
            duplicates=manifest.counts.duplicates,
            inputs=[each.name for each in manifest.inputs],
            published_at=manifest.published_at,
            properties=dict(manifest.properties),
            threshold=manifest.threshold,
            pairs=manifest.pairs_text,
            recipe=manifest.recipe,
        )

    def search(
        self,
        collection: Name,
        structure: Annotated[
            str,
            Field(
                description="Query structure in the format of the items: a SMILES; a graph or a vector as JSON; a "
                "fingerprint in hexadecimal."
            ),
        ],
        min_similarity: MinSimilarity = None,
        filters: Filters = None,
        substructure: Substructure = None,
        limit: Limit = 10,
        generation: Generation = None,
    ) -> Rows:
        """Return the items most similar to a structure, most similar first. Every item is compared.

        A structure that is not in the collection is a valid query.
        """
        opened = self._open(collection, generation)
        hits = opened.search(
            structure, min_similarity=min_similarity, filters=filters, substructure=substructure, limit=limit + 1
        )
        return rows_answer(opened, hits, limit)

    def search_list(
        self,
        collection: Name,
        structures: Annotated[
            list[str], Field(min_length=1, max_length=_MAX_STRUCTURES, description="Query structures, as in `search`.")
        ],
        min_similarity: MinSimilarity = None,
        limit: Annotated[int, Field(ge=1, le=_MAX_HITS, description="Maximum number of hits of each structure.")] = 1,
        generation: Generation = None,
    ) -> Rows:
        """Search for several structures at once and return the hits of each.

        The column query is the position of the structure in the list, from 0. A structure that cannot be read has one
        row with the reason in the column error.
        """
        opened = self._open(collection, generation)
        hits = opened.search_batch(structures, min_similarity=min_similarity, limit=limit + 1).arrow
        query = hits["query"].to_numpy()
        rank = ranks_in_groups(query)
        longer = np.count_nonzero(rank == limit)
        note = f"{longer} of the structures have more hits: raise limit, up to {_MAX_HITS}, or use `search`"
        return rows_answer(opened, Table(hits.filter(rank < limit)), len(query), [note if longer else None])

    def neighbors(
        self,
        collection: Name,
        id: Id = None,
        smiles: Structure = None,
        name: ItemName = None,
        min_similarity: MinSimilarity = None,
        filters: Filters = None,
        substructure: Substructure = None,
        limit: Limit = 10,
        generation: Generation = None,
    ) -> Rows:
        """Return the stored neighbors of an item of the collection, most similar first.

        Pass exactly one of id, smiles and name.
        """
        opened = self._open(collection, generation)
        hits = opened.neighbors(
            id,
            smiles=smiles,
            name=name,
            min_similarity=min_similarity,
            filters=filters or (),
            substructure=substructure,
            limit=limit + 1,
        )
        return rows_answer(opened, hits, limit, [_truncation(opened, "`search` compares every item")])

    def item(
        self,
        collection: Name,
        id: Id = None,
        smiles: Structure = None,
        name: ItemName = None,
        generation: Generation = None,
    ) -> Rows:
        """Return one item with its structure, names and properties. Pass exactly one of id, smiles and name.

        To look for items by a part of a name, use `query` with a condition on `names`.
        """
        opened = self._open(collection, generation)
        return rows_answer(opened, opened.item(id, smiles=smiles, name=name), 1)

    def query(
        self,
        collection: Name,
        filters: Filters = None,
        substructure: Substructure = None,
        sort: Annotated[str | None, Field(description="Column to sort by. Default: id.")] = None,
        descending: Annotated[bool, Field(description="Whether the largest value comes first.")] = False,
        columns: Annotated[list[str] | None, Field(description="Columns to return besides id. Default: all.")] = None,
        limit: Limit = 10,
        generation: Generation = None,
    ) -> Rows:
        """Return the items that meet all conditions, with their properties."""
        opened = self._open(collection, generation)
        items = opened.query(
            filters=filters or (),
            substructure=substructure,
            sort=sort,
            descending=descending,
            columns=columns,
            limit=limit + 1,
        )
        return rows_answer(opened, items, limit)

    def clusters(
        self,
        collection: Name,
        method: Method = "butina",
        threshold: Threshold = None,
        property: Annotated[str | None, Field(description="Numeric property to summarize for each cluster.")] = None,
        limit: Limit = 10,
        generation: Generation = None,
    ) -> Rows:
        """Divide all items into clusters of similar ones and return the largest clusters, one row each.

        The column centre is the id of the item that represents the cluster.
        """
        opened = self._open(collection, generation)
        clusters = opened.clusters(method=method, threshold=threshold, property=property, limit=limit + 1)
        return rows_answer(opened, clusters, limit, [clusters.note, _linkage_note(opened, method)])

    def cluster(
        self,
        collection: Name,
        number: Annotated[int, Field(description="Number of the cluster, as `clusters` returns it.")],
        method: Method = "butina",
        threshold: Threshold = None,
        limit: Limit = 10,
        generation: Generation = None,
    ) -> Rows:
        """Return the members of one cluster, its center first.

        Pass the same method and threshold as to `clusters`.
        """
        opened = self._open(collection, generation)
        members = opened.cluster(number, method=method, threshold=threshold, limit=limit + 1)
        return rows_answer(opened, members, limit, [_linkage_note(opened, method)])

    def cliffs(
        self,
        collection: Name,
        property: Annotated[str, Field(description="Numeric property, such as an activity.")],
        by: Annotated[
            By, Field(description="Rank pairs by difference, or by sali: difference divided by 1 - similarity.")
        ] = "difference",
        min_similarity: MinSimilarity = None,
        min_difference: Annotated[float, Field(description="Smallest difference of a pair.")] = 0.0,
        filters: Filters = None,
        substructure: Substructure = None,
        complete: Annotated[
            bool, Field(description="Whether to compare all pairs again, instead of reading the stored ones. Slower.")
        ] = False,
        limit: Limit = 10,
        generation: Generation = None,
    ) -> Rows:
        """Return activity cliffs: pairs of similar items that differ much in a property.

        The columns end with _a and _b for the two items of a pair. The smallest similarity is 0.7 by default.
        """
        opened = self._open(collection, generation)
        pairs = opened.cliffs(
            property,
            by=by,
            min_similarity=min_similarity,
            min_difference=min_difference,
            filters=filters or (),
            substructure=substructure,
            complete=complete,
            limit=limit + 1,
        )
        note = None if complete else _truncation(opened, "complete compares all pairs")
        return rows_answer(opened, pairs, limit, [note])

    def pick(
        self,
        collection: Name,
        count: Annotated[int, Field(ge=1, le=MAX_ROWS, description="Number of items to pick.")] = 10,
        method: Annotated[
            Picking,
            Field(
                description="maxmin: the item that is least similar to those picked so far, repeatedly. sphere: only "
                "items with a similarity below the threshold to each item picked so far, possibly fewer than count."
            ),
        ] = "maxmin",
        threshold: Annotated[float, Field(description="Threshold of sphere.")] = 0.7,
        filters: Filters = None,
        substructure: Substructure = None,
        generation: Generation = None,
    ) -> Rows:
        """Pick a diverse subset of the items.

        The column nearest is the highest similarity to an item that was picked before.
        """
        opened = self._open(collection, generation)
        picks = opened.pick(count, method=method, threshold=threshold, filters=filters or (), substructure=substructure)
        note = f"only {len(picks)} items meet the conditions and the threshold" if len(picks) < count else None
        return rows_answer(opened, picks, count, [note])

    def _open(self, name: str, generation: str | None) -> Collection:
        """Return a generation of a collection, opened once. Indexes and clusters stay in memory with it."""
        with self._lock:
            opened = self._collections.collection(name, generation)
            return self._opened.setdefault((name, opened.generation), opened)


def _truncation(collection: Collection, alternative: str) -> str | None:
    """Return the note that stored pairs are not all similar pairs; None if they are."""
    if collection.manifest.dropped == 0:
        return None
    return f"only stored pairs are read here ({collection.manifest.pairs_text}): {alternative}"


def _linkage_note(collection: Collection, method: ClusterMethod) -> str | None:
    """Return the note on clusters by single linkage, the only method that reads the stored pairs."""
    return _truncation(collection, "`info` has the numbers") if method == "single" else None
