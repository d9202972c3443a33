"""Classification of the nodes of one big graph (method.md E3; docs/reference/training.md)."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.downstream.edge_list import read_edges, read_labels
from graphkin.trainer.downstream.labeled import ClassifiedGraphs
from graphkin.trainer.downstream.split import Rows, Split, stratified_folds
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.walks import sample_surroundings
from graphkin.trainer.strategy import Walks

_WALKS = Walks()
_KEY = (0,)  # seed of the walks; it is fixed, so that all encoders get the same subgraphs


@dataclass(frozen=True, eq=False)
class NodeDataset(ClassifiedGraphs):
    """N nodes with one class each, represented by the subgraphs around them.

    Attributes:
        corpus: Features of the subgraphs. `corpus.identity` is the SHA-256 of both files.
        name: Name of the edge file up to its first dot.
        classes: Names of the classes, ascending.
        labels: (N,) int64. Index of each node's class in `classes`.
        degree: (N,) int64. Degree of each node in the big graph.
    """

    corpus: Corpus
    name: str
    classes: tuple[str, ...]
    labels: NDArray[np.int64]
    degree: NDArray[np.int64]

    noun: ClassVar[str] = "nodes"
    metrics: ClassVar[tuple[str, ...]] = ("accuracy",)

    @property
    def outputs(self) -> int:
        return len(self.classes)

    def split(self) -> Split:
        return self.splits()[0]

    def splits(self) -> Sequence[Split]:
        """Return ten stratified folds. The paper's authors use only the first."""
        return stratified_folds(self.labels, self.noun)

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
        return {"nodes": self.corpus.size, "classes": self.classes, "note": note}


def read_nodes(edges: Path, labels: Path) -> NodeDataset:
    """Read the labeled nodes of a graph, in the order of the label file.

    The walks that sample the subgraphs also visit nodes without labels.

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
    classes, class_indices = np.unique(np.array([*labels_by_node.values()]), return_inverse=True)
    identity = hashlib.sha256(edges.read_bytes() + labels.read_bytes()).hexdigest()
    corpus = sample_surroundings(network, nodes, np.zeros_like(nodes), _WALKS, _KEY, identity)
    name = edges.name.split(".")[0]
    return NodeDataset(corpus, name, tuple(classes.tolist()), class_indices.reshape(-1), network.degree[nodes])
