"""The command `graphkin embed`."""

import bz2
import csv
import gzip
import io
import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pyarrow.parquet as pq
import pytest
from networkx.readwrite.graphml import GraphMLWriter
from numpy.typing import NDArray
from rdkit import Chem

from benchmarks.memory import MemorySource
from graphkin.trainer.downstream.embed import embed as embeddings
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.featurize import featurize
from graphkin.trainer.feed.source import Epoch
from graphkin.trainer.pretraining.checkpoint import Run
from graphkin.trainer.pretraining.config import Model, Nodes, PretrainConfig
from graphkin.trainer.pretraining.objective import make_encoder
from graphkin.trainer.pretraining.pretrain import pretrain
from graphkin.trainer.pretraining.pretrained import encoder_checkpoint, load_encoder

LINES = ("CCO ethanol", "c1ccccc1", "no_molecule 3", "", "CCN amine")
MOLECULES = ("CCO", "c1ccccc1", "CCN")
ROWS = [0, 1, 4]


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    config = replace(PretrainConfig.from_strategy("rdm", max_steps=1), model=Model("gin", layers=2, width=8))
    nothing = np.empty((len(MOLECULES), 0), np.int32)
    source = MemorySource(featurize(MOLECULES, "molecules"), config.draws, [Epoch(nothing, nothing)])
    pretrain(config, source, folder)
    return folder


@pytest.fixture(scope="session")
def expected(checkpoint: Path) -> NDArray[np.float32]:
    encoder = load_encoder(checkpoint).encoder
    return embeddings(encoder, featurize(MOLECULES, "expected"))


@pytest.fixture
def embed(graphkin: Any, checkpoint: Path, tmp_path: Path) -> Callable[..., Any]:
    """Return `embed(text, "out.npy", options...)`, which embeds a file molecules.smi, or another name."""

    def call(text: str | bytes, output: str, *options: object, name: str = "molecules.smi") -> Any:
        (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
        place = ("--checkpoint", checkpoint, "--input", tmp_path / name, "--output", tmp_path / output)
        return graphkin("embed", *place, *options)

    return call


def rejections(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as text:
        return [*csv.DictReader(text)]


def test_npy_has_every_record_in_its_row(embed: Any, tmp_path: Path, expected: NDArray[np.float32]) -> None:
    outcome = embed("\n".join(LINES) + "\n", "out.npy")
    assert outcome.code == 0
    assert "3 embeddings of 8 dimensions" in outcome.out
    assert "2 of 5 records are not molecules" in outcome.out
    embeddings_read = np.load(tmp_path / "out.npy")
    np.testing.assert_allclose(embeddings_read[ROWS], expected, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(embeddings_read[ROWS], axis=1), 1, atol=1e-6)
    assert np.isnan(embeddings_read[[2, 3]]).all()
    rejection_rows = rejections(tmp_path / "out.rejections.csv")
    assert [(each["row"], each["line"], each["input"]) for each in rejection_rows] == [
        ("2", "3", "no_molecule"),
        ("3", "4", ""),
    ]
    assert all("no molecule" in each["reason"] for each in rejection_rows)


def test_rejections_are_safe_in_a_spreadsheet(embed: Any, tmp_path: Path) -> None:
    assert embed("CCO\n=1+1\n＠x;=1+1\n", "out.npy").code == 0
    assert [each["input"] for each in rejections(tmp_path / "out.rejections.csv")] == ["'=1+1", "'＠x;'=1+1"]


def test_parquet_has_molecules_and_row_numbers(embed: Any, tmp_path: Path, expected: NDArray[np.float32]) -> None:
    text = gzip.compress(
        "\n".join(["id,canonical", *(f"{row},{line.split(' ')[0]}" for row, line in enumerate(LINES))]).encode()
    )
    outcome = embed(text, "out.parquet", "--smiles-column", "canonical", name="molecules.csv.gz")
    assert outcome.code == 0
    embeddings_read = pq.read_table(tmp_path / "out.parquet")
    assert embeddings_read["row"].to_pylist() == ROWS
    assert embeddings_read["smiles"].to_pylist() == [*MOLECULES]
    np.testing.assert_allclose(np.stack(embeddings_read["embedding"].to_numpy()), expected, atol=1e-6)
    assert [each["line"] for each in rejections(tmp_path / "out.rejections.csv")] == ["4", "5"]


@pytest.mark.parametrize("name", ["molecules.sdf", "molecules.sd.bz2"])
def test_sd_files_are_embedded(embed: Any, tmp_path: Path, checkpoint: Path, nci_smiles: list[str], name: str) -> None:
    molecules = [molecule for smiles in nci_smiles[:40] if (molecule := Chem.MolFromSmiles(smiles)) is not None]
    text = io.StringIO()
    with Chem.SDWriter(text) as writer:
        for molecule in molecules:
            writer.write(molecule)
    content = text.getvalue() + "broken\n\n\nno molblock\n$$$$\n"
    outcome = embed(bz2.compress(content.encode()) if name.endswith("bz2") else content, "out.parquet", name=name)
    assert outcome.code == 0
    embeddings_read = pq.read_table(tmp_path / "out.parquet")
    expected = [Chem.MolToSmiles(molecule) for molecule in molecules]
    assert embeddings_read["smiles"].to_pylist() == expected
    vectors = embeddings(load_encoder(checkpoint).encoder, featurize(expected, ""))
    np.testing.assert_allclose(np.stack(embeddings_read["embedding"].to_numpy()), vectors, atol=1e-6)
    [rejected] = rejections(tmp_path / "out.rejections.csv")
    assert rejected["row"] == str(len(molecules))
    assert rejected["input"].startswith("broken")


def test_standard_input_is_embedded(
    graphkin: Any, checkpoint: Path, tmp_path: Path, expected: NDArray[np.float32]
) -> None:
    place = ("--checkpoint", checkpoint, "--input", "-", "--format", "smi", "--output", tmp_path / "out.npy")
    assert graphkin("embed", *place, stdin="\n".join(MOLECULES).encode()).code == 0
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), expected, atol=1e-6)


