"""Classification of graphs in the format of the TU collection (Morris et al., 2020).

A data set consists of text files in a folder or a zip file:

NAME_A.txt                one edge "u, v" per line, with nodes numbered from 1 over all graphs
NAME_graph_indicator.txt  the graph of each node, numbered from 1, ascending
NAME_graph_labels.txt     the class of each graph, a whole number

Two more files are read on request; each has a line for each node. Other files, such as those of edges, are ignored.

NAME_node_attributes.txt  numbers
NAME_node_labels.txt      whole numbers, which become one column for each value
"""

import hashlib
import io
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from graphkin.protocol.errors import Damaged, InvalidInput, NotFound
from graphkin.trainer.downstream.labeled import ClassifiedGraphs
from graphkin.trainer.downstream.split import Rows, Split, stratified_split
from graphkin.trainer.features.corpus import Corpus

_EDGES = "_A.txt"
_WIDTHS = {_EDGES: 2, "_graph_indicator.txt": 1, "_graph_labels.txt": 1}
"""Numbers per line of each file, by the end of its name."""
_ATTRIBUTES, _LABELS = "_node_attributes.txt", "_node_labels.txt"
_PUBLISHED_BATCH = 32  # graphs

_Folder: TypeAlias = Path | zipfile.Path


@dataclass(frozen=True, eq=False)
class TuDataset(ClassifiedGraphs):
    """N graphs with one class each (method.md E2; docs/reference/training.md).

    Attributes:
        corpus: Features. `corpus.identity` is the SHA-256 of all files that were read.
        name: Name of the set, from its file names.
        classes: Numbers of the classes in the files, ascending.
        labels: (N,) int64. Index of each graph's class in `classes`.
    """

    corpus: Corpus
    name: str
    classes: tuple[int, ...]
    labels: NDArray[np.int64]

    noun: ClassVar[str] = "graphs"
    metrics: ClassVar[tuple[str, ...]] = ("accuracy", "rc_f1")

    @property
    def attributes(self) -> int:
        """The number of attributes of a node."""
        return 0 if self.corpus.attributes is None else self.corpus.attributes.shape[1]

    def split(self) -> Split:
        return stratified_split(self.labels)

    def require_scorable(self, split: Split) -> None:
        for (name, rows), minimum in zip(split._asdict().items(), (2, 1, 1), strict=True):
            if len(rows) < minimum:
                raise InvalidInput(
                    f"too few graphs in {name}",
                    given=len(rows),
                    expected=f"{minimum} or more graphs",
                    hint="use a larger set",
                )

    def scores(self, logits: NDArray[np.floating[Any]], rows: Rows) -> tuple[float, ...]:
        """Return the accuracy, which equals micro-F1 for one class per graph, and `rc_f1`."""
        hits = logits.argmax(1) == self.labels[rows]
        return float(hits.mean()), rc_f1(hits, self.corpus.atoms[rows])

    def summary(self, split: Split) -> dict[str, Any]:
        parts = ", ".join(f"{len(rows):,} {part}" for part, rows in split._asdict().items())
        note = (
            f"{self.corpus.size:,} graphs of {self.outputs} classes ({parts}). Accuracy is micro-F1. rc_f1 is the "
            "published measure, at its own best epoch: micro-F1 of each 32 graphs in the order of the file, weighted "
            "by their nodes."
        )
        return {"graphs": self.corpus.size, "classes": self.classes, "note": note}


def rc_f1(hits: NDArray[np.bool_], nodes: NDArray[np.int64]) -> float:
    """Return the published measure Σ_b n_b F1_b / Σ_b n_b over batches b of 32 consecutive graphs (method.md E2).

    n_b is the number of nodes in batch b, and F1_b is its micro-F1. Files are ordered by class, so classes with large
    graphs have more weight than in plain accuracy.

    Args:
        hits: (B,) Whether each graph is classified correctly, in the order of the file.
        nodes: (B,) Number of nodes of each graph.
    """
    starts = np.arange(0, len(hits), _PUBLISHED_BATCH)
    correct = np.add.reduceat(hits.astype(np.float64), starts)
    weights = np.add.reduceat(nodes, starts)
    sizes = np.diff(np.append(starts, len(hits)))
    return float((correct / sizes * weights).sum() / weights.sum())


