"""What is asked of a collection, wherever it lies: the port that `stored.py` and `served.py` implement."""

import json
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, Unpack

import numpy as np
import pyarrow as pa

from graphkin.collection.cliffs import Cliffs, cliffs_table
from graphkin.collection.clusters.core import Core
from graphkin.collection.picking import Picked
from graphkin.collection.queries import join_items
from graphkin.collection.selection import Selected
from graphkin.library.table import Table
from graphkin.protocol.errors import InvalidInput, TruncatedPairsWarning, require
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
from graphkin.protocol.validation import refusing
from graphkin.protocol.values import MAX_CLIFFS, By, ClusterMethod, Picking, PolicyName
from graphkin.similarity.hits import Matches
from graphkin.store.records import Float32, Int32, Int64

if TYPE_CHECKING:
    from graphkin.client.options import PolicyOptions
    from graphkin.trainer.features.corpus import Corpus
    from graphkin.trainer.geometric import Drawn, PositivesFeed

_FIXED = ("id", "smiles", "structure", "names", "inchikey")


class Found(NamedTuple):
    """Items (n,) int32 and their similarity (n,) float32 to what was asked about, most similar first."""

    ids: Int32
    similarity: Float32


class Collection(ABC):
    """One generation of a collection, also after another was published.

    Answers are `Table`s. Those about items have the columns id, similarity, smiles (of graphs: structure, as JSON),
    names and properties. `min_similarity` of stored edges is from the stored threshold, the default, to 1; of a search
    it is above 0. Errors are those of `graphkin.protocol.errors`: `InvalidInput`, `NotFound`, `Deleted` and others,
    which say what was given, what was expected and what to do.

    name, kind  kind is `molecule`, `graph` and the like.   generation  its id.
    size        items; their ids are 0 to size - 1.         manifest    recipe, versions, inputs, counts.
    """

    def __init__(self, name: str, manifest: Manifest) -> None:
        self.name = name
        self.manifest = manifest
        self._corpus: Corpus | None = None

    @property
    def kind(self) -> str:
        return self.manifest.kind

    @property
    def generation(self) -> str:
        return self.manifest.generation

    @property
    def size(self) -> int:
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
        """The items most similar to a structure, given in exactly one way: the whole collection, exactly, uncapped.

        structure is text as items of the collection are written: a SMILES, a graph or a vector as JSON, a fingerprint.
        graph is that JSON as a mapping; fingerprint is in hexadecimal, as in FPS files.
        measure is another than the collection's own, such as {"name": "tversky", "alpha": 0.9, "beta": 0.1}; see
        `graphkin.protocol.measure.Measure`.
        filters and substructure are as in `query`: the most similar of those that pass are found. limit is at most
        1,000.
        """
        written = {"structure": structure, "smiles": smiles, "inchi": inchi, "molblock": molblock, "graph": graph}
        written |= {"fingerprint": fingerprint, "vector": None if vector is None else np.asarray(vector).tolist()}
        given = {
            **written,
            "measure": measure,
            "filters": filters and [*filters],
            "substructure": _drawn(substructure),
            "min_similarity": min_similarity,
            "limit": limit,
        }
        said = {name: value for name, value in given.items() if value is not None}
        with refusing():
            asked = SearchBody.model_validate_json(json.dumps(said))
        return self._beside(self._search(asked))

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
        """The items that pass all filters, all of them or the first `limit`, with a column for each property.

        filters are such as {"property": "logP", "min": 1, "max": 3}, with `equals`, `in` and `contains` for what else
        is asked of a property or of `names`; name is how a name begins. Texts are compared in any case.
        substructure is what molecules have in them: a SMARTS, or a molecule such as {"smiles": "c1ccncc1"}, also as
        `inchi` or `molblock`. The first such call describes all molecules that it is about, which takes a while.
        similar is a structure as in `search`, with `min_similarity`: items get a column similarity. sort is a column,
        by default similarity where there is one, most similar first, else id; what lacks it comes last, equals by id.
        columns are as in `items`, whose table it is but for the similarity. Raises `InvalidInput` naming the
        properties or columns for another.
        """
        require(limit is None or limit > 0, "limit", limit, "1 or more, or None")
        order = None if sort is None else {"by": sort, "descending": descending}
        passed = {"filters": [*filters], "name": name, "substructure": _drawn(substructure)}
        given = {**passed, "similar": similar, "sort": order}
        with refusing():
            asked = QueryBody.model_validate_json(json.dumps({k: v for k, v in given.items() if v is not None}))
        found = self._query(asked, limit)
        table = self.items(columns=columns, ids=found.ids).arrow
        if found.similarity is not None:
            table = table.add_column(1, "similarity", pa.array(found.similarity))
        return Table(table)

    def search_batch(
        self,
        structures: Sequence[str | Mapping[str, Any]],
        *,
        min_similarity: float | None = None,
        limit: int = 10,
    ) -> Table:
        """What `search` finds for each of up to 10,000 structures, at a fraction of the time: one row a hit.

        A structure is a SMILES, or in collections of other kinds text as their items are written, or a mapping with one
        of `smiles`, `inchi`, `molblock`, `graph`, `fingerprint`, `vector`, `structure`, or the `name` of an item.
        Columns: query int32, the number of the structure; error; and those of `search`. A structure that cannot be
        read, or a name that no item has, has one row with its error, in which these are null. limit is at most 100.
        """
        given = {"structures": structure_list(structures), "min_similarity": min_similarity, "limit": limit}
        said = {name: value for name, value in given.items() if value is not None}
        with refusing():
            asked = SearchBatchBody.model_validate_json(json.dumps(said))
        rows, items = join_items(*self._search_batch(asked), self._rows)
        shown = self._shown(items)
        return Table(pa.table({**dict(zip(rows.column_names, rows.columns, strict=True)), **shown}))

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
        """The stored neighbours of one item, similarity descending, then id; at most `limit`, by default all.

        With filters and substructure, as in `query`, those that pass. The item is told in one way: by id, structure or
        name. Raises `NotFound`, and `InvalidInput` naming the ids where several items share a name.
        """
        require(limit is None or limit > 0, "limit", limit, "1 or more, or None")
        with refusing():
            said = {"filters": [*filters], "substructure": _drawn(substructure)}
            passed = QueryBody.model_validate_json(json.dumps(said))
        return self._beside(self._neighbors(self._the_item(id, smiles, name), min_similarity, passed, limit))

    def clusters(
        self,
        *,
        method: ClusterMethod = "butina",
        threshold: float | None = None,
        property: str | None = None,
        limit: int | None = None,
    ) -> Table:
        """All items in clusters, the largest first: one row a cluster, of all or of the first `limit`.

        `butina`: Taylor and Butina's, at a threshold, by default 0.7; `scaffold`: molecules by Bemis and Murcko's
        scaffolds; `single`: by single linkage in the stored hierarchy, by default at the smallest threshold at which
        the largest cluster holds a tenth of all items at most, or 10. They are computed once on a machine.
        Columns: cluster int32, from 1; size int32; centre int32, the id of the item that it is named after; of this
        smiles (of graphs: structure) and names; and with a property, one with numbers, min, max, mean and values, how
        many members have one. Raises `InvalidInput`, and `Conflict` for scaffolds of items that are no molecules.
        """
        require(limit is None or limit > 0, "limit", limit, "1 or more, or None")
        given = {"method": method, "threshold": threshold, "property": property}
        with refusing():
            asked = ClusteredFields.model_validate(given)
        found = self._clusters(asked, limit)
        items = self._rows(found["centre"].to_numpy())
        own = {name: items[name] for name in (self.manifest.structure, "names")}
        named = {name: found[name] for name in found.column_names}
        return Table(pa.table({**{name: named.pop(name) for name in ("cluster", "size", "centre")}, **own, **named}))

    def cluster(
        self, number: int, *, method: ClusterMethod = "butina", threshold: float | None = None, limit: int | None = None
    ) -> Table:
        """The members of one of `clusters`, from 1: all or the first `limit`, its centre first, then by id, with the
        columns of `items`. Raises `NotFound` for one that there is not."""
        require(limit is None or limit > 0, "limit", limit, "1 or more, or None")
        with refusing():
            asked = ClusteredFields.model_validate({"method": method, "threshold": threshold})
        return Table(self._rows(self._cluster(number, asked, limit)))

    def core(self, number: int, *, method: ClusterMethod = "butina", threshold: float | None = None) -> Core:
        """The largest substructure that the members of one of `clusters` share, looked for during 2 s: of its centre
        and 99 others, evenly by their place, where it has more.

        smarts: as RDKit's HasSubstructMatch finds it in each of them; smiles: cut from the centre, with `*` where more
        hangs on it there; both None where they share nothing. atoms: of it; complete: False if time ran out, so that
        there may be a larger one. Raises as `cluster`, and `Conflict` for items that are no molecules.
        """
        with refusing():
            asked = ClusteringFields.model_validate({"method": method, "threshold": threshold})
        return self._core(number, asked)

    def map(
        self,
        *,
        property: str | None = None,
        method: ClusterMethod | None = None,
        threshold: float | None = None,
    ) -> Table:
        """Where each item lies on a map of the whole, in id order: the spanning forest of the hierarchy laid out, and
        below it what is alone. It is computed once on a machine.

        Columns: id int32; x, y float32, from 0 to 1, y downwards; value float64, of a property with numbers; cluster
        int32, from 1, of `clusters` by a method. Raises as `clusters`; of a server `Conflict` for a collection of more
        than 500,000 items.
        """
        with refusing():
            asked = MapQuery(property=property, method=method, threshold=threshold)
        return Table(self._map(asked))

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
        """Activity cliffs: pairs of stored neighbors that differ in a property, the largest difference first, or the
        largest SALI (`by="sali"`), the difference over 1 - similarity; equals by their difference, then by their ids.
        Return at most `limit`, which is at most 100,000.

        Similarities are from min_similarity, by default 0.7 or the stored threshold if that is larger, to
        max_similarity. Pairs with identical fingerprints are left out; `min_similarity=1, exclude_identical=False`
        lists them alone. property is one with numbers, as `items` calls it; filters and substructure are as in `query`,
        of both items. Columns: a, b int32; similarity float32; difference, sali float64, infinite where the similarity
        is 1; and of both ends smiles (of graphs: structure), names and the property, such as smiles_a and smiles_b.
        Raises `InvalidInput` naming the properties for another.
        """
        require(0 < limit <= MAX_CLIFFS, "limit", limit, f"1 to {MAX_CLIFFS:,}")
        given = {
            "property": property,
            "by": by,
            "min_similarity": min_similarity,
            "max_similarity": max_similarity,
            "min_difference": min_difference,
            "exclude_identical": exclude_identical,
        }
        with refusing():
            drawn = json.dumps(dict(substructure)) if isinstance(substructure, Mapping) else substructure
            asked = CliffsQuery.model_validate({**given, "filters": json.dumps([*filters]), "substructure": drawn})
        found = self._cliffs(asked, limit)
        self._warn_of_truncated_pairs()
        return Table(cliffs_table(found, self.manifest, property, self._rows))

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
        """A diverse subset of `count` items, at most 10,000, in the order in which they are picked: `maxmin`, each the
        least similar to those before it, or `sphere`, any that is not near one before it, by similarity ≥ threshold,
        and perhaps fewer.

        Of everything, or of the items with some ids, at most 10,000, that pass filters and have a substructure, both
        as in `query`. The same items give the same subset, and of a larger count one that begins so. Columns: those of
        `items`, and after id nearest float32, the similarity to the most similar item picked before. Raises
        `InvalidInput` for more than there are.
        """
        source: dict[str, Any] = {}
        if filters:
            source["filters"] = [*filters]
        if substructure is not None:
            source["substructure"] = substructure if isinstance(substructure, str) else dict(substructure)
        if ids is not None:
            source["ids"] = np.asarray(ids, np.int64).tolist()
        given = {"count": count, "method": method, "threshold": threshold, "from": source or None}
        with refusing():
            asked = PickBody.model_validate_json(json.dumps(given))
        found = self._pick(asked)
        return Table(self._rows(found.ids).add_column(1, "nearest", pa.array(found.nearest)))

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
        """The positive sets of these anchors, in this order, one row each: anchor int32; count uint16; isolated bool;
        positives, k int32 each, -1 in the rows of isolated anchors; visits, k uint16 each.

        The same seed, epoch, policy and generation give the same positives, wherever they are asked for. parameters
        are those of `graphkin.protocol.policy.Policy`.
        """

    def edges(self, *, min_similarity: float | None = None, start: int = 0, stop: int | None = None) -> Table:
        """The stored edges by source, then target: source < target int32; similarity float32.

        Those with start ≤ source < stop, by default all. Warns (`TruncatedPairsWarning`) where the top-k limit of the
        collection left similar pairs out, as `cliffs` does.
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
        """Items with a column for each property: all of them, `start` to `stop` - 1, or those with these ids.

        columns are id, smiles or structure, names, inchikey where there are any, and the properties; with `columns`, id
        and these in this order. Raises `InvalidInput` naming the columns for another.
        """
        wanted = None if columns is None else [*dict.fromkeys(["id", *columns])]
        found = self._range(wanted, start, stop) if ids is None else self._rows(np.asarray(ids, np.int64))
        return Table(found) if wanted is None else Table(found).select(wanted)

    def column(self, name: str) -> Iterator[list[Any]]:
        """One column of all items in id order, a block of them at a time."""
        for batch in self.items(columns=[name]).arrow.to_batches():
            yield batch[name].to_pylist()

    def to_pyg(self, *, workers: int = 1) -> list[Any]:
        """Every item as a `torch_geometric.data.Data`, in id order, with the features that the trainer learns from;
        `graphkin.trainer.geometric.graphs` says which. Needs the extra `trainer`.

        workers: processes that read SMILES.
        """
        with _needing_torch():
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
        """Batches of anchors and of their positives, epoch by epoch, for `DataLoader(feed, batch_size=None)`.

        Drawn as `positives` draws them, of features as `to_pyg` has them. Needs the extra `trainer`.
        """
        with _needing_torch():
            from graphkin.trainer.geometric import Drawn, PositivesFeed

            def draw(anchors: Int32, epoch: int) -> "Drawn":
                drawn = self.positives(anchors, policy, seed=seed, epoch=epoch, **parameters).arrow.combine_chunks()
                positives = drawn["positives"].combine_chunks().flatten().to_numpy()
                return Drawn(drawn["anchor"].to_numpy(), positives.reshape(len(anchors), -1))

            return PositivesFeed(self._features(workers), draw, batch_size, seed)

    def _features(self, workers: int) -> "Corpus":
        if self._corpus is None:
            from graphkin.trainer.feed.kinds import features

            self._corpus = features(self, workers)
        return self._corpus

    @abstractmethod
    def _search(self, asked: SearchBody) -> Found: ...

    @abstractmethod
    def _query(self, asked: QueryBody, limit: int | None) -> Selected:
        """All that pass, or the first `limit`; pages are not asked for."""

    @abstractmethod
    def _search_batch(self, asked: SearchBatchBody) -> tuple[pa.Array, Matches]:
        """The errors of the structures, text or null, and the hits of the others, by the number of the structure."""

    @abstractmethod
    def _clusters(self, asked: ClusteredFields, limit: int | None) -> pa.Table:
        """cluster, size and centre int32; with a property min, max, mean float64 and values int64."""

    @abstractmethod
    def _cluster(self, number: int, asked: ClusteredFields, limit: int | None) -> Int32: ...

    @abstractmethod
    def _core(self, number: int, asked: ClusteringFields) -> Core: ...

    @abstractmethod
    def _map(self, asked: MapQuery) -> pa.Table: ...

    @abstractmethod
    def _cliffs(self, asked: CliffsQuery, limit: int) -> Cliffs:
        """The first `limit`; pages are not asked for."""

    @abstractmethod
    def _pick(self, asked: PickBody) -> Picked: ...

    @abstractmethod
    def _the_item(self, id: int | None, smiles: str | None, name: str | None) -> int:
        """The id of the item that is asked about, in one way."""

    @abstractmethod
    def _neighbors(self, id: int, min_similarity: float | None, passed: QueryBody, limit: int | None) -> Found:
        """Those that pass filters and have the substructure of a query."""

    @abstractmethod
    def _edges(self, min_similarity: float | None, start: int, stop: int | None) -> pa.Table: ...

    @abstractmethod
    def _range(self, columns: Sequence[str] | None, start: int, stop: int | None) -> pa.Table:
        """Some columns, by default all, of a range of items, in the order that items have them."""

    @abstractmethod
    def _rows(self, ids: Int32 | Int64) -> pa.Table:
        """All columns of some items, in the order of `ids`."""

    def _beside(self, found: Found) -> Table:
        items = self._rows(found.ids)
        return Table(pa.table({"id": items["id"], "similarity": pa.array(found.similarity), **self._shown(items)}))

    def _shown(self, items: pa.Table) -> dict[str, Any]:
        """What answers show of items."""
        properties = [name for name in items.column_names if name not in _FIXED]
        return {
            self.manifest.structure: items[self.manifest.structure],
            "names": items["names"],
            "properties": items.select(properties).to_struct_array(),
        }

    @abstractmethod
    def close(self) -> None:
        """Let go of files or connections; garbage collection does so too."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        described = f"{self.size:,} items ({self.kind}), {self.manifest.pairs_text}, generation {self.generation[:12]}"
        return f"{type(self).__name__}({self.name!r}, {described})"

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