@pytest.fixture(scope="session")
def graphs() -> list[nx.Graph]:
    """Return graphs of 1 to 30 nodes, some without edges."""
    return [nx.gnp_random_graph(size, 0.15 * (size % 4), seed=size) for size in range(1, 31)]


@pytest.fixture(scope="session")
def vectors(graphs: list[nx.Graph], checkpoint: Path) -> NDArray[np.float32]:
    """Return the embeddings of features computed from the edges, without a file."""
    edges = [np.array(graph.edges, np.int64).reshape(-1, 2) for graph in graphs]
    sizes = np.array([len(graph) for graph in graphs]), np.array(list(map(len, edges)))
    return embeddings(load_encoder(checkpoint).encoder, Corpus.from_edges("graphs", *sizes, np.concatenate(edges)))


def test_embedding_of_a_graph_does_not_depend_on_the_format(
    graphkin: Any, checkpoint: Path, tmp_path: Path, graphs: list[nx.Graph], vectors: NDArray[np.float32], write_tu: Any
) -> None:
    """Renumbered nodes, loops, repeated edges and labels do not change the embedding."""
    random = np.random.default_rng(0)
    lines, writer = [], GraphMLWriter()
    for graph in graphs:
        numbers = random.permutation(len(graph)).tolist()
        edges = [[numbers[u], numbers[v]] for u, v in graph.edges]
        record = {"num_nodes": len(graph), "edges": [*edges, *edges[:1], [0, 0]], "labels": numbers}
        lines.append(json.dumps(record))
        writer.add_graph_element(graph)
    (tmp_path / "g.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "g.graphml").write_text(str(writer))
    write_tu(tmp_path / "TU", graphs, [0] * len(graphs))
    for name in ("g.jsonl", "g.graphml", "TU"):
        place = ("--checkpoint", checkpoint, "--input", tmp_path / name, "--output", tmp_path / f"{name}.npy")
        outcome = graphkin("embed", *place)
        assert (outcome.code, f"{len(graphs)} embeddings" in outcome.out) == (0, True), outcome.err
        np.testing.assert_allclose(np.load(tmp_path / f"{name}.npy"), vectors, atol=1e-6)


def test_invalid_graphs_are_listed(embed: Any, tmp_path: Path) -> None:
    lines = ['{"edges": [[0, 1]]}', "{", '{"num_nodes": 0, "edges": []}', '{"num_nodes": 1, "edges": []}', '"a"']
    assert embed("\n".join(lines), "out.parquet", name="graphs.jsonl").code == 0
    embeddings_read = pq.read_table(tmp_path / "out.parquet")
    assert embeddings_read.column_names == ["row", "structure", "embedding"]
    assert (embeddings_read["row"].to_pylist(), embeddings_read["structure"].to_pylist()) == (
        [0, 3],
        [lines[0], lines[3]],
    )
    rejection_rows = rejections(tmp_path / "out.rejections.csv")
    assert [(each["row"], each["line"], each["input"]) for each in rejection_rows] == [
        (str(row), str(row + 1), lines[row]) for row in (1, 2, 4)
    ]
    assert all(
        record in each["reason"]
        for record, each in zip(("not JSON", "num_nodes is 0", "edges"), rejection_rows, strict=True)
    )
    outcome = embed("{}\n", "none.npy", name="graphs.jsonl")
    assert (outcome.code, "none of 1 records is a graph" in outcome.err) == (2, True)


def test_node_encoder_is_refused(embed: Any, tmp_path: Path) -> None:
    model = Model("gin", layers=1, width=8, nodes=Nodes(eigenvectors=2, degree_width=2, max_degree=4))
    run = Run(tmp_path / "nodes", {"config": None, "model": asdict(model), "finetuned": {}}, resume=False)
    run.save(encoder_checkpoint(make_encoder(model), 1, 1))
    outcome = embed("C\n", "out.npy", "--checkpoint", tmp_path / "nodes")
    assert (outcome.code, "this encoder was trained on nodes" in outcome.err) == (2, True)


def test_rows_stay_aligned_over_many_blocks(
    embed: Any, tmp_path: Path, nci_smiles: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """2,100 records in three blocks, every hundredth of them invalid."""
    monkeypatch.setattr("graphkin.cli.records._BATCHES", 1)
    lines = [smiles if row % 100 else "nothing" for row, smiles in enumerate(nci_smiles[:2100])]
    assert embed("\n".join(lines), "out.npy").code == 0
    assert embed("\n".join(lines), "out.parquet").code == 0
    array, table = np.load(tmp_path / "out.npy"), pq.read_table(tmp_path / "out.parquet")
    rows = np.flatnonzero(~np.isnan(array[:, 0]))
    assert {*range(0, 2100, 100)}.isdisjoint(rows.tolist())
    assert array.shape == (2100, 8)
    np.testing.assert_array_equal(table["row"], rows)
    np.testing.assert_array_equal(np.stack(table["embedding"].to_numpy()), array[rows])
    assert table["smiles"].to_pylist() == [lines[row] for row in rows]
    assert [int(each["row"]) for each in rejections(tmp_path / "out.rejections.csv")] == [
        row for row in range(2100) if row not in {*rows.tolist()}
    ]


def test_empty_list_of_rejections_is_written(embed: Any, tmp_path: Path) -> None:
    assert embed("C\nx\n", "out.npy").code == 0
    outcome = embed("C\n", "out.npy")
    assert "records are not molecules" not in outcome.out
    assert rejections(tmp_path / "out.rejections.csv") == []


@pytest.mark.parametrize(
    ("text", "output", "options", "name", "code", "message"),
    [
        ("C\n", "out.csv", (), "molecules.smi", 2, ".npy or .parquet"),
        ("x\ny\n", "out.npy", (), "molecules.smi", 2, "none of 2 records is a molecule"),
        ("smiles\n", "out.parquet", (), "molecules.csv", 2, "none of 0 records is a molecule"),
        ("", "out.npy", (), "molecules.smi", 2, "is empty"),
        ("a,b\nC,D\n", "out.npy", (), "molecules.csv", 2, "no column 'smiles'"),
        ("C\n", "out.npy", (), "molecules.xyz", 2, "cannot be determined from its name"),
        ("\n\n\n\nM  END\n$$$$\n", "out.npy", (), "molecules.sdf", 2, "none of 1 records is a molecule"),
        ("C\n", "nowhere/out.npy", (), "molecules.smi", 2, "cannot write the file"),
        ("C\n", "out.npy", ("--checkpoint", "nowhere"), "molecules.smi", 3, "holds no training run"),
        ("C\n", "out.npy", ("--device", "abacus"), "molecules.smi", 2, "cpu or cuda"),
    ],
)
def test_error_is_explained_and_leaves_no_file(
    embed: Any, tmp_path: Path, text: str, output: str, options: tuple[str, ...], name: str, code: int, message: str
) -> None:
    outcome = embed(text, output, *options, name=name)
    assert outcome.code == code
    assert message in outcome.err
    assert "Traceback" not in outcome.err
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_failure_keeps_an_earlier_file(embed: Any, tmp_path: Path) -> None:
    assert embed("C\n", "out.npy").code == 0
    before = (tmp_path / "out.npy").read_bytes()
    assert embed("x\n", "out.npy").code == 2
    assert (tmp_path / "out.npy").read_bytes() == before
