"""Classification of, and regression on, nodes of one big graph (method.md E3; docs/reference/training.md)."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.downstream.bins import Bins, quantile_bins
from graphkin.trainer.downstream.edge_list import read_edges, read_labels
from graphkin.trainer.downstream.labeled import ClassifiedGraphs, MeasuredGraphs
from graphkin.trainer.downstream.split import FOLDS, Rows, Split, plain_folds, require_folds, stratified_folds
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.network import Network, Nodes
from graphkin.trainer.features.walks import sample_surroundings
from graphkin.trainer.strategy import Walks

_KEY = (0,)  # seed of the walks; it is fixed, so that all encoders get the same subgraphs
_VALUE = "value"


@dataclass(frozen=True)
class Subgraphs:
    """A rule that represents nodes by subgraphs around them.

    Attributes:
        settings: The rule as a JSON object, for the results.
        around: Function of labeled nodes that returns the features of the subgraph around each.
    """

    settings: Mapping[str, Any]
    around: Callable[["LabeledNodes"], Corpus]


def walked(walks: Walks) -> Subgraphs:
    """Return the rule of random walks with restart, with a fixed seed."""

    def around(labeled: "LabeledNodes") -> Corpus:
        turns = np.zeros_like(labeled.nodes)
        return sample_surroundings(labeled.network, labeled.nodes, turns, walks, _KEY, labeled.identity)

    return Subgraphs({"subgraph": "walks", **asdict(walks)}, around)


@dataclass(frozen=True, eq=False)
class LabeledNodes:
    """N labeled nodes of a big graph, in the order of the label file.

    Attributes:
        name: Name of the edge file up to its first dot.
        identity: SHA-256 of both files.
        network: The big graph. Its other nodes have no label.
        names: Names of all nodes of the network.
        nodes: (N,) int64. The labeled nodes.
        labels: (N,) Labels.
    """

    name: str
    identity: str
    network: Network
    names: tuple[str, ...]
    nodes: Nodes
    labels: tuple[str, ...]

    @cached_property
    def numbers(self) -> NDArray[np.float64] | None:
        """The labels as numbers, (N,); None if a label is not a finite number."""
        return np.array([float(label) for label in self.labels]) if all(map(_is_number, self.labels)) else None

    @property
    def are_measured(self) -> bool:
        """Whether the labels are numbers, and not all of them whole: values to predict rather than classes."""
        return self.numbers is not None and bool((self.numbers % 1).any())

    def require_numbers(self, option: str) -> NDArray[np.float64]:
        """Return the labels as numbers, (N,).

        Args:
            option: The option that needs numbers.

        Raises:
            InvalidInput: A label is not a finite number.
        """
        if self.numbers is None:
            raise InvalidInput(
                f"{option} needs labels that are numbers",
                given=next(label for label in self.labels if not _is_number(label)),
                expected="a finite number for each labeled node",
                hint=f"correct the label file, or leave {option} out",
            )
        return self.numbers


@dataclass(frozen=True, eq=False)
class NodeDataset(ClassifiedGraphs):
    """N nodes with one class each, represented by the subgraphs around them.

    Attributes:
        corpus: Features of the subgraphs. `corpus.identity` is the SHA-256 of both files.
        name: Name of the edge file up to its first dot, followed by the number of bins if there are bins.
        classes: Names of the classes, ascending.
        labels: (N,) int64. Index of each node's class in `classes`.
        degree: (N,) int64. Degree of each node in the big graph.
        subgraphs: Settings of the rule that chose the subgraphs.
        bins: Bins of the labels as numbers, which are the classes; None if the labels are the classes.
    """

    corpus: Corpus
    name: str
    classes: tuple[str, ...]
    labels: NDArray[np.int64]
    degree: NDArray[np.int64]
    subgraphs: Mapping[str, Any]
    bins: Bins | None = None

    noun: ClassVar[str] = "nodes"
    metrics: ClassVar[tuple[str, ...]] = ("accuracy",)

    def split(self) -> Split:
        return self.splits()[0]

    def splits(self) -> Sequence[Split]:
        """Return ten stratified folds. The paper's authors use only the first."""
        return stratified_folds(self.labels)

    def require_scorable(self, split: Split) -> None:
        for name, rows, minimum in (("train", split.train, 2), ("test", split.test, 1)):
            if len(rows) < minimum:
                raise InvalidInput(
                    f"too few nodes in {name}",
                    given=len(rows),
                    expected=f"{minimum} or more nodes",
                    hint="use a larger network or more labels",
                )

    def scores(self, logits: NDArray[np.floating[Any]], rows: Rows) -> tuple[float, ...]:
        """Return the accuracy, which equals micro-F1 for one class per node."""
        return (float((logits.argmax(1) == self.labels[rows]).mean()),)

    def summary(self, split: Split) -> dict[str, Any]:
        note = (
            f"{self.corpus.size:,} nodes of {self.outputs} classes ({len(split.train):,} train, {len(split.test):,} "
            "test), ten folds, the last epoch. Accuracy is micro-F1. Fold 0 alone is the published split."
        )
        bins = {} if self.bins is None else {"bins": {"count": self.outputs, "edges": self.bins.edges.tolist()}}
        return {"nodes": self.corpus.size, "classes": self.classes, **bins, **_describe(self), "note": note}


