"""`graphkin embed` as it is typed."""

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
    """`embed(text, "out.npy", options...)`, of a file molecules.smi, or of another name."""

    def call(text: str | bytes, output: str, *options: object, name: str = "molecules.smi") -> Any:
        (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
        place = ("--checkpoint", checkpoint, "--input", tmp_path / name, "--output", tmp_path / output)
        return graphkin("embed", *place, *options)

    return call


def rejections(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as text:
        return [*csv.DictReader(text)]


def test_npy_has_every_record_in_its_row(embed: Any, tmp_path: Path, expected: NDArray[np.float32]) -> None:
    ended = embed("\n".join(LINES) + "\n", "out.npy")
    assert ended.code == 0
    assert "3 embeddings of 8 dimensions" in ended.out
    assert "2 of 5 records are no molecules" in ended.out
    found = np.load(tmp_path / "out.npy")
    np.testing.assert_allclose(found[ROWS], expected, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(found[ROWS], axis=1), 1, atol=1e-6)
    assert np.isnan(found[[2, 3]]).all()
    told = rejections(tmp_path / "out.rejections.csv")
    assert [(each["row"], each["line"], each["input"]) for each in told] == [("2", "3", "no_molecule"), ("3", "4", "")]
    assert all("no molecule" in each["reason"] for each in told)


def test_rejections_run_nothing_in_a_spreadsheet(embed: Any, tmp_path: Path) -> None:
    assert embed("CCO\n=1+1\n＠x;=1+1\n", "out.npy").code == 0
    assert [each["input"] for each in rejections(tmp_path / "out.rejections.csv")] == ["'=1+1", "'＠x;'=1+1"]


def test_parquet_has_the_molecules_with_their_rows(embed: Any, tmp_path: Path, expected: NDArray[np.float32]) -> None:
    text = gzip.compress(
        "\n".join(["id,canonical", *(f"{row},{line.split(' ')[0]}" for row, line in enumerate(LINES))]).encode()
    )
    ended = embed(text, "out.parquet", "--smiles-column", "canonical", name="molecules.csv.gz")
    assert ended.code == 0
    found = pq.read_table(tmp_path / "out.parquet")
    assert found["row"].to_pylist() == ROWS
    assert found["smiles"].to_pylist() == [*MOLECULES]
    np.testing.assert_allclose(np.stack(found["embedding"].to_numpy()), expected, atol=1e-6)
    assert [each["line"] for each in rejections(tmp_path / "out.rejections.csv")] == ["4", "5"]


@pytest.mark.parametrize("name", ["molecules.sdf", "molecules.sd.bz2"])
def test_sd_files_that_rdkit_writes(
    embed: Any, tmp_path: Path, checkpoint: Path, nci_smiles: list[str], name: str
) -> None:
    molecules = [molecule for smiles in nci_smiles[:40] if (molecule := Chem.MolFromSmiles(smiles)) is not None]
    text = io.StringIO()
    with Chem.SDWriter(text) as writer:
        for molecule in molecules:
            writer.write(molecule)
    content = text.getvalue() + "broken\n\n\nno molblock\n$$$$\n"
    ended = embed(bz2.compress(content.encode()) if name.endswith("bz2") else content, "out.parquet", name=name)
    assert ended.code == 0
    found = pq.read_table(tmp_path / "out.parquet")
    expected = [Chem.MolToSmiles(molecule) for molecule in molecules]
    assert found["smiles"].to_pylist() == expected
    vectors = embeddings(load_encoder(checkpoint).encoder, featurize(expected, ""))
    np.testing.assert_allclose(np.stack(found["embedding"].to_numpy()), vectors, atol=1e-6)
    [rejected] = rejections(tmp_path / "out.rejections.csv")
    assert rejected["row"] == str(len(molecules))
    assert rejected["input"].startswith("broken")


def test_standard_input(graphkin: Any, checkpoint: Path, tmp_path: Path, expected: NDArray[np.float32]) -> None:
    place = ("--checkpoint", checkpoint, "--input", "-", "--format", "smi", "--output", tmp_path / "out.npy")
    assert graphkin("embed", *place, stdin="\n".join(MOLECULES).encode()).code == 0
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), expected, atol=1e-6)


@pytest.fixture(scope="session")
def graphs() -> list[nx.Graph]:
    """Of 1 to 30 nodes, some without edges."""
    return [nx.gnp_random_graph(size, 0.15 * (size % 4), seed=size) for size in range(1, 31)]


@pytest.fixture(scope="session")
def vectors(graphs: list[nx.Graph], checkpoint: Path) -> NDArray[np.float32]:
    """Of features made from the edges themselves, without any file."""
    edges = [np.array(graph.edges, np.int64).reshape(-1, 2) for graph in graphs]
    sizes = np.array([len(graph) for graph in graphs]), np.array(list(map(len, edges)))
    return embeddings(load_encoder(checkpoint).encoder, Corpus.from_edges("graphs", *sizes, np.concatenate(edges)))