def read_tu(path: Path, node_attributes: bool = False) -> TuDataset:
    """Read the graphs in a folder or a zip file. The files may be in a subfolder.

    The graphs are simple: directions of edges are ignored, and self-loops and repeated edges are dropped.

    Args:
        path: The folder or file.
        node_attributes: Whether to read the attributes and labels of nodes.

    Raises:
        NotFound: There is no such path, a file is missing, or the set has no attributes or labels of nodes.
        Damaged: A file cannot be read.
        InvalidInput: The files contradict each other.
    """
    with _open(path) as root:
        folder, name = _find_set(root, path)
        contents = [_content(folder, name + ending) for ending in _WIDTHS]
        endings = [each for each in (_ATTRIBUTES, _LABELS) if node_attributes and (folder / f"{name}{each}").is_file()]
        node_contents = {ending: _content(folder, name + ending) for ending in endings}
    if node_attributes and not node_contents:
        raise NotFound(
            "the set has no labels or attributes of nodes",
            given=str(path),
            expected=f"{name}{_LABELS} or {name}{_ATTRIBUTES}",
            hint="leave --node-attributes out, and use an encoder that was trained without attributes",
        )
    edges, graph, label = (
        _numbers(content, name + ending, width)
        for content, (ending, width) in zip(contents, _WIDTHS.items(), strict=True)
    )
    classes, labels = np.unique(label, return_inverse=True)
    _require_consistent(edges, graph[:, 0], len(labels), name)
    identity = hashlib.sha256(b"".join([*contents, *node_contents.values()])).hexdigest()
    corpus = _corpus(identity, edges - 1, graph[:, 0] - 1)
    if node_contents:
        corpus = replace(corpus, attributes=_node_attributes(node_contents, name, len(graph)))
    return TuDataset(corpus, name, tuple(classes.tolist()), labels.reshape(-1))


def _node_attributes(contents: Mapping[str, bytes], name: str, nodes: int) -> NDArray[np.float32]:
    """Return the attributes of all nodes, and after them a column of 0 and 1 for each value of each label, (N, K)."""
    parts = []
    for ending, content in contents.items():
        table = _table(content, name + ending, np.int64 if ending == _LABELS else np.float64)
        if len(table) != nodes or not np.isfinite(table).all():
            raise Damaged(
                f"{name}{ending} does not have finite numbers for each node",
                given=f"{len(table):,} lines",
                expected=f"{nodes:,} lines of finite numbers",
                hint="unpack or download the set again",
            )
        if ending == _LABELS:
            table = np.concatenate([column[:, None] == np.unique(column) for column in table.T], axis=1)
        parts.append(table.astype(np.float32))
    return np.concatenate(parts, axis=1)


