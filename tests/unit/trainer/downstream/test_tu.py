"""The TU layout against PyG's own reader, scores against scikit-learn, and what is wrong with a file."""

import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score, f1_score, log_loss
from sklearn.utils.class_weight import compute_class_weight

import graphkin.trainer.model.encoders  # noqa: F401  (silences what PyG warns of while it is imported)
from graphkin.protocol.errors import Conflict, Damaged, InvalidInput, NotFound
from graphkin.trainer.downstream.finetune import FinetuneOptions, InitialEncoder, finetune
from graphkin.trainer.downstream.tu import TuDataset, rc_f1, read_tu
from graphkin.trainer.model.batch import Assembler, Shape
from graphkin.trainer.model.inputs import AttributeInputs
from graphkin.trainer.pretraining.config import Model
from graphkin.trainer.pretraining.objective import make_encoder

WriteTu = Callable[..., Path]


@pytest.fixture(scope="module")
def folder(write_tu: WriteTu, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """25 random graphs of three classes, every third without edges but not the last, which PyG could not read."""
    graphs = [nx.gnp_random_graph(size, 0.2 * (size % 3), seed=size) for size in range(1, 26)]
    return write_tu(tmp_path_factory.mktemp("random") / "RANDOM", graphs, [5, -1, 2, 2, 5] * 5)


def zipped(folder: Path, target: Path, prefix: str = "") -> Path:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in folder.iterdir():
            archive.write(file, prefix + file.name)
    return target


def test_graphs_and_classes_are_those_that_pyg_reads(folder: Path) -> None:
    from torch_geometric.io import read_tu_data

    dataset = read_tu(folder)
    data, slices, _ = read_tu_data(str(folder), "RANDOM")
    assert dataset.name == "RANDOM"
    assert dataset.classes == (-1, 2, 5)
    assert dataset.labels.tolist() == data.y.tolist()
    assert dataset.corpus.size == len(slices["y"]) - 1
    corpus = dataset.corpus
    for graph in range(corpus.size):
        edges = slice(corpus.edge_offsets[graph], corpus.edge_offsets[graph + 1])
        atoms = slice(corpus.atom_offsets[graph], corpus.atom_offsets[graph + 1])
        targets = np.repeat(np.arange(corpus.atoms[graph]), corpus.degree[atoms])
        theirs = data.edge_index[:, slices["edge_index"][graph] : slices["edge_index"][graph + 1]]
        assert sorted(zip(corpus.source[edges].tolist(), targets.tolist(), strict=True)) == sorted(
            map(tuple, theirs.T.tolist())
        )


def test_a_folder_a_zip_and_a_zip_of_a_folder_are_the_same(folder: Path, tmp_path: Path) -> None:
    flat, nested = zipped(folder, tmp_path / "flat.zip"), zipped(folder, tmp_path / "nested.zip", "RANDOM/")
    with zipfile.ZipFile(nested, "a") as archive:  # as macOS makes them
        archive.writestr("__MACOSX/._RANDOM_A.txt", b"\0")
        archive.writestr("RANDOM/RANDOM_node_labels.txt", "0\n")
    first, *others = map(read_tu, (folder, flat, nested, folder.parent))
    for other in others:
        assert (other.name, other.classes, other.corpus.identity) == (first.name, first.classes, first.corpus.identity)
        assert other.labels.tolist() == first.labels.tolist()
        assert all(np.array_equal(column, other.corpus.columns[name]) for name, column in first.corpus.columns.items())


def test_directions_loops_and_repetitions_do_not_matter(write_tu: WriteTu, tmp_path: Path) -> None:
    one = write_tu(tmp_path / "ONE", [nx.path_graph(3), nx.complete_graph(4)], [1, 2])
    other = tmp_path / "OTHER"
    other.mkdir()
    for file in one.iterdir():
        shutil.copy(file, other / file.name.replace("ONE", "OTHER"))
    (other / "OTHER_A.txt").write_text("2,1\n3, 2\n2,3\n2, 2\n2,1\n4,5\n7,4\n5, 6\n6,7\n4,6\n5,7\n")
    columns = read_tu(one).corpus.columns
    assert all(np.array_equal(column, columns[name]) for name, column in read_tu(other).corpus.columns.items())


def test_accuracy_is_scikit_learns_and_micro_f1(folder: Path) -> None:
    dataset = read_tu(folder)
    rows, logits = np.arange(3, 25), np.random.default_rng(0).normal(size=(22, 3))
    accuracy, _ = dataset.scores(logits, rows)
    labels = dataset.labels[rows], logits.argmax(1)
    assert 0.1 < accuracy < 0.9
    assert accuracy == pytest.approx(accuracy_score(*labels))
    assert accuracy == pytest.approx(f1_score(*labels, average="micro"))


def test_rc_f1_equals_its_published_formula() -> None:
    """Batches of 32, 32 and 6 graphs: micro-F1 of each, weighted by its nodes."""
    random = np.random.default_rng(1)
    truth, predicted, nodes = random.integers(3, size=70), random.integers(3, size=70), random.integers(1, 99, size=70)
    parts = [slice(start, start + 32) for start in (0, 32, 64)]
    scores = [f1_score(truth[part], predicted[part], average="micro") for part in parts]
    expected = np.average(scores, weights=[nodes[part].sum() for part in parts])
    assert rc_f1(truth == predicted, nodes) == pytest.approx(expected)
    assert rc_f1(truth == predicted, nodes) != pytest.approx(accuracy_score(truth, predicted), abs=1e-3)


def test_rc_f1_weighs_classes_by_their_nodes() -> None:
    """A file ordered by class: whoever says class 1 everywhere is right on half of the graphs, and on most nodes."""
    truth, nodes = np.repeat([0, 1], 32), np.repeat([10, 90], 32)
    assert rc_f1(truth == 1, nodes) == pytest.approx(0.9)


def test_loss_is_cross_entropy(folder: Path) -> None:
    dataset = read_tu(folder)
    logits, rows = torch.randn(4, 3, dtype=torch.float64), np.array([9, 2, 4, 20])
    expected = -logits.log_softmax(1)[range(4), dataset.labels[rows].tolist()].mean()
    torch.testing.assert_close(dataset.loss(logits, rows), expected)
    weights = dataset.class_weights(rows)
    present, labels = np.unique(dataset.labels[rows]), dataset.labels[rows]
    np.testing.assert_allclose(weights[present], compute_class_weight("balanced", classes=present, y=labels))
    balanced = log_loss(labels, logits.softmax(1), sample_weight=weights[labels], labels=range(3))
    assert float(dataset.loss(logits, rows, torch.from_numpy(weights))) == pytest.approx(balanced)


def replaced(folder: Path, target: Path, ending: str, text: str | None) -> Path:
    shutil.copytree(folder, target)
    file = target / f"RANDOM_{ending}.txt"
    if text is None:
        file.unlink()
    else:
        file.write_text(text)
    return target


@pytest.mark.parametrize(
    ("ending", "text", "error", "said"),
    [
        ("A", None, NotFound, "no set in the TUDataset layout"),
        ("graph_indicator", None, NotFound, "RANDOM_graph_indicator.txt"),
        ("graph_labels", None, NotFound, "RANDOM_graph_labels.txt"),
        ("A", "1, 2\n1, x\n", Damaged, "RANDOM_A.txt cannot be read"),
        ("A", "1 2\n", Damaged, "RANDOM_A.txt cannot be read"),
        ("A", "1, 2\n1\n", Damaged, "RANDOM_A.txt cannot be read"),
        ("A", "1\n2\n", Damaged, "1 numbers a line"),
        ("A", "0, 1\n", InvalidInput, "nodes that do not exist"),
        ("A", "1, 999\n", InvalidInput, "nodes that do not exist"),
        ("A", "2, 3\n1, 2\n", InvalidInput, "line 2 of RANDOM_A.txt"),
        ("graph_labels", "1\n" * 24, InvalidInput, "of 25 graphs, 24 classes"),
        ("graph_labels", "1.5\n" * 25, Damaged, "whole numbers"),
        ("graph_indicator", "1\n2\n1\n", InvalidInput, "ascending"),
        ("graph_indicator", "", InvalidInput, "nodes of 0 graphs"),
    ],
)
def test_invalid_file_of_a_data_set_is_refused(
    folder: Path, tmp_path: Path, ending: str, text: str | None, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        read_tu(replaced(folder, tmp_path / "set", ending, text))


def test_path_that_is_not_a_data_set_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="does not exist"):
        read_tu(tmp_path / "nothing.zip")
    (tmp_path / "text.zip").write_text("no zip")
    with pytest.raises(Damaged, match="a folder or a zip file"):
        read_tu(tmp_path / "text.zip")
    whole = zipped(folder, tmp_path / "whole.zip").read_bytes()
    damaged = bytearray(whole)
    damaged[100:140] = bytes(40)
    (tmp_path / "bits.zip").write_bytes(damaged)
    with pytest.raises(Damaged):
        read_tu(tmp_path / "bits.zip")
    for name in ("ONE", "TWO"):
        shutil.copy(folder / "RANDOM_A.txt", tmp_path / f"{name}_A.txt")
    with pytest.raises(NotFound, match="more than one set"):
        read_tu(tmp_path)


def test_edges_of_no_graph_at_all_are_none(folder: Path, tmp_path: Path) -> None:
    dataset = read_tu(replaced(folder, tmp_path / "set", "A", ""))
    assert isinstance(dataset, TuDataset)
    assert dataset.corpus.edge_offsets.tolist() == [0] * 26


@pytest.fixture
def attributed(write_tu: WriteTu, tmp_path: Path) -> Path:
    """40 paths of 4 to 8 nodes. The class is that of the first node's label; the second attribute is its double."""
    classes = [number // 2 % 2 for number in range(40)]
    sizes = [4 + number % 5 for number in range(40)]
    folder = write_tu(tmp_path / "NAMED", [nx.path_graph(size) for size in sizes], classes)
    labels = [2 * label if node == 0 else 1 for label, size in zip(classes, sizes, strict=True) for node in range(size)]
    (folder / "NAMED_node_labels.txt").write_text("".join(f"{label}\n" for label in labels))
    (folder / "NAMED_node_attributes.txt").write_text("".join(f"{n / 8}, {2.0 * x}\n" for n, x in enumerate(labels)))
    return folder


def test_node_attributes_are_those_that_pyg_reads(attributed: Path, tmp_path: Path) -> None:
    """In a folder, in a zip file, and with one of the two files alone."""
    from torch_geometric.io import read_tu_data

    data, _, _ = read_tu_data(str(attributed), "NAMED")
    dataset = read_tu(attributed, node_attributes=True)
    assert (dataset.attributes, read_tu(attributed).attributes) == (5, 0)
    np.testing.assert_array_equal(dataset.corpus.attributes, data.x)
    archive = read_tu(zipped(attributed, tmp_path / "named.zip", "NAMED/"), node_attributes=True)
    np.testing.assert_array_equal(archive.corpus.attributes, data.x)
    (attributed / "NAMED_node_attributes.txt").unlink()
    labels = read_tu(attributed, node_attributes=True)
    np.testing.assert_array_equal(labels.corpus.attributes, data.x[:, 2:])
    assert len({each.corpus.identity for each in (dataset, labels, read_tu(attributed))}) == 3


def test_invalid_node_attributes_are_reported(attributed: Path, folder: Path) -> None:
    with pytest.raises(NotFound, match="no labels or attributes of nodes"):
        read_tu(folder, node_attributes=True)
    file = attributed / "NAMED_node_attributes.txt"
    content = file.read_text()
    for faulty in (content[:-12], content.replace("0.125,", "nan,"), content.replace("0.125,", "x,"), content + "1\n"):
        file.write_text(faulty)
        with pytest.raises(Damaged, match="NAMED_node_attributes"):
            read_tu(attributed, node_attributes=True)


def test_attributes_follow_nodes_through_batches_and_normalize_by_training_data(attributed: Path) -> None:
    """First vectors by hand: standardized by the batch's nodes, and one linear layer."""
    corpus = read_tu(attributed, node_attributes=True).corpus
    assert corpus.attributes is not None
    assembler, ids = Assembler(corpus), np.array([7, 0, 31])
    batch = assembler.batch(ids)
    rows = np.concatenate([np.arange(corpus.atom_offsets[i], corpus.atom_offsets[i + 1]) for i in ids])
    values = torch.from_numpy(corpus.attributes[rows])
    assert torch.equal(batch.attributes, values)  # type: ignore[arg-type]
    keep = torch.arange(batch.atoms) % 2 == 0
    parts = (batch.first(1), batch.rest(1), batch.induced(keep))
    expected_rows = (slice(0, parts[0].atoms), slice(parts[0].atoms, None), keep)
    for part, at in zip(parts, expected_rows, strict=True):
        assert torch.equal(part.attributes, values[at])  # type: ignore[arg-type, index]
    inputs = AttributeInputs(3, 5)
    standard = (values - values.mean(0)) / torch.sqrt(values.var(0, unbiased=False) + 1e-5)
    expected = standard @ inputs.linear.weight.T + inputs.linear.bias
    shape = Shape.holding(batch.atoms, len(batch.bond))
    padded = assembler.padded_batch(torch.from_numpy(ids), shape, torch.tensor(0))
    torch.testing.assert_close(inputs(batch), expected, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(inputs(padded)[: batch.atoms], expected, atol=1e-5, rtol=1e-4)


def test_encoder_learns_classes_that_only_attributes_show(attributed: Path) -> None:
    data = read_tu(attributed, node_attributes=True)
    options = FinetuneOptions(epochs=15, learning_rate=1e-2, dropout=0.0, batch_size=16)
    model = Model(layers=1, width=16, attributes=data.attributes)
    accuracies = [
        finetune(InitialEncoder(start), data, data.split(), options, seed=0).main.test[-1]
        for start in (model, Model(layers=1, width=16))
    ]
    assert accuracies[0] == 1 > accuracies[1]


def test_encoder_of_attributes_refuses_other_graphs(attributed: Path) -> None:
    encoder = make_encoder(Model(layers=1, width=8, attributes=4)).eval()
    for data, given in ((read_tu(attributed), "0 attributes"), (read_tu(attributed, node_attributes=True), "5 attr")):
        with pytest.raises(Conflict, match="nodes have other attributes") as raised:
            encoder(Assembler(data.corpus).batch(np.array([0, 1])))
        assert given in str(raised.value.given)
    with pytest.raises(InvalidInput, match="number of attributes"):
        Model(attributes=3, features="rich")