@dataclass(frozen=True, eq=False)
class MeasuredNodes(MeasuredGraphs):
    """N nodes with a measured value each, represented by the subgraphs around them.

    Attributes:
        corpus: Features of the subgraphs. `corpus.identity` is the SHA-256 of both files.
        name: Name of the edge file up to its first dot, followed by "as numbers".
        values: (N, 1) float64 in the units of the file.
        degree: (N,) int64. Degree of each node in the big graph.
        subgraphs: Settings of the rule that chose the subgraphs.
        train: Rows of the training part, whose mean and standard deviation standardize the values; None for all rows.
        tasks: (1,) Name of the value.
    """

    corpus: Corpus
    name: str
    values: NDArray[np.float64]
    degree: NDArray[np.int64]
    subgraphs: Mapping[str, Any]
    train: Rows | None = None
    tasks: tuple[str, ...] = (_VALUE,)

    noun: ClassVar[str] = "nodes"

    @property
    def split_hint(self) -> str:
        return "use more labels, or labels that differ"

    @cached_property
    def scale(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        values = self.values if self.train is None else self.values[self.train]
        return values.mean(axis=0), values.std(axis=0)

    def fitted(self, split: Split) -> Self:
        return replace(self, train=split.train)

    def split(self) -> Split:
        return self.splits()[0]

    def splits(self) -> Sequence[Split]:
        """Return ten folds of equal size."""
        return plain_folds(len(self.values))

    def summary(self, split: Split) -> dict[str, Any]:
        mean, deviation = self.fitted(split).scale
        note = (
            f"{self.corpus.size:,} nodes ({len(split.train):,} train, {len(split.test):,} test), ten folds, the last "
            f"epoch. Mean and standard deviation in train of fold 0: {mean[0]:.4g} ± {deviation[0]:.4g}."
        )
        values = {"mean": mean.tolist(), "std": deviation.tolist()}
        return {"nodes": self.corpus.size, "values": values, **_describe(self), "note": note}


def read_all_nodes(edges: Path) -> LabeledNodes:
    """Read all nodes of a graph, without labels, in the order of their first occurrence.

    Raises:
        GraphkinError: The errors of `read_edges`.
    """
    network, indices = read_edges(edges)
    identity = hashlib.sha256(edges.read_bytes()).hexdigest()
    return LabeledNodes(
        edges.name.split(".")[0], identity, network, tuple(indices), np.arange(len(indices)), ("",) * len(indices)
    )


def read_nodes(edges: Path, labels: Path) -> LabeledNodes:
    """Read the labeled nodes of a graph.

    Args:
        edges: Edge file.
        labels: Label file.

    Raises:
        InvalidInput: A labeled node has no edge.
        GraphkinError: The errors of `read_edges` and `read_labels`.
    """
    network, indices = read_edges(edges)
    labels_by_node = read_labels(labels)
    unknown_nodes = [node for node in labels_by_node if node not in indices]
    if unknown_nodes:
        raise InvalidInput(
            f"{labels.name} labels a node that {edges.name} does not have",
            given=f"{unknown_nodes[0]}, the first of {len(unknown_nodes):,}",
            expected=f"nodes of {edges.name}, which has {len(indices):,}",
            hint="check that both files describe the same network",
        )
    nodes = np.array([indices[node] for node in labels_by_node])
    identity = hashlib.sha256(edges.read_bytes() + labels.read_bytes()).hexdigest()
    return LabeledNodes(
        edges.name.split(".")[0], identity, network, tuple(indices), nodes, tuple(labels_by_node.values())
    )


def select_classes(nodes: LabeledNodes, subgraphs: Subgraphs, bins: int | None = None) -> NodeDataset:
    """Return nodes for classification.

    Args:
        nodes: The labeled nodes.
        subgraphs: Rule that chooses the subgraph around each node.
        bins: Number of quantile bins that are the classes, for labels that are numbers; None if each label is a class.

    Raises:
        InvalidInput: There are fewer than two classes, or a class has fewer nodes than there are folds. Or, with
            `bins`, a label is not a number, or too many labels are equal.
    """
    groups = None if bins is None else quantile_bins(nodes.require_numbers("--bins"), bins)
    if groups is None:
        names, labels = np.unique(np.array(nodes.labels), return_inverse=True)
        classes, labels = tuple(names.tolist()), labels.reshape(-1)
    else:
        classes, labels = groups.names, groups.index
    is_numeric = nodes.numbers is not None
    remedies = "use --bins N to group the numbers, or " if is_numeric and bins is None else ""
    remedies += "choose a smaller --bins" if bins else "merge or remove these labels"
    require_folds(labels, NodeDataset.noun, classes, remedies)
    degree = nodes.network.degree[nodes.nodes]
    name = nodes.name if bins is None else f"{nodes.name} in {bins} bins"
    return NodeDataset(subgraphs.around(nodes), name, classes, labels, degree, subgraphs.settings, groups)


def select_values(nodes: LabeledNodes, subgraphs: Subgraphs) -> MeasuredNodes:
    """Return nodes for regression on their labels.

    Args:
        nodes: The labeled nodes.
        subgraphs: Rule that chooses the subgraph around each node.

    Raises:
        InvalidInput: A label is not a number, or there are fewer nodes than folds.
    """
    values = nodes.require_numbers("--task regression")
    if len(values) < FOLDS:
        raise InvalidInput(
            "there are fewer labeled nodes than folds",
            given=f"{len(values)} labels",
            expected=f"{FOLDS} or more",
            hint="label more nodes",
        )
    degree = nodes.network.degree[nodes.nodes]
    name = f"{nodes.name} as numbers"
    return MeasuredNodes(subgraphs.around(nodes), name, values[:, None], degree, subgraphs.settings)


def _describe(data: NodeDataset | MeasuredNodes) -> dict[str, Any]:
    """Return the rule of the subgraphs and their mean number of nodes."""
    return {"subgraphs": {**data.subgraphs, "mean_nodes": float(data.corpus.atoms.mean())}}


def _is_number(label: str) -> bool:
    try:
        return bool(np.isfinite(float(label)))
    except ValueError:
        return False
