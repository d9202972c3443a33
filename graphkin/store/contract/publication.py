"""Tests of drafts, publication, deletion, and concurrent writers."""

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from graphkin.protocol.errors import Conflict, Deleted, InvalidInput, NotFound, StoreBusy, StoreError
from graphkin.protocol.manifest import Counts, Input, Rerun
from graphkin.store.base import Generation, Store
from graphkin.store.contract.places import StoreFixtures
from graphkin.store.records import REJECTION_SCHEMA, Edges


def _read_everything(generation: Generation) -> list[Any]:
    """Return one result of every read operation."""
    path = generation.path(0, 5, 6)
    assert path is not None
    return [
        generation.items(range(10)),
        generation.find("name", "alcohol"),
        generation.neighbors(0).ids.tolist(),
        [row for batch in generation.scan() for row in batch.to_pylist()],
        [row for batch in generation.rejections() for row in batch.to_pylist()],
        generation.fingerprints().words.tolist(),
        path.ids.tolist(),
        generation.subgraph(0, 2, 100, 100).nodes.tolist(),
        [edges.source.tolist() for edges in generation.edges()],
    ]


class PublicationTests(StoreFixtures):
    """Tests that start with an empty store."""

    @pytest.fixture
    def others(self, molecules: Any) -> list[Any]:
        """The same items and edges with three other recipes, and so with other generation ids."""
        return [replace(molecules, recipe={**molecules.recipe, "threshold": 0.4, "top_k": k}) for k in (1, 2, 3)]

    def test_empty_store_holds_nothing(self, store: Store) -> None:
        assert store.collections() == []
        for missing in (
            lambda: store.collection("molecules"),
            lambda: store.open("molecules"),
            lambda: store.open("molecules", "0" * 64),
            lambda: store.delete("molecules", "0" * 64),
        ):
            with pytest.raises(NotFound) as error:
                missing()
            assert not isinstance(error.value, Deleted)

    def test_draft_is_invisible_until_published(self, store: Store, molecules: Any) -> None:
        with store.draft("molecules", "molecule") as draft:
            molecules.write(draft)
            assert store.collections() == []
            with pytest.raises(NotFound):
                store.open("molecules")
            manifest = draft.publish(molecules.provenance())
            assert store.collection("molecules").current == manifest.generation
        assert [c.name for c in store.collections()] == ["molecules"]

    def test_draft_leaves_readers_with_the_current_generation(
        self, store: Store, molecules: Any, others: list[Any]
    ) -> None:
        before = molecules.publish(store, "molecules")
        with store.draft("molecules", "molecule") as draft:
            others[0].write(draft)
            assert store.collection("molecules").generations == (before.generation,)
            with store.open("molecules") as generation:
                assert generation.manifest == before

    def test_manifest_is_the_provenance_with_the_id(self, store: Store, molecules: Any) -> None:
        manifest = molecules.publish(store, "molecules", seconds=2.5)
        provenance = molecules.provenance(2.5).model_dump()
        assert {key: value for key, value in manifest.model_dump().items() if key in provenance} == provenance
        assert re.fullmatch("[0-9a-f]{64}", manifest.generation)
        assert manifest.published_at.endswith("+00:00")
        assert manifest.threshold == 0.4
        with store.open("molecules") as generation:
            assert generation.manifest == manifest
            assert (generation.id, generation.collection, generation.size) == (manifest.generation, "molecules", 10)

    def test_latest_rerun_is_kept_until_the_generation_is_deleted(self, store: Store, molecules: Any) -> None:
        id = molecules.publish(store, "molecules").generation
        with store.open("molecules") as generation:
            before = _read_everything(generation)
        assert store.rerun("molecules", id) is None
        for rejected in (3, 2):
            rows = [{"source": "b.csv", "line": n, "input": f"x{n}", "reason": "none"} for n in range(rejected)]
            counts = Counts(read=20 + rejected, kept=10, duplicates=10, rejected=rejected)
            inputs = [Input(name="b.csv", bytes=7, sha256="0" * 64)]
            rerun = Rerun(ran_at="2030-01-01T00:00:00+00:00", inputs=inputs, counts=counts)
            batch = pa.RecordBatch.from_pylist(rows, schema=REJECTION_SCHEMA)
            store.keep_rerun("molecules", id, rerun, [batch.slice(0, 1), batch.slice(1)])
            record = store.rerun("molecules", id)
            assert record is not None
            assert record.rerun == rerun
            assert record.rejections.to_pylist() == rows
        with store.open("molecules") as generation:
            assert _read_everything(generation) == before
        store.delete("molecules", id)
        assert store.rerun("molecules", id) is None
        assert molecules.publish(store, "molecules").generation == id
        assert store.rerun("molecules", id) is None

    @pytest.mark.parametrize("how", ["discard", "leave", "raise"])
    def test_unpublished_draft_leaves_nothing_and_frees_the_collection(
        self, store: Store, molecules: Any, how: str
    ) -> None:
        def write() -> None:
            with store.draft("molecules", "molecule") as draft:
                molecules.write(draft)
                if how == "discard":
                    draft.discard()
                if how == "raise":
                    raise ZeroDivisionError

        if how == "raise":
            with pytest.raises(ZeroDivisionError):
                write()
        else:
            write()
        assert store.collections() == []
        assert molecules.publish(store, "molecules").edges == len(molecules.pairs)

    def test_discard_after_publish_and_twice_is_harmless(self, store: Store, molecules: Any) -> None:
        draft = store.draft("molecules", "molecule")
        molecules.write(draft)
        manifest = draft.publish(molecules.provenance())
        draft.discard()
        draft.discard()
        assert store.collection("molecules").current == manifest.generation

    def test_draft_is_published_once(self, store: Store, molecules: Any) -> None:
        with store.draft("molecules", "molecule") as draft:
            molecules.write(draft)
            draft.publish(molecules.provenance())
            with pytest.raises(StoreError):
                draft.publish(molecules.provenance())

    def test_generations_side_by_side_oldest_first(self, store: Store, molecules: Any, others: list[Any]) -> None:
        ids = [content.publish(store, "molecules").generation for content in (molecules, *others)]
        assert len(set(ids)) == 4
        collection = store.collection("molecules")
        assert (collection.name, collection.kind, collection.generations, collection.current) == (
            "molecules",
            "molecule",
            tuple(ids),
            ids[-1],
        )
        for id, content in zip(ids, (molecules, *others), strict=True):
            with store.open("molecules", id) as generation:
                assert (generation.id, generation.manifest.recipe) == (id, content.recipe)
        with store.open("molecules") as generation:
            assert generation.id == ids[-1]

    def test_collections_are_listed_by_name(self, store: Store, molecules: Any, graphs: Any) -> None:
        for name, content in (("zebra", molecules), ("a.b-c_d", graphs), ("0", molecules)):
            content.publish(store, name)
        assert [(c.name, c.kind) for c in store.collections()] == [
            ("0", "molecule"),
            ("a.b-c_d", "graph"),
            ("zebra", "molecule"),
        ]

    def test_molecules_and_graphs_side_by_side(self, store: Store, molecules: Any, graphs: Any) -> None:
        published = {name: content.publish(store, name) for name, content in (("m", molecules), ("g", graphs))}
        assert [(collection.name, collection.kind) for collection in store.collections()] == [
            ("g", "graph"),
            ("m", "molecule"),
        ]
        with store.open("m") as one, store.open("g") as other:
            assert (one.size, other.size) == (10, 3)
            assert one.find("name", "a") == []
            assert other.find("name", "a") == [0, 2]
            assert [row for batch in one.scan() for row in batch["structure"].to_pylist()] == [None] * 10
            assert one.check() == other.check() == []
        store.delete("m", published["m"].generation)
        with store.open("g") as other:
            assert other.neighbors(0).ids.tolist() == [2]
            assert other.check() == []

    def test_unknown_collection_error_lists_the_collections(self, store: Store, molecules: Any) -> None:
        molecules.publish(store, "molecules")
        with pytest.raises(NotFound, match="molecules"):
            store.collection("molecule")

    def test_same_content_has_the_same_id_and_the_older_manifest(
        self, store: Store, molecules: Any, others: list[Any]
    ) -> None:
        first = molecules.publish(store, "molecules", seconds=1)
        newer = others[0].publish(store, "molecules")
        again = molecules.publish(store, "molecules", seconds=99)
        assert again == first
        collection = store.collection("molecules")
        assert (collection.current, collection.generations) == (first.generation, (first.generation, newer.generation))

    def test_id_does_not_depend_on_batches_collection_or_store(
        self, store_factory: Callable[..., Store], place: str, molecules: Any
    ) -> None:
        ids = {
            molecules.publish(store_factory(f"{place}-{name}"), name, batch).generation
            for name, batch in (("a", 1), ("b", 3), ("c", 4), ("d", 1000))
        }
        assert len(ids) == 1

    def test_id_depends_on_recipe_rdkit_and_every_item(self, store: Store, molecules: Any) -> None:
        rows = list(molecules.rows)
        variants = [
            molecules,
            replace(molecules, recipe={**molecules.recipe, "threshold": 0.41}),
            replace(molecules, rdkit="2026.09.2"),
            replace(molecules, written={"logP": ".4f"}),
            replace(molecules, rows=[*rows[:-1], {**rows[-1], "names": ["%_"]}]),
            replace(molecules, rows=[*rows[:-1], {**rows[-1], "properties": {"note": "1"}}]),
            replace(molecules, rows=[*rows[:-1], {**rows[-1], "inchikey": ""}]),
            replace(molecules, rows=[*rows[:-1], {**rows[-1], "smiles": "CC"}]),
            replace(molecules, rows=[*rows[:-2], rows[-1], rows[-2]]),
        ]
        assert len({each.publish(store, "molecules").generation for each in variants}) == len(variants)

    def test_id_depends_on_the_big_graph(self, store: Store, nodes: Any) -> None:
        manifest = nodes.publish(store, "nodes")
        others = replace(nodes, linked=nodes.linked[1:])
        assert others.publish(store, "nodes").generation != manifest.generation
        store.delete("nodes", manifest.generation)
        with store.open("nodes") as generation:
            links = generation.links()
            assert links is not None
            assert links.indptr.tolist() == [0, 1, 2, 4, 6, 8]

    def test_id_does_not_depend_on_inputs_or_times(self, store: Store, molecules: Any) -> None:
        original = molecules.provenance()
        ids = set()
        for name, provenance in (("a", original), ("b", original.model_copy(update={"inputs": [], "times": {}}))):
            with store.draft(name, "molecule") as draft:
                molecules.write(draft)
                ids.add(draft.publish(provenance).generation)
        assert len(ids) == 1

    def test_empty_batches_change_nothing(self, store: Store, molecules: Any) -> None:
        plain = molecules.publish(store, "a")
        no_items = molecules.items.slice(0, 0)
        no_edges = Edges(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float32))
        with store.draft("b", "molecule") as draft:
            draft.append_items(no_items)
            draft.append_fingerprints(np.empty((0, 2), np.uint64))
            draft.append_edges(no_edges)
            molecules.write(draft)
            draft.append_edges(no_edges)
            assert draft.publish(molecules.provenance()).generation == plain.generation
        with store.open("b") as generation:
            assert generation.graph().edges == len(molecules.pairs)
            assert len(generation.fingerprints().words) == len(molecules.rows)

    def test_arrays_handed_over_may_be_reused_at_once(self, store: Store, molecules: Any) -> None:
        words, edges = molecules.words, molecules.edges
        with store.draft("molecules", "molecule") as draft:
            draft.append_items(molecules.items)
            draft.append_fingerprints(words)
            words[:] = 0
            draft.append_edges(edges)
            edges.source[:], edges.target[:], edges.similarity[:] = 0, 0, 0
            draft.write_forest(molecules.forest)
            draft.publish(molecules.provenance())
        with store.open("molecules") as generation:
            assert np.array_equal(generation.fingerprints().words, molecules.words)
            assert {(a, b) for e in generation.edges() for a, b in zip(e.source, e.target, strict=True)} == set(
                molecules.pairs
            )

    def test_delete_moves_current_to_the_newest_left(self, store: Store, molecules: Any, others: list[Any]) -> None:
        ids = [each.publish(store, "molecules").generation for each in (molecules, *others)]
        store.delete("molecules", ids[1])  # not current
        assert store.collection("molecules").current == ids[3]
        store.delete("molecules", ids[3])
        collection = store.collection("molecules")
        assert (collection.current, collection.generations) == (ids[2], (ids[0], ids[2]))
        molecules.publish(store, "molecules")  # the oldest becomes current
        store.delete("molecules", ids[0])
        assert store.collection("molecules").current == ids[2]

    def test_collection_without_generations_disappears(self, store: Store, molecules: Any) -> None:
        manifest = molecules.publish(store, "molecules")
        store.delete("molecules", manifest.generation)
        assert store.collections() == []
        with pytest.raises(NotFound) as error:
            store.open("molecules")
        assert not isinstance(error.value, Deleted)

    def test_deleted_differs_from_never_published(self, store: Store, molecules: Any, others: list[Any]) -> None:
        deleted, _ = (each.publish(store, "molecules").generation for each in (molecules, others[0]))
        store.delete("molecules", deleted)
        for operation in (store.open, store.delete):
            with pytest.raises(Deleted):
                operation("molecules", deleted)
            with pytest.raises(NotFound) as error:
                operation("molecules", "f" * 64)
            assert not isinstance(error.value, Deleted)
            with pytest.raises(NotFound) as error:
                operation("other", deleted)
            assert not isinstance(error.value, Deleted)

    def test_deleted_content_can_be_published_again(self, store: Store, molecules: Any, others: list[Any]) -> None:
        first = molecules.publish(store, "molecules", seconds=1)
        newer = others[0].publish(store, "molecules")
        store.delete("molecules", first.generation)
        again = molecules.publish(store, "molecules", seconds=2)
        assert again.generation == first.generation
        assert again.times == {"all": 2}
        assert store.collection("molecules").generations == (newer.generation, first.generation)
        with store.open("molecules", first.generation) as generation:
            assert len(generation.items(range(10))) == 10

    def test_reader_outlives_publication(self, store: Store, molecules: Any, others: list[Any]) -> None:
        manifest = molecules.publish(store, "molecules")
        with store.open("molecules") as generation:
            before = _read_everything(generation)
            others[0].publish(store, "molecules")
            assert generation.manifest == manifest
            assert _read_everything(generation) == before

    def test_reader_of_deleted_generation_continues_or_raises(
        self, store: Store, molecules: Any, others: list[Any]
    ) -> None:
        manifest = molecules.publish(store, "molecules")
        with store.open("molecules") as generation, store.open("molecules") as undisturbed:
            before = _read_everything(undisturbed)
            others[0].publish(store, "molecules")
            store.delete("molecules", manifest.generation)
            others[1].publish(store, "molecules")  # removes files that the deletion may have left
            with suppress(Deleted):
                assert _read_everything(generation) == before

    def test_one_writer_per_collection(self, store_factory: Callable[..., Store], place: str, molecules: Any) -> None:
        one, other = store_factory(place), store_factory(place)
        with one.draft("molecules", "molecule") as draft:
            molecules.write(draft)
            for store in (one, other):
                with pytest.raises(StoreBusy) as error:
                    store.draft("molecules", "molecule")
                assert error.value.retry_after
            elsewhere = molecules.publish(other, "elsewhere")
            manifest = draft.publish(molecules.provenance())
        assert elsewhere.generation == manifest.generation
        with other.draft("molecules", "molecule"):
            pass
        assert [c.name for c in one.collections()] == ["elsewhere", "molecules"]

    def test_publication_is_seen_by_stores_opened_before(
        self, store_factory: Callable[..., Store], place: str, molecules: Any
    ) -> None:
        reader, writer = store_factory(place), store_factory(place)
        manifest = molecules.publish(writer, "molecules")
        with reader.open("molecules") as generation:
            assert generation.manifest == manifest

    def test_collection_has_one_kind(self, store: Store, molecules: Any, graphs: Any) -> None:
        manifest = molecules.publish(store, "things")
        with pytest.raises(Conflict, match="molecule"):
            store.draft("things", "graph")
        molecules.publish(store, "things")  # the refused draft left no lock behind
        store.delete("things", manifest.generation)
        graphs.publish(store, "things")
        assert store.collection("things").kind == "graph"

    def test_unknown_kind_is_kept(self, store: Store, graphs: Any) -> None:
        replace(graphs, kind="word").publish(store, "words")
        with store.open("words") as generation:
            assert generation.manifest.kind == store.collection("words").kind == "word"
            assert generation.check() == []
            assert list(generation.structures()) == [row["structure"] for row in graphs.rows]

    @pytest.mark.parametrize("name", ["", "A", "-a", ".a", "_a", "a b", "a/b", "../a", "é", "a" * 64, "a\n"])
    def test_invalid_collection_names(self, store: Store, name: str) -> None:
        with pytest.raises(InvalidInput):
            store.draft(name, "molecule")

    @pytest.mark.parametrize("name", ["a", "0", "a" * 63, "a..b", "zinc-250k_v1.0"])
    def test_valid_collection_names(self, store: Store, graphs: Any, name: str) -> None:
        graphs.publish(store, name)
        assert [c.name for c in store.collections()] == [name]
