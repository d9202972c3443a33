"""Complete pairs, labels and graphs of other libraries equal RDKit, and an ingest without a top-k limit."""

import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator

import graphkin
from graphkin.cli import graphkin as command
from graphkin.cli import run
from graphkin.collection.complete import BYTES_PER_EDGE, complete_edges
from graphkin.library import Collection
from graphkin.protocol.errors import Conflict, InvalidInput
from graphkin.store import open_store
from tests.integration.library.conftest import THRESHOLD

Pairs = dict[tuple[int, int], np.float32]

pytestmark = pytest.mark.filterwarnings("ignore::graphkin.protocol.errors.TruncatedPairsWarning")


@pytest.fixture(scope="module")
def truncated_store(molecules_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store in which each item keeps its most similar neighbor."""
    store = tmp_path_factory.mktemp("capped") / "store"
    graphkin.ingest(molecules_file, store=store, collection="c", threshold=THRESHOLD, top_k=1, workers=1)
    return store


@pytest.fixture(scope="module")
def truncated(truncated_store: Path) -> Iterator[Collection]:
    with graphkin.open(truncated_store) as collections:
        yield collections["c"]


@pytest.fixture(scope="module")
def similar(frame: pd.DataFrame) -> Pairs:
    """Return all pairs with their similarities, compared one by one."""
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    vectors = [generator.GetFingerprint(Chem.MolFromSmiles(smiles)) for smiles in frame["smiles"]]
    every = combinations(range(len(vectors)), 2)
    return {(a, b): np.float32(DataStructs.TanimotoSimilarity(vectors[a], vectors[b])) for a, b in every}


def at_least(pairs: Pairs, threshold: float) -> Pairs:
    return {pair: similarity for pair, similarity in pairs.items() if similarity >= np.float32(threshold)}


def as_pairs(table: Any) -> Pairs:
    source, target, similarity = (table[name].to_pylist() for name in ("source", "target", "similarity"))
    assert [*zip(source, target, strict=True)] == sorted(zip(source, target, strict=True))
    return dict(zip(zip(source, target, strict=True), map(np.float32, similarity), strict=True))


@pytest.mark.parametrize("threshold", [None, 0.15, 0.5, 1.0])
def test_complete_edges_equal_rdkit(truncated: Collection, similar: Pairs, threshold: float | None) -> None:
    edges = truncated.edges(complete=True, min_similarity=threshold)
    assert [str(field.type) for field in edges.arrow.schema] == ["int32", "int32", "float"]
    assert as_pairs(edges) == at_least(similar, threshold or THRESHOLD)


def test_complete_edges_of_a_range_of_sources(truncated: Collection, similar: Pairs) -> None:
    edges = truncated.edges(complete=True, min_similarity=0.2, start=40, stop=90)
    expected = {pair: each for pair, each in at_least(similar, 0.2).items() if 40 <= pair[0] < 90}
    assert as_pairs(edges) == expected


def test_a_similarity_of_the_result_is_a_threshold_that_keeps_it(truncated: Collection) -> None:
    edges = truncated.edges(complete=True, min_similarity=0.25).to_pandas()
    for threshold in edges["similarity"].drop_duplicates().sample(5, random_state=0):
        expected = edges[edges["similarity"] >= threshold].reset_index(drop=True)
        pd.testing.assert_frame_equal(
            truncated.edges(complete=True, min_similarity=float(threshold)).to_pandas(), expected
        )


@pytest.mark.parametrize("threshold", [0, -0.5, 1.1, float("nan")])
def test_thresholds_out_of_range_are_refused(truncated: Collection, threshold: float) -> None:
    with pytest.raises(InvalidInput, match="min_similarity"):
        truncated.edges(complete=True, min_similarity=threshold)


def test_complete_cliffs_equal_pandas(truncated: Collection, similar: Pairs, frame: pd.DataFrame) -> None:
    rows = [
        (a, b, float(similarity), abs(frame["activity"][a] - frame["activity"][b]))
        for (a, b), similarity in at_least(similar, 0.2).items()
        if similarity < 1
    ]
    expected = pd.DataFrame(rows, columns=["a", "b", "similarity", "difference"])
    expected = expected.sort_values(["difference", "a", "b"], ascending=[False, True, True]).head(200)
    cliffs = truncated.cliffs("activity", min_similarity=0.2, limit=200, complete=True).to_pandas()
    assert cliffs[[*expected.columns]].to_numpy().tolist() == expected.to_numpy().tolist()
    assert len(truncated.cliffs("activity", limit=1000)) < len(truncated.cliffs("activity", complete=True))


def test_pairs_that_exceed_the_memory_are_refused(truncated_store: Path, similar: Pairs) -> None:
    count = len(at_least(similar, 0.2))
    with open_store(truncated_store) as store, store.open("c") as generation:
        everything = range(generation.size)
        fitting = complete_edges(generation, 0.2, everything, 1, memory=lambda: BYTES_PER_EDGE * count)
        assert len(fitting) == count
        with pytest.raises(InvalidInput, match="do not fit into the available memory") as refused:
            complete_edges(generation, 0.2, everything, 1, memory=lambda: BYTES_PER_EDGE * count - 1)
    assert f"at most {count - 1:,} pairs" in str(refused.value)


def test_server_returns_stored_pairs_only(truncated_store: Path, serve: Any) -> None:
    with serve(truncated_store) as url, graphkin.connect(url) as collections:
        served = collections["c"]
        for call in (served.edges, served.to_scipy, served.to_networkx, lambda **k: served.cliffs("activity", **k)):
            with pytest.raises(Conflict, match="stored pairs only") as refused:
                call(complete=True)
            assert "graphkin.open" in str(refused.value)


def write_items(kind: str, folder: Path) -> Path:
    """Write some items of a kind, and return the file."""
    random = np.random.default_rng(5)
    if kind == "graphs":
        graphs = [networkx.gnm_random_graph(8, 9 + number % 4, seed=number) for number in range(40)]
        lines = [
            str({"edges": [[*edge] for edge in graph.edges], "num_nodes": 8}).replace("'", '"') for graph in graphs
        ]
        (folder / "graphs.jsonl").write_text("\n".join(lines))
        return folder / "graphs.jsonl"
    if kind == "nodes":
        edges = networkx.karate_club_graph().edges
        (folder / "nodes.edges").write_text("".join(f"{a} {b}\n" for a, b in edges))
        return folder / "nodes.edges"
    dense = random.normal(size=(60, 5)).astype(np.float32)
    bits = np.packbits(random.random((60, 64)) < 0.4, axis=1, bitorder="little")
    np.save(folder / f"{kind}.npy", dense if kind == "vectors" else bits)
    return folder / f"{kind}.npy"


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("fingerprints", {"threshold": 0.2}),
        ("vectors", {"threshold": 0.3}),
        ("graphs", {}),
        ("nodes", {"threshold": 0.3}),
        ("nodes", {"kernel": "proximity"}),
    ],
)
def test_every_kind_has_the_pairs_of_an_ingest_without_a_limit(
    kind: Any, options: dict[str, Any], tmp_path: Path
) -> None:
    file = write_items(kind, tmp_path)
    for name, top_k in (("limited", 1), ("all", 0)):
        graphkin.ingest(file, store=tmp_path / "s", collection=name, kind=kind, top_k=top_k, workers=1, **options)
    with graphkin.open(tmp_path / "s") as store:
        stored = store["all"].edges().to_pandas()
        assert len(stored) > len(store["limited"].edges()) > 0
        complete = store["limited"].edges(complete=True).to_pandas()
        pd.testing.assert_frame_equal(complete, stored)
        half = stored["similarity"].median()
        complete = store["limited"].edges(complete=True, min_similarity=float(half)).to_pandas()
        pd.testing.assert_frame_equal(complete, stored[stored["similarity"] >= half].reset_index(drop=True))


def test_command_names_the_option_of_a_threshold_out_of_range(
    truncated_store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ["--store", str(truncated_store), "--collection", "c", "--complete", "--min-similarity", "0"]
    assert run(["export", "edges", *place, "--format", "csv", "--output", str(tmp_path / "edges.csv")]) == 2
    assert "hint: leave --min-similarity out" in capsys.readouterr().err


def test_commands_write_complete_pairs(truncated_store: Path, similar: Pairs, tmp_path: Path) -> None:
    place = ["--store", str(truncated_store), "--collection", "c", "--complete", "--min-similarity", "0.2"]
    for format, read in (("parquet", pd.read_parquet), ("csv", pd.read_csv)):
        file = tmp_path / f"edges.{format}"
        export = ["export", "edges", *place, "--format", format, "--output", str(file)]
        outcome = CliRunner().invoke(command, export)
        assert outcome.exit_code == 0
        assert "stored pairs only" not in outcome.stderr
        written = read(file).astype({"similarity": np.float32}).itertuples(index=False, name=None)
        assert {(a, b): np.float32(similarity) for a, b, similarity in written} == at_least(similar, 0.2)
    file = tmp_path / "cliffs.csv"
    outcome = CliRunner().invoke(command, ["cliffs", *place, "--property", "activity", "--output", str(file)])
    assert "stored pairs only" not in outcome.stderr
    with graphkin.open(truncated_store) as collections:
        cliffs = collections["c"].cliffs("activity", min_similarity=0.2, complete=True)
    assert pd.read_csv(file)["a"].tolist() == cliffs["a"].to_pylist()


@pytest.mark.parametrize(("method", "threshold"), [("butina", 0.4), ("single", 0.35), ("scaffold", None)])
def test_labels_are_the_numbers_of_the_clusters(collection: Collection, method: Any, threshold: float | None) -> None:
    labels = collection.labels(method, threshold)
    assert (str(labels.dtype), len(labels)) == ("int32", collection.size)
    clusters = collection.clusters(method=method, threshold=threshold)
    assert np.bincount(labels)[1:].tolist() == clusters["size"].to_pylist()
    for number in (1, 2, len(clusters)):
        members = collection.cluster(number, method=method, threshold=threshold)["id"].to_pylist()
        assert sorted(members) == np.flatnonzero(labels == number).tolist()


def test_graphs_of_other_libraries_have_the_edges(collection: Collection, similar: Pairs, frame: pd.DataFrame) -> None:
    expected = at_least(similar, 0.4)
    matrix = collection.to_scipy(min_similarity=0.4)
    dense = np.zeros((collection.size, collection.size), np.float32)
    for (a, b), similarity in expected.items():
        dense[a, b] = dense[b, a] = similarity
    assert (matrix.format, matrix.dtype, matrix.has_sorted_indices) == ("csr", np.float32, 1)
    assert np.array_equal(matrix.toarray(), dense)

    graph = collection.to_networkx(min_similarity=0.4, columns=["smiles", "names"])
    assert [*graph.nodes] == [*range(collection.size)]
    assert {(min(edge), max(edge)): np.float32(each) for *edge, each in graph.edges(data="similarity")} == expected
    assert [smiles for _, smiles in graph.nodes(data="smiles")] == frame["smiles"].tolist()
    assert graph.nodes[3]["names"] == [frame["id"][3]]

    graph = collection.to_igraph(min_similarity=0.4, columns=["smiles"])
    assert graph.vcount() == collection.size
    assert dict(zip(graph.get_edgelist(), map(np.float32, graph.es["similarity"]), strict=True)) == expected
    assert graph.vs["smiles"] == frame["smiles"].tolist()


def test_graphs_without_edges(truncated: Collection) -> None:
    assert truncated.to_scipy(min_similarity=1.0).nnz == 2 * len(truncated.edges(min_similarity=1.0))
    size = truncated.size
    assert truncated.to_networkx(complete=True, min_similarity=1.0).number_of_nodes() == size
    assert truncated.to_igraph(complete=True, min_similarity=1.0).vcount() == size


@pytest.mark.parametrize(
    ("module", "method", "hint"),
    [("scipy.sparse", "to_scipy", "sklearn"), ("igraph", "to_igraph", "pip install igraph")],
)
def test_missing_package_is_named(
    truncated: Collection, module: str, method: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InvalidInput, match="not installed") as refused:
        getattr(truncated, method)()
    assert hint in str(refused.value)