def test_graphs_of_every_format(
    graphkin: Any, checkpoint: Path, tmp_path: Path, graphs: list[nx.Graph], vectors: NDArray[np.float32], write_tu: Any
) -> None:
    """Numbered anew, with loops, repetitions and labels: what is embedded is the graph."""
    random = np.random.default_rng(0)
    lines, writer = [], GraphMLWriter()
    for graph in graphs:
        numbers = random.permutation(len(graph)).tolist()
        edges = [[numbers[u], numbers[v]] for u, v in graph.edges]
        said = {"num_nodes": len(graph), "edges": [*edges, *edges[:1], [0, 0]], "labels": numbers}
        lines.append(json.dumps(said))
        writer.add_graph_element(graph)
    (tmp_path / "g.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "g.graphml").write_text(str(writer))
    write_tu(tmp_path / "TU", graphs, [0] * len(graphs))
    for name in ("g.jsonl", "g.graphml", "TU"):
        place = ("--checkpoint", checkpoint, "--input", tmp_path / name, "--output", tmp_path / f"{name}.npy")
        ended = graphkin("embed", *place)
        assert (ended.code, f"{len(graphs)} embeddings" in ended.out) == (0, True), ended.err
        np.testing.assert_allclose(np.load(tmp_path / f"{name}.npy"), vectors, atol=1e-6)


def test_what_is_no_graph_is_listed(embed: Any, tmp_path: Path) -> None:
    lines = ['{"edges": [[0, 1]]}', "{", '{"num_nodes": 0, "edges": []}', '{"num_nodes": 1, "edges": []}', '"a"']
    assert embed("\n".join(lines), "out.parquet", name="graphs.jsonl").code == 0
    found = pq.read_table(tmp_path / "out.parquet")
    assert found.column_names == ["row", "structure", "embedding"]
    assert (found["row"].to_pylist(), found["structure"].to_pylist()) == ([0, 3], [lines[0], lines[3]])
    told = rejections(tmp_path / "out.rejections.csv")
    assert [(each["row"], each["line"], each["input"]) for each in told] == [
        (str(row), str(row + 1), lines[row]) for row in (1, 2, 4)
    ]
    assert all(said in each["reason"] for said, each in zip(("not JSON", "num_nodes is 0", "edges"), told, strict=True))
    ended = embed("{}\n", "none.npy", name="graphs.jsonl")
    assert (ended.code, "none of 1 records is a graph" in ended.err) == (2, True)


def test_encoders_of_nodes_are_refused(embed: Any, tmp_path: Path) -> None:
    model = Model("gin", layers=1, width=8, nodes=Nodes(eigenvectors=2, degree_width=2, max_degree=4))
    run = Run(tmp_path / "nodes", {"config": None, "model": asdict(model), "finetuned": {}}, resume=False)
    run.save(encoder_checkpoint(make_encoder(model), 1, 1))
    ended = embed("C\n", "out.npy", "--checkpoint", tmp_path / "nodes")
    assert (ended.code, "this encoder is of nodes" in ended.err) == (2, True)


def test_many_blocks_stay_in_step(
    embed: Any, tmp_path: Path, nci_smiles: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """2,100 records, every hundredth of them none, in three blocks."""
    monkeypatch.setattr("graphkin.cli.commands.embed._BATCHES", 1)
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


def test_nothing_rejected_is_said_too(embed: Any, tmp_path: Path) -> None:
    assert embed("C\nx\n", "out.npy").code == 0
    ended = embed("C\n", "out.npy")
    assert "records are no molecules" not in ended.out
    assert rejections(tmp_path / "out.rejections.csv") == []


@pytest.mark.parametrize(
    ("text", "output", "options", "name", "code", "said"),
    [
        ("C\n", "out.csv", (), "molecules.smi", 2, ".npy or .parquet"),
        ("x\ny\n", "out.npy", (), "molecules.smi", 2, "none of 2 records is a molecule"),
        ("smiles\n", "out.parquet", (), "molecules.csv", 2, "none of 0 records is a molecule"),
        ("", "out.npy", (), "molecules.smi", 2, "is empty"),
        ("a,b\nC,D\n", "out.npy", (), "molecules.csv", 2, "no column 'smiles'"),
        ("C\n", "out.npy", (), "molecules.xyz", 2, "does not tell its format"),
        ("\n\n\n\nM  END\n$$$$\n", "out.npy", (), "molecules.sdf", 2, "none of 1 records is a molecule"),
        ("C\n", "nowhere/out.npy", (), "molecules.smi", 2, "cannot write the file"),
        ("C\n", "out.npy", ("--checkpoint", "nowhere"), "molecules.smi", 3, "no training run there"),
        ("C\n", "out.npy", ("--device", "abacus"), "molecules.smi", 2, "'abacus' is not one of"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_left(
    embed: Any, tmp_path: Path, text: str, output: str, options: tuple[str, ...], name: str, code: int, said: str
) -> None:
    ended = embed(text, output, *options, name=name)
    assert ended.code == code
    assert said in ended.err
    assert "Traceback" not in ended.err
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_a_file_of_before_survives_a_failure(embed: Any, tmp_path: Path) -> None:
    assert embed("C\n", "out.npy").code == 0
    before = (tmp_path / "out.npy").read_bytes()
    assert embed("x\n", "out.npy").code == 2
    assert (tmp_path / "out.npy").read_bytes() == before
