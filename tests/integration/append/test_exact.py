"""A collection that grows file by file equals, byte for byte, one ingest of all files."""

import csv
import io
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import networkx as nx
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphkin.ingest.append import append
from graphkin.ingest.pipeline import ingest
from graphkin.protocol.errors import Conflict, InvalidInput
from graphkin.protocol.values import Duplicates
from graphkin.similarity.graphs.recipe import resolve_graphs
from graphkin.similarity.molecules.recipe import resolve
from graphkin.similarity.recipe import Recipe
from graphkin.store import open_store
from graphkin.store.identity import BlockHasher
from tests.integration.append.conftest import OPTIONS, content, grow, write_parts

MEMORY = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else None
"""A folder where syncing costs nothing, if there is one."""

pytestmark = pytest.mark.usefixtures("parse_inline", "small_blocks")

MOLECULES = [
    *("C" * length + end for length in range(1, 8) for end in ("", "O", "N", "Cl", "C(=O)O", "c1ccccc1", "C1CC1")),
    *("[He]", "[U]", "I", "[Na+].[Cl-]"),  # Similar to no other molecule.
    "no molecule",
]
GRAPHS = [
    *(shape(size) for shape in (nx.path_graph, nx.cycle_graph, nx.star_graph) for size in range(3, 9)),
    *(nx.gnm_random_graph(7, 9, seed=seed) for seed in range(8)),
    *(nx.empty_graph(30), nx.complete_graph(12)),
]
COLUMNS = ["alpha", "molwt", "source.molwt", "names", "property.names"]
NAMES = ["", "one", "two", "three"]
CELLS = ["", "1", "1.50", "-2", "1e3", "text", "n/a", ">5", "~ 1.0"]
THRESHOLDS = st.floats(0.3, 1).map(lambda value: round(value, 2))
TOP_K = st.one_of(st.integers(1, 4), st.integers(1, 70), st.just(0))

molecule = st.tuples(st.sampled_from(MOLECULES), st.sampled_from(NAMES), st.lists(st.sampled_from(CELLS), max_size=5))
molecules = st.tuples(
    st.lists(st.sampled_from(COLUMNS), max_size=3, unique=True),
    st.lists(molecule, min_size=1, max_size=25).filter(lambda rows: any(row[0] != MOLECULES[-1] for row in rows)),
)
graph = st.tuples(
    st.integers(0, len(GRAPHS) - 1),
    st.sampled_from(NAMES),
    st.dictionaries(st.sampled_from(COLUMNS), st.integers(0, 9)),
)


def as_csv(columns: Sequence[str], rows: Sequence[tuple[str, str, Sequence[str]]]) -> list[str]:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["smiles", "id", *columns])
    for smiles, name, cells in rows:
        writer.writerow([smiles, name, *cells[: len(columns)]])
    return text.getvalue().splitlines()


def as_json(number: int, name: str, properties: dict[str, int]) -> str:
    shape = GRAPHS[number]
    return json.dumps({"name": name, "num_nodes": len(shape), "edges": [*shape.edges], **properties})


def assert_equal(parts: Sequence[Sequence[str]], ending: str, recipe: Recipe) -> None:
    with TemporaryDirectory(dir=MEMORY) as folder, open_store(Path(folder) / "store", create=True) as store:
        files = write_parts(Path(folder), parts, ending)
        effective_files = grow(store, "grown", files, recipe)
        all_at_once = ingest(store, "every", files, recipe, OPTIONS)
        ingest(store, "at-once", effective_files, recipe, OPTIONS)
        with store.open("at-once") as once, store.open("grown") as grown:
            expected = content(once)
            for what, found in content(grown).items():
                assert found == expected[what], what
            assert grown.id == all_at_once.generation
            assert grown.check() == []


def assert_molecules_equal(parts: list[Any], top_k: int, threshold: float) -> None:
    assert_equal([as_csv(*part) for part in parts], "csv", resolve(threshold=threshold, top_k=top_k))


def assert_graphs_equal(parts: list[Any], top_k: int, threshold: float) -> None:
    lines = [[as_json(*each) for each in part] for part in parts]
    assert_equal(lines, "jsonl", resolve_graphs(threshold=threshold, top_k=top_k))