def _drawn(substructure: str | Mapping[str, str] | None) -> str | dict[str, str] | None:
    """As JSON can hold it."""
    return dict(substructure) if isinstance(substructure, Mapping) else substructure


@contextmanager
def _needing_torch() -> Iterator[None]:
    """A missing package is an `InvalidInput` that says which extra brings it."""
    try:
        yield
    except ModuleNotFoundError as error:
        hint = "pip install 'graphkin[trainer]', or '.[trainer]' in a clone"
        raise InvalidInput(f"graphs of PyTorch Geometric need {error.name}", hint=hint) from error


class Collections(ABC):
    """The collections of a store or a server, by name: `graphkin.open("store")["mine"]`."""

    @abstractmethod
    def collection(self, name: str, generation: str | None = None) -> Collection:
        """One generation of a collection, by default the one that is current now; also by how its id begins.

        Raises `NotFound` naming the collections there are, `Deleted` for a generation that was deleted, and
        `InvalidInput` where several begin so.
        """

    def __getitem__(self, name: str) -> Collection:
        return self.collection(name)

    @abstractmethod
    def __iter__(self) -> Iterator[str]:
        """The names, in order."""

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return any(each == name for each in self)

    @abstractmethod
    def close(self) -> None:
        """Let go of files or connections, of the collections too; garbage collection does so as well."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self)})"
