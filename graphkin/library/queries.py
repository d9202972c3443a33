"""Methods of a collection that return items: by id, by conditions, by similarity."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from graphkin.collection.batches import add_item_columns, join_items
from graphkin.collection.structures import require_molecules
from graphkin.library.base import CollectionBase, require_limit
from graphkin.library.data import query_structure
from graphkin.library.request_arguments import integer_ids, request_json, require_id
from graphkin.library.table import Table
from graphkin.protocol.descriptors import DESCRIPTORS
from graphkin.protocol.errors import require
from graphkin.protocol.requests import QueryBody, SearchBatchBody, SearchBody, structure_list
from graphkin.protocol.validation import translate_validation_errors
from graphkin.store.records import Float32, Int32


class Queries(CollectionBase):
    """The methods of a collection that return items."""

    def search(
        self,
        structure: Any = None,
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
                fingerprint in hexadecimal. Or an RDKit molecule.
            smiles: A SMILES.
            inchi: An InChI.
            molblock: A molblock (the structure part of an SDF record).
            graph: A graph, as a mapping with `edges` (pairs of node numbers from 0) and optionally `num_nodes` and
                `labels`.
            fingerprint: A fingerprint in hexadecimal, as in FPS files.
            vector: Numbers, as many as the collection's vectors have.
            measure: A similarity measure other than the collection's own: `{"name": "dice"}`, `{"name": "cosine"}`,
                `{"name": "counts"}` or `{"name": "tversky", "alpha": 0.9, "beta": 0.1}`.
                `graphkin.protocol.measure.Measure` has their formulas.
            filters: Conditions on properties and names, as in `query`. Only items that pass all of them are hits.
            substructure: A substructure, as in `query`. Only items that contain it are hits.
            min_similarity: Smallest similarity of a hit, above 0 and at most 1.
            limit: Maximum number of hits, up to 1,000.

        Returns:
            The table of `items`, one row per hit, most similar first, with similarity float32 after id.

        Raises:
            InvalidInput: If an argument is out of range, or the query structure cannot be read.

        Example:
            ```python
            mine.search("CCO", limit=5).to_pandas()
            mine.search("CCO", filters=[{"property": "molwt", "max": 300}], min_similarity=0.2)
            mine.search("CCO", measure={"name": "tversky", "alpha": 0.9, "beta": 0.1})
            ```
        """
        text = None if structure is None else query_structure(structure)
        structures = {"structure": text, "smiles": smiles, "inchi": inchi, "molblock": molblock, "graph": graph}
        structures |= {"fingerprint": fingerprint, "vector": None if vector is None else np.asarray(vector).tolist()}
        require(
            any(value is not None for value in structures.values()),
            "query structure",
            None,
            f"exactly one of {', '.join(structures)}",
            hint='pass a structure, such as "CCO"',
        )
        fields = {
            **structures,
            "measure": measure,
            "filters": filters and [*filters],
            "substructure": substructure,
            "min_similarity": min_similarity,
            "limit": limit,
        }
        with translate_validation_errors():
            request = SearchBody.model_validate_json(request_json(fields))
        return self._hits_table(self._search(request))

    def query(
        self,
        *,
        filters: Sequence[Mapping[str, Any]] = (),
        name: str | None = None,
        substructure: str | Mapping[str, str] | None = None,
        similar: Mapping[str, Any] | None = None,
        scaffold: str | None = None,
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
            scaffold: A Bemis-Murcko scaffold as SMILES. Only molecules with exactly this scaffold are returned; an
                empty one selects the molecules without rings. It excludes `similar`.
            sort: Column to sort by. The default is similarity if `similar` is set, most similar first, and id
                otherwise. Items without a value come last. Items with equal values are sorted by id.
            descending: Whether the largest value comes first.
            columns: Columns to return, as in `items`.
            limit: Maximum number of items. The default is all.

        Returns:
            The table of `items`, with similarity float32 after id if `similar` is set. A property called similarity is
            then in the column item_similarity.

        Raises:
            InvalidInput: If there is no such property or column. The error lists the existing ones.

        Example:
            ```python
            light = mine.query(filters=[{"property": "molwt", "max": 150}], sort="molwt", limit=10)
            phenols = mine.query(substructure="[OX2H]c", columns=["smiles", "molwt"])
            similar = mine.query(similar={"smiles": "CCO", "min_similarity": 0.2})
            phenyls = mine.query(scaffold="c1ccccc1")
            ```
        """
        require_limit(limit, "items")
        order = None if sort is None else {"by": sort, "descending": descending}
        conditions = {"filters": [*filters], "name": name, "substructure": substructure}
        fields = {**conditions, "similar": similar, "scaffold": scaffold, "sort": order}
        with translate_validation_errors():
            request = QueryBody.model_validate_json(request_json(fields))
        selection = self._query(request, limit)
        items = self.items(columns=columns, ids=selection.ids)
        if selection.similarity is None:
            return items
        return Table(add_item_columns({"id": selection.ids, "similarity": selection.similarity}, items.arrow))

    def search_batch(
        self,
        structures: Iterable[Any],
        *,
        min_similarity: float | None = None,
        limit: int = 10,
    ) -> Table:
        """Search for many structures at once, much faster than by as many calls of `search`.

        Args:
            structures: Up to 10,000 query structures. Each is text in the format of the collection's items (for
                molecules a SMILES), an RDKit molecule, or a mapping with exactly one of `smiles`, `inchi`, `molblock`,
                `graph`, `fingerprint`, `vector`, `structure` and `name`, the name of an item. None and NaN cannot be
                read.
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
        fields = {
            "structures": [*map(query_structure, structure_list(structures))],
            "min_similarity": min_similarity,
            "limit": limit,
        }
        with translate_validation_errors():
            request = SearchBatchBody.model_validate_json(request_json(fields))
        rows, items = join_items(*self._search_batch(request), self._rows)
        return Table(add_item_columns({name: rows[name] for name in rows.column_names}, items))

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
        require_limit(limit, "neighbors")
        with translate_validation_errors():
            fields = {"filters": [*filters], "substructure": substructure}
            conditions = QueryBody.model_validate_json(request_json(fields))
        require_id(id)
        return self._hits_table(self._neighbors(self._item_id(id, smiles, name), min_similarity, conditions, limit))

    def item(self, id: int | None = None, *, smiles: str | None = None, name: str | None = None) -> Table:
        """Return one item. Pass exactly one of `id`, `smiles` and `name`.

        Args:
            id: Id of the item.
            smiles: Structure of the item.
            name: Name of the item.

        Returns:
            The table of `items`, with one row.

        Raises:
            NotFound: If there is no such item.
            InvalidInput: If several items share the name. The error lists their ids.

        Example:
            ```python
            mine.item(name="aspirin")
            ```
        """
        require_id(id)
        return self.items(ids=[self._item_id(id, smiles, name)])

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
        columns = [columns] if isinstance(columns, str) else columns
        selection = None if columns is None else [*dict.fromkeys(["id", *columns])]
        items = self._range(selection, start, stop) if ids is None else self._rows(integer_ids(ids), selection)
        return Table(items) if selection is None else Table(items).select(selection)

    def descriptors(
        self,
        *,
        ids: Sequence[int] | Int32 | None = None,
        filters: Sequence[Mapping[str, Any]] = (),
        substructure: str | Mapping[str, str] | None = None,
        columns: Sequence[str] = (),
    ) -> Table:
        """Return the molecular descriptors of molecules, computed by RDKit.

        The first call computes the descriptors of the whole collection, which takes about 2 ms per molecule on one
        core. They are then read from a cache. `items`, `query` and other methods accept the names of the columns, too.

        Args:
            ids: Ids of the molecules, in the order of the result. The default is all molecules that meet the
                conditions.
            filters: Conditions as in `query`, without `ids`.
            substructure: A substructure as in `query`, without `ids`.
            columns: Further columns to return, as in `items`, such as an activity.

        Returns:
            One row per molecule: id, smiles, names, `columns`, and descriptor.molecular_weight in g/mol,
            descriptor.heavy_atoms, descriptor.rings, descriptor.clogp (Crippen), descriptor.tpsa in Å²,
            descriptor.hbd, descriptor.hba, descriptor.rotatable_bonds, descriptor.qed, descriptor.fsp3 and
            descriptor.formal_charge, all float64, null where RDKit computes none.

        Raises:
            InvalidInput: If an argument is out of range, or `ids` is combined with conditions.
            Conflict: If the items are not molecules.

        Example:
            ```python
            mine.descriptors(filters=[{"property": "descriptor.qed", "min": 0.4}]).to_pandas()
            ```
        """
        require_molecules(self.manifest, "molecular descriptors")
        titles = ["smiles", "names", *([columns] if isinstance(columns, str) else columns), *DESCRIPTORS]
        if ids is None:
            return self.query(filters=filters, substructure=substructure, columns=titles)
        require(
            not filters and substructure is None,
            "arguments",
            "ids with filters or substructure",
            "ids, or conditions",
            hint="leave one of them out",
        )
        return self.items(ids=ids, columns=titles)

    def descriptors_of(self, structure: Any) -> dict[str, float | None]:
        """Return the molecular descriptors of a structure, which need not be an item.

        The structure is first standardized as the collection does.

        Args:
            structure: A SMILES, or an RDKit molecule.

        Returns:
            The values by name, such as `descriptor.qed`, None where RDKit computes none.

        Raises:
            InvalidInput: If the structure cannot be read.
            Conflict: If the items of the collection are not molecules.

        Example:
            ```python
            mine.descriptors_of("CCO")["descriptor.molecular_weight"]
            ```
        """
        require_molecules(self.manifest, "molecular descriptors")
        return self._structure_descriptors(query_structure(structure))

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
