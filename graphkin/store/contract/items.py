"""Tests that items, columns, names, rejections and fingerprints are read as they were written."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from graphkin.protocol.errors import Conflict, NotFound
from graphkin.store.base import Generation, Store
from graphkin.store.contract.hierarchies import Hierarchy
from graphkin.store.contract.places import StoreFactory, StoreFixtures
from graphkin.store.records import REJECTION_SCHEMA


def _degree(hierarchy: Any, id: int) -> int:
    return sum(id in pair for pair in hierarchy.pairs)


ODD_PROPERTY_NAMES = [
    "id",
    "names",
    "",
    "graph",
    "digest",
    "property.names",
    "x.text",
    "a:b",
    'a "b", `c`',
    "é\n",
    "n" * 20_000,
]


class ItemReadingTests(StoreFixtures):
    """Tests that only read, and share one published generation."""

    def test_items_come_back_as_written(self, published: Generation, molecules: Any) -> None:
        expected = [
            {
                "id": id,
                **{name: value for name, value in row.items() if name != "structure"},
                "properties": row["properties"],
                "degree": _degree(molecules, id),
                "dropped": molecules.dropped[id],
            }
            for id, row in enumerate(molecules.rows)
        ]
        assert published.items(range(10)) == expected
        dropped = published.dropped()
        assert dropped is not None
        assert dropped.tolist() == molecules.dropped

    def test_items_keep_the_requested_order(self, published: Generation) -> None:
        ids = [9, 0, 3, 3, 0]
        assert [item["id"] for item in published.items(ids)] == ids
        assert [item["id"] for item in published.items(np.array(ids, np.int32))] == ids
        assert published.items([]) == []

    @pytest.mark.parametrize("id", [-1, 10, 2**31, -(2**31)])
    def test_unknown_ids_are_named(self, published: Generation, id: int) -> None:
        for read in (
            lambda: published.items([0, id]),
            lambda: published.neighbors(id),
            lambda: published.subgraph(id, 1, 10, 10),
            lambda: published.path(0, id, 6),
            lambda: published.path(id, 0, 6),
        ):
            with pytest.raises(NotFound, match=f"{id}"):
                read()

    def test_scan_reads_all_in_id_order(self, published: Generation, molecules: Any) -> None:
        batches = list(published.scan())
        table = pa.Table.from_batches(batches)
        assert table.schema.field("id").type == pa.int32()
        assert table.schema.names == ["id", *molecules.items.schema.names]
        assert table["id"].to_pylist() == list(range(10))
        assert table.drop_columns("id").to_pylist() == molecules.items.to_pylist()

    def test_scan_of_some_ids_keeps_their_order(self, published: Generation, molecules: Any) -> None:
        ids = np.array([4, 9, 0, 4], np.int32)
        rows = [row for batch in published.scan(ids) for row in batch.to_pylist()]
        assert rows == [{"id": id, **molecules.items.to_pylist()[id]} for id in ids.tolist()]
        assert list(published.structures(ids)) == [row["smiles"] for row in rows]
        assert [batch for batch in published.scan(np.empty(0, np.int32)) if batch.num_rows] == []
        (some,) = published.scan(ids, ["names", "id"])
        assert some.to_pylist() == [{"names": row["names"], "id": row["id"]} for row in rows]
        assert [batch.schema.names for batch in published.scan(names=["smiles"])] == [["smiles"]]

    @pytest.mark.parametrize("ids", [[0, 10], [-1, 3]])
    def test_scan_of_unknown_ids(self, published: Generation, ids: list[int]) -> None:
        with pytest.raises(NotFound):
            list(published.scan(np.array(ids, np.int32)))

    @pytest.mark.parametrize(
        ("field", "value", "ids"),
        [
            ("name", "alcohol", [0, 1, 3]),
            ("name", "Alcohol", []),
            ("name", "alcoho", []),
            ("name", "alcohol ", []),
            ("name", "padded", []),
            ("name", "  padded  ", [6]),
            ("name", "", [6]),
            ("name", "%", [9]),
            ("name", "[1, 2]", [7]),
            ("name", "null", [8]),
            ("name", "line\nbreak\ttab", [5]),
            ("name", "Zürich 東京 🧪", [3]),
            ("name", 'O\'Brien "x" \\ ; DROP TABLE items; --', [4]),
            ("smiles", "CCO", [0]),
            ("smiles", "OCC", []),
            ("smiles", "CC/C=C\\C", [9]),
            ("smiles", "", []),
            ("inchikey", "BDERNNFJNOPAEC-UHFFFAOYSA-N", [1]),
            ("inchikey", "BDERNNFJNOPAEC", []),
        ],
    )
    def test_find_is_exact(self, published: Generation, field: Any, value: str, ids: list[int]) -> None:
        assert published.find(field, value) == ids

    @pytest.mark.parametrize(
        ("name", "ids"),
        [
            ("alcohol", [0, 1, 3]),
            ("ALCOHOL", [0, 1, 3]),
            ("zürich 東京 🧪", [3]),
            ("ZÜRICH 東京 🧪", [3]),
            ("  PADDED  ", [6]),
            ('o\'brien "X" \\ ; drop table ITEMS; --', [4]),
            ("alcoho", []),
            ("%", [9]),
            ("_", [9]),
            (".*", []),
        ],
    )
    def test_names_are_found_in_any_case(self, published: Generation, name: str, ids: list[int]) -> None:
        assert published.ids_by_name(name) == ids
        assert published.ids_by_name(name, limit=1) == ids[:1]
        for after in ids:
            assert published.ids_by_name(name, after=after) == [id for id in ids if id > after]

    @pytest.mark.parametrize(
        ("name", "first"),
        [
            ("alcohl", "alcohol"),
            ("ALKOHOL", "alcohol"),
            ("zurich 東京 🧪", "Zürich 東京 🧪"),
            ("unlike any", None),
        ],
    )
    def test_similar_names_are_suggested(self, published: Generation, name: str, first: str | None) -> None:
        assert [*published.similar_names(name), None][0] == first
        assert len(published.similar_names(name, limit=1)) <= 1

    @pytest.mark.parametrize(
        ("names", "start", "stop"),
        [
            (["logP"], 0, None),
            (["names", "id"], 3, 8),
            (["id"], 9, 10),
            (["note", "logP", "smiles"], 4, 4),
            (["id", "smiles", "structure", "inchikey", "names", "logP", "note"], 0, 10),
        ],
    )
    def test_columns_are_the_requested_ones(
        self, published: Generation, molecules: Any, names: list[str], start: int, stop: int | None
    ) -> None:
        rows = [{"id": id, **row} for id, row in enumerate(molecules.items.to_pylist())]
        batches = list(published.columns(names, start, stop))
        assert [row for batch in batches for row in batch.to_pylist()] == [
            {name: row[name] for name in names} for row in rows[start:stop]
        ]
        assert all(batch.schema.names == names for batch in batches)
        selection = published.take(np.array([7, 1, 7], np.int32), names)
        assert selection.to_pylist() == [{name: rows[id][name] for name in names} for id in (7, 1, 7)]
        assert published.take(np.empty(0, np.int32), names).schema == selection.schema

    def test_numbers_come_with_their_texts(self, published: Generation) -> None:
        (batch,) = published.columns(["logP"])
        assert batch["logP"].to_pylist()[:3] == [
            {"number": -0.3, "text": "-3.000e-01"},
            {"number": 0.25, "text": "+2.500e-01"},
            None,
        ]

    def test_missing_columns_and_rows_are_not_found(self, published: Generation) -> None:
        with pytest.raises(NotFound, match="logp") as error:
            next(published.columns(["id", "logp"]))
        assert "logP" in str(error.value.expected)
        with pytest.raises(NotFound, match="logp"):
            published.take(np.array([0], np.int32), ["logp"])
        for start, stop in ((0, 11), (-1, 3), (5, 4)):
            with pytest.raises(NotFound, match="range"):
                next(published.columns(["id"], start, stop))
        for id in (-1, 10):
            with pytest.raises(NotFound, match=str(id)):
                published.take(np.array([0, id], np.int32), ["id"])

    def test_find_pages_by_id(self, published: Generation) -> None:
        assert published.find("name", "alcohol", limit=2) == [0, 1]
        assert published.find("name", "alcohol", after=1, limit=2) == [3]
        assert published.find("name", "alcohol", after=3) == []

    def test_numeric_column_is_nan_where_an_item_lacks_it(self, published: Generation) -> None:
        nan = np.nan
        column = published.column("logP")
        assert column.dtype == np.float64
        np.testing.assert_array_equal(column, [-0.3, 0.25, nan, nan, nan, 2.0, nan, 1e-7, nan, nan])

    @pytest.mark.parametrize("name", ["note", "logp", ""])
    def test_unknown_column_error_lists_the_numeric_ones(self, published: Generation, name: str) -> None:
        with pytest.raises(NotFound, match="logP"):
            published.column(name)

    def test_rejections_in_input_order(self, published: Generation, molecules: Any) -> None:
        batches = list(published.rejections())
        assert all(batch.schema == REJECTION_SCHEMA for batch in batches)
        assert [row for batch in batches for row in batch.to_pylist()] == list(molecules.rejections)

    def test_fingerprints_and_their_popcounts(self, published: Generation, molecules: Any) -> None:
        prints = published.fingerprints()
        assert f"{prints.words.dtype}, {prints.popcounts.dtype}" == "uint64, int32"
        assert np.array_equal(prints.words, molecules.words)
        assert prints.popcounts.tolist() == [sum(int(word).bit_count() for word in row) for row in molecules.words]

    def test_whole_generation_checks_out(self, published: Generation) -> None:
        assert published.check() == []


class ItemWritingTests(StoreFixtures):
    """Tests that publish their own generations."""

    def test_graphs_have_no_smiles_and_dropped_may_be_unknown(self, published_graphs: Generation) -> None:
        assert published_graphs.items([0, 1]) == [
            {
                "id": 0,
                "smiles": None,
                "inchikey": None,
                "names": ["a"],
                "properties": {"size": 3},
                "degree": 1,
                "dropped": None,
            },
            {
                "id": 1,
                "smiles": None,
                "inchikey": None,
                "names": [],
                "properties": {"size": 4},
                "degree": 0,
                "dropped": None,
            },
        ]
        assert published_graphs.dropped() is None
        assert published_graphs.find("name", "a") == [0, 2]
        assert published_graphs.find("smiles", "C") == []

    def test_properties_may_have_any_name(self, store: Store, hierarchy: Any) -> None:
        values = {**dict.fromkeys(ODD_PROPERTY_NAMES, "text"), "x": 7, "fingerprint": -0.5}
        rows = [{"smiles": "C", "names": ["n"], "properties": values}, {"smiles": "N", "names": [], "properties": {}}]
        types = {name: "text" if value == "text" else "number" for name, value in values.items()}
        content = hierarchy(rows, {(0, 1): 0.5}, properties=types, written={"x": "03d"})
        content.publish(store, "odd")
        with store.open("odd") as generation:
            assert [item["properties"] for item in generation.items([0, 1])] == [values, {}]
            assert pa.Table.from_batches(generation.scan()).drop_columns("id").to_pylist() == content.items.to_pylist()
            assert generation.column("x").tolist()[0] == 7
            assert generation.check() == []

    def test_missing_markers_and_censored_numbers_keep_their_texts(self, store: Store, hierarchy: Any) -> None:
        texts = {"1.50": 1.5, "n/a": None, ">10000": 10000.0, "≤ .5": 0.5}
        rows = [
            {"smiles": "C" * (id + 1), "names": [], "properties": {"x": {"number": number, "text": text}}}
            for id, (text, number) in enumerate(texts.items())
        ]
        rows.append({"smiles": "N", "names": [], "properties": {}})
        censored = hierarchy(rows, {}, properties={"x": "number"}, written={"x": ""}, qualifiers={"x": "x_qualifier"})
        manifest = censored.publish(store, "censored")
        with store.open("censored") as generation:
            assert [item["properties"] for item in generation.items(range(5))] == [
                {"x": 1.5},
                {},
                {"x": 10000, "x_qualifier": ">"},
                {"x": 0.5, "x_qualifier": "<="},
                {},
            ]
            stored = pa.Table.from_batches(generation.scan())
            assert stored["x"].to_pylist() == [*({"number": n, "text": text} for text, n in texts.items()), None]
            assert np.isnan(generation.column("x")).tolist() == [False, True, False, False, True]
            assert generation.identity() == manifest.generation
            assert generation.check() == []

    def test_an_exact_name_comes_before_other_cases(self, store: Store, hierarchy: Any) -> None:
        rows = [{"smiles": "C" * (id + 1), "names": names} for id, names in enumerate([["Ab"], ["AB"], ["ab", "Ab"]])]
        with store.draft("cases", "molecule") as draft:
            content = hierarchy(rows, {})
            content.write(draft)
            draft.publish(content.provenance())
        with store.open("cases") as generation:
            assert [generation.ids_by_name(name) for name in ("Ab", "AB", "ab", "aB")] == [[0, 2], [1], [2], [0, 1, 2]]
            assert generation.ids_by_name("AB", after=1) == []
            assert generation.ids_by_name("aB", after=0, limit=1) == [1]

    def test_column_error_says_that_no_property_is_numeric(self, store: Store, hierarchy: Any) -> None:
        with store.draft("plain", "molecule") as draft:
            content = hierarchy([{"smiles": "C", "names": ["a"]}], {})
            content.write(draft)
            draft.publish(content.provenance())
        with store.open("plain") as generation, pytest.raises(NotFound) as error:
            generation.column("x")
        assert error.value.expected == "no name: the items have no numeric property"

    def test_find_by_inchikey_needs_inchikeys(self, store: Store, molecules: Any) -> None:
        replace(molecules, recipe={"threshold": 0.4, "inchikey": False}).publish(store, "without")
        with store.open("without") as generation, pytest.raises(Conflict):
            generation.find("inchikey", "BDERNNFJNOPAEC-UHFFFAOYSA-N")

    def test_structures_come_back_as_written(self, published_graphs: Generation, graphs: Any) -> None:
        rows = [row for batch in published_graphs.scan() for row in batch.to_pylist()]
        assert rows == [{"id": id, **row} for id, row in enumerate(graphs.items.to_pylist())]
        some = published_graphs.structures(np.array([2, 0], np.int32))
        assert list(some) == [graphs.rows[2]["structure"], graphs.rows[0]["structure"]]
        assert published_graphs.column("size").tolist() == [3, 4, 3]
        assert published_graphs.fingerprints().words.shape == (3, 0)
        assert published_graphs.fingerprints().popcounts.tolist() == [0, 0, 0]
        assert published_graphs.check() == []

    def test_links_of_nodes_come_back(self, store: Store, nodes: Any) -> None:
        nodes.publish(store, "nodes")
        with store.open("nodes") as generation:
            links = generation.links()
            assert links is not None
            assert f"{links.indptr.dtype}, {links.indices.dtype}" == "int64, int32"
            assert links.indptr.tolist() == [0, 2, 4, 6, 8, 10]
            assert links.indices.tolist() == [1, 4, 0, 2, 1, 3, 2, 4, 0, 3]
            assert generation.neighbors(0).ids.tolist() == [4]  # neighbors are similar items, linked or not
            assert generation.check() == []

    def test_other_kinds_have_no_links(self, published_graphs: Generation) -> None:
        assert published_graphs.links() is None

    def test_a_large_structure(self, store: Store, hierarchy: Any) -> None:
        large = json.dumps({"num_nodes": 100_000, "edges": [[node, node + 1] for node in range(99_999)]})
        rows = [{"structure": large, "names": ["large"]}] * 2
        hierarchy(rows, {(0, 1): 1.0}, kind="graph", rdkit=None).publish(store, "large")
        with store.open("large") as generation:
            assert list(generation.structures()) == [large, large]
            assert generation.check() == []

    def test_without_rejections(self, published_graphs: Generation) -> None:
        assert sum(batch.num_rows for batch in published_graphs.rejections()) == 0

    @pytest.fixture(scope="class")
    @classmethod
    def many(cls, store_factory: StoreFactory) -> Iterator[Generation]:
        """A generation of 5,000 items and 4,500 rejections without edges."""
        store = store_factory("many")
        rows = [
            {"smiles": f"C{id}", "inchikey": None, "names": [f"n{id % 7}", f"own{id}"], "properties": {"x": id}}
            for id in range(5000)
        ]
        rejections = [{"source": "f", "line": line, "input": "x", "reason": "y"} for line in range(4500)]
        Hierarchy(rows, {}, rejections, properties={"x": "number"}).publish(store, "many", batch=1234)
        with store.open("many") as generation:
            yield generation

    def test_many_items_at_once(self, many: Generation) -> None:
        ids = np.random.default_rng(0).permutation(5000)[:1500].astype(np.int32)
        items = many.items(ids)
        assert [(item["id"], item["names"][1]) for item in items] == [(id, f"own{id}") for id in ids.tolist()]
        scanned = [row for batch in many.scan(ids) for row in batch.to_pylist()]
        assert [row["smiles"] for row in scanned] == [f"C{id}" for id in ids.tolist()]
        assert many.column("x").tolist() == list(range(5000))
        assert [line for batch in many.rejections() for line in batch["line"].to_pylist()] == list(range(4500))
        assert [line for batch in many.rejections(4321) for line in batch["line"].to_pylist()] == list(
            range(4321, 4500)
        )
        assert not list(many.rejections(4500))
        assert many.find("name", "n3") == list(range(3, 5000, 7))
        assert many.find("name", "n3", limit=5) == [3, 10, 17, 24, 31]
        assert list(many.edges()) == []

    def test_threads_may_share_a_reader(self, many: Generation) -> None:
        def read(start: int) -> list[int]:
            return [item["id"] for item in many.items(range(start, 5000, 8))] + many.find(
                "name", f"n{start % 7}", limit=3
            )

        with ThreadPoolExecutor(8) as pool:
            results = list(pool.map(read, range(8)))
        assert results == [[*range(start, 5000, 8), *range(start % 7, 21, 7)] for start in range(8)]

    def test_an_index_is_kept_whole_or_not_at_all(self, store: Store, molecules: Any) -> None:
        arrays: dict[str, NDArray[Any]] = {
            "rank": np.arange(7, dtype=np.uint16),
            "planes": np.arange(12, dtype=np.uint64).reshape(4, 3),
        }
        with store.draft("molecules", "molecule") as draft:
            molecules.write(draft)
            draft.write_index(arrays)
            draft.publish(molecules.provenance())
        with store.open("molecules") as generation:
            index = generation.index()
            assert generation.check() == []
        assert not index or {name: array.tolist() for name, array in index.items()} == {
            name: array.tolist() for name, array in arrays.items()
        }
        assert all(index[name].dtype == arrays[name].dtype for name in index)