few_examples = settings(max_examples=8)
many_examples = settings(max_examples=300)
molecule_parts = given(st.lists(molecules, min_size=1, max_size=5), TOP_K, THRESHOLDS)
graph_parts = given(st.lists(st.lists(graph, min_size=1, max_size=15), min_size=1, max_size=5), TOP_K, THRESHOLDS)


@few_examples
@molecule_parts
def test_growing_molecules_equal_one_ingest(parts: list[Any], top_k: int, threshold: float) -> None:
    assert_molecules_equal(parts, top_k, threshold)


@few_examples
@graph_parts
def test_growing_graphs_equal_one_ingest(parts: list[Any], top_k: int, threshold: float) -> None:
    assert_graphs_equal(parts, top_k, threshold)


@pytest.mark.long
@many_examples
@molecule_parts
def test_growing_molecules_equal_one_ingest_in_many_examples(parts: list[Any], top_k: int, threshold: float) -> None:
    assert_molecules_equal(parts, top_k, threshold)


@pytest.mark.long
@many_examples
@graph_parts
def test_growing_graphs_equal_one_ingest_in_many_examples(parts: list[Any], top_k: int, threshold: float) -> None:
    assert_graphs_equal(parts, top_k, threshold)


def assert_equal_with_merged_duplicates(parts: Sequence[Sequence[str]], duplicates: Duplicates) -> None:
    """Append files until one of them is refused, and compare with one ingest of the appended files."""
    options = replace(OPTIONS, duplicates=duplicates)
    with TemporaryDirectory(dir=MEMORY) as folder, open_store(Path(folder) / "store", create=True) as store:
        files = write_parts(Path(folder), parts, "csv")
        effective_files = list[str]()
        for file in files:
            try:
                if not effective_files:
                    ingest(store, "grown", [file], resolve(), options)
                    effective_files.append(file)
                elif (result := append(store, "grown", [file], OPTIONS)).items or result.named:
                    effective_files.append(file)
            except (Conflict, InvalidInput):  # values of stored items would change, or all records are rejected
                continue
        if not effective_files:
            return
        ingest(store, "at-once", effective_files, resolve(), options)
        with store.open("at-once") as once, store.open("grown") as grown:
            expected = content(once)
            for what, found in content(grown).items():
                assert found == expected[what], what
            assert grown.id == once.id


DUPLICATES = st.sampled_from(["mean", "median", "list", "reject"])


@few_examples
@given(st.lists(molecules, min_size=2, max_size=5), DUPLICATES)
def test_growing_with_merged_duplicates_equals_one_ingest(parts: list[Any], duplicates: Duplicates) -> None:
    assert_equal_with_merged_duplicates([as_csv(*part) for part in parts], duplicates)


@pytest.mark.long
@many_examples
@given(st.lists(molecules, min_size=2, max_size=5), DUPLICATES)
def test_growing_with_merged_duplicates_equals_one_ingest_in_many_examples(
    parts: list[Any], duplicates: Duplicates
) -> None:
    assert_equal_with_merged_duplicates([as_csv(*part) for part in parts], duplicates)


def test_file_without_new_items_leaves_no_trace() -> None:
    parts = [["CCO,one", "CCC,"], ["OCC,", "no molecule,"], ["CCO,two", "CCCC,"]]
    assert_equal([["smiles,id", *part] for part in parts], "csv", resolve(threshold=0.3, top_k=1))


def test_append_only_hashes_changed_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_blocks: int) -> None:
    """Only changed blocks are hashed: the first, where one of eleven items gets a name, and the last, which was not
    full.
    """
    hashed = []
    update = BlockHasher.update

    def record_update(hasher: BlockHasher, items: pa.RecordBatch) -> None:
        hashed.append(items["smiles"].to_pylist())
        update(hasher, items)

    chains = ["C" * length for length in range(1, 13)]
    parts = [[f"{smiles} {smiles}" for smiles in chains[:11]], ["CC another", f"{chains[11]} last"]]
    files = write_parts(tmp_path / "files", parts, "smi")
    with open_store(tmp_path / "store", create=True) as store:
        ingest(store, "c", files[:1], resolve(), OPTIONS)
        monkeypatch.setattr(BlockHasher, "update", record_update)
        append(store, "c", files[1:], OPTIONS)
    assert hashed == [chains[:small_blocks], chains[9:]]