@contextmanager
def _open(path: Path) -> Iterator[_Folder]:
    """Yield a folder, or the root folder of a zip file."""
    if not path.exists():
        raise NotFound(
            "the file or folder does not exist",
            given=str(path),
            expected="a folder or zip file in the TUDataset layout",
            hint="check the path",
        )
    try:
        if path.is_dir():
            yield path
            return
        with zipfile.ZipFile(path) as archive:
            yield zipfile.Path(archive)
    except (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise Damaged(
            f"the set cannot be read: {error}",
            given=str(path),
            expected="a folder or a zip file",
            hint="unpack or download the set again",
        ) from error


def _find_set(root: _Folder, path: Path) -> tuple[_Folder, str]:
    """Return the folder of the files, and the name of the set.

    Files whose names begin with a dot are skipped, because operating systems add such files.
    """
    folders: list[Any] = [root, *(each for each in root.iterdir() if each.is_dir())]
    edge_files = [(folder, each.name) for folder in folders for each in folder.iterdir() if each.name.endswith(_EDGES)]
    sets = [(folder, name.removesuffix(_EDGES)) for folder, name in edge_files if not name.startswith(".")]
    if len(sets) != 1:
        raise NotFound(
            f"{'no set' if not sets else 'more than one set'} in the TUDataset layout was found",
            given=", ".join([str(path), *(name for _, name in sets)]),
            expected=f"one NAME{_EDGES} with its other files",
            hint="name the folder of one set",
        )
    return sets[0]


def _content(folder: Any, name: str) -> bytes:
    try:
        content: bytes = (folder / name).read_bytes()
    except (FileNotFoundError, KeyError) as error:  # For a missing file, zipfile raises KeyError.
        raise NotFound(
            "a file of the set is missing", given=str(folder), expected=name, hint="unpack or download the set again"
        ) from error
    return content


def _numbers(content: bytes, name: str, width: int) -> NDArray[np.int64]:
    """Return the whole numbers in a file, (lines, width)."""
    if not content.strip():
        return np.empty((0, width), np.int64)
    table: NDArray[np.int64] = _table(content, name, np.int64)
    if table.shape[1] != width:
        raise Damaged(
            f"{name} has lines of another length",
            given=f"{table.shape[1]} numbers a line",
            expected=f"{width} numbers a line",
            hint="unpack or download the set again",
        )
    return table


def _table(content: bytes, name: str, dtype: type[np.generic]) -> NDArray[Any]:
    """Return the numbers in a file, (lines, numbers a line)."""
    try:
        return np.loadtxt(io.BytesIO(content), dtype, comments=None, delimiter=",", ndmin=2)
    except (ValueError, OverflowError) as error:
        raise Damaged(
            f"{name} cannot be read: {error}",
            given=name,
            expected="whole numbers" if dtype == np.int64 else "numbers, as many in each line",
            hint="unpack or download the set again",
        ) from error


def _require_consistent(edges: NDArray[np.int64], graph: NDArray[np.int64], graphs: int, name: str) -> None:
    """Raise `InvalidInput` if the files contradict each other.

    Args:
        edges: (E, 2) Nodes of each edge, numbered from 1.
        graph: (N,) Graph of each node, numbered from 1.
        graphs: Number of graphs.
        name: Name of the set.
    """
    if not np.array_equal(np.unique(graph), np.arange(1, graphs + 1)) or (np.diff(graph) < 0).any():
        raise InvalidInput(
            f"the nodes of {name} are not listed graph by graph",
            given=f"nodes of {len(np.unique(graph)):,} graphs, {graphs:,} classes",
            expected=f"every graph from 1 to {graphs:,}, ascending",
            hint="unpack or download the set again",
        )
    if edges.min(initial=1) < 1 or edges.max(initial=1) > len(graph):
        raise InvalidInput(
            f"{name} has edges of nodes that do not exist",
            given=f"nodes {edges.min()} to {edges.max()}",
            expected=f"nodes 1 to {len(graph):,}",
            hint="unpack or download the set again",
        )
    across = np.flatnonzero(np.diff(graph[edges - 1], axis=1))
    if len(across):
        raise InvalidInput(
            f"{name} has an edge between two graphs",
            given=f"line {across[0] + 1} of {name}{_EDGES}",
            expected="edges within one graph",
            hint="unpack or download the set again",
        )


def _corpus(identity: str, ends: NDArray[np.int64], graph: NDArray[np.int64]) -> Corpus:
    """Return the features of graphs.

    Args:
        identity: Identity of the features.
        ends: (E, 2) Nodes of each edge, numbered from 0 over all graphs.
        graph: (N,) Graph of each node, numbered from 0.
    """
    nodes = np.bincount(graph)
    low, high = ends.min(1), ends.max(1)
    simple = np.unique((low * len(graph) + high)[low < high])  # Ascending edges are grouped by graph.
    low, high = np.divmod(simple, len(graph))
    first = (np.cumsum(nodes) - nodes)[graph[low]]
    counts = np.bincount(graph[low], minlength=len(nodes))
    return Corpus.from_edges(identity, nodes, counts, np.stack([low - first, high - first], axis=1))
