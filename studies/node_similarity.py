"""Measurements of how well the similarity graph of nodes tells their classes: neighbors, and edges within a class.

    python -m studies.node_similarity FOLDER [--networks usa-airports twitch_de] > report.md

FOLDER has an edge list and labels of each network: NAME.edgelist and labels-NAME.txt, or NAME_edges.csv.gz and
NAME_labels.csv.gz. Each network is ingested with the default recipe of `graphkin ingest nodes`.

- Accuracy: a node gets the class that most of its 10 most similar stored neighbors in the training part have, weighted
  by similarity, or the most frequent class if it has none. Ten stratified folds.
- Degree alone: the same with the 10 training nodes of the nearest degree in place of the stored neighbors. All nodes
  that tie with the tenth one vote.
- Same class: the share of edges within one class, its mean and largest value over random permutations of the labels,
  and the share of the permutations that reach it (p).
"""

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphkin.ingest.pipeline import IngestOptions, ingest
from graphkin.similarity.nodes.recipe import resolve_nodes
from graphkin.store import open_store
from graphkin.store.base import Generation
from graphkin.trainer.downstream.split import stratified_folds

NETWORKS = ("usa-airports", "facebook", "github", "twitch_de", "twitch_fr")
_NEIGHBORS = 10
_PERMUTATIONS = 200

Classes = NDArray[np.int64]


@dataclass(frozen=True)
class Result:
    """Measurements of one network.

    Attributes:
        nodes: Number of nodes.
        edges: Number of stored edges.
        stability: Share of the edges that remain without 2 % of the links.
        majority: Share of the most frequent class.
        accuracy: (10,) accuracy by fold, from the stored neighbors.
        degree: (10,) accuracy by fold, from the degrees.
        same: Share of the edges within one class.
        permuted: (P,) the same with permuted labels.
    """

    nodes: int
    edges: int
    stability: float
    majority: float
    accuracy: NDArray[np.float64]
    degree: NDArray[np.float64]
    same: float
    permuted: NDArray[np.float64]

    @property
    def p_value(self) -> float:
        """Share of the permutations, the labels themselves included, with as many edges within one class."""
        return float(((self.permuted >= self.same).sum() + 1) / (len(self.permuted) + 1))


def measure(folder: Path, network: str) -> Result:
    """Ingest a network into a temporary store, and measure its edges."""
    edges, labels = folder / f"{network}.edgelist", folder / f"labels-{network}.txt"
    if not edges.exists():
        edges, labels = folder / f"{network}_edges.csv.gz", folder / f"{network}_labels.csv.gz"
    with tempfile.TemporaryDirectory() as place, open_store(place, create=True) as store:
        manifest = ingest(store, network, [str(edges)], resolve_nodes(), IngestOptions(workers=1, labels=[str(labels)]))
        assert manifest.stability is not None
        with store.open(network) as generation:
            return measure_generation(generation, manifest.stability.share)


def measure_generation(generation: Generation, stability: float) -> Result:
    """Measure the edges of a collection of nodes that all have labels."""
    names = [str(value) for batch in generation.columns(["label"]) for value in batch["label"].to_pylist()]
    classes = np.unique(names, return_inverse=True)[1].astype(np.int64)
    graph, degree = generation.graph(), generation.column("degree").astype(np.int64)
    folds = [split.test for split in stratified_folds(classes)]
    owner = np.repeat(np.arange(graph.nodes), graph.degrees())
    same = classes[owner] == classes[graph.indices]
    random = np.random.default_rng(0)
    permuted = []
    for _ in range(_PERMUTATIONS):
        shuffled = random.permutation(classes)
        permuted.append((shuffled[owner] == shuffled[graph.indices]).mean())
    return Result(
        nodes=graph.nodes,
        edges=len(graph.indices) // 2,
        stability=stability,
        majority=float(np.bincount(classes).max() / len(classes)),
        accuracy=np.array([_neighbor_accuracy(graph, classes, test) for test in folds]),
        degree=np.array([_degree_accuracy(degree, classes, test) for test in folds]),
        same=float(same.mean()),
        permuted=np.array(permuted),
    )


def _neighbor_accuracy(graph: Any, classes: Classes, test: Classes) -> float:
    is_training = np.ones(len(classes), np.bool_)
    is_training[test] = False
    frequent = np.bincount(classes[is_training]).argmax()
    right = 0
    for node in test:
        row = slice(graph.indptr[node], graph.indptr[node + 1])
        neighbors, similarity = graph.indices[row], graph.similarity[row]
        neighbors, similarity = neighbors[is_training[neighbors]], similarity[is_training[neighbors]]
        best = np.argsort(-similarity, kind="stable")[:_NEIGHBORS]
        votes = np.bincount(classes[neighbors[best]], similarity[best])
        right += classes[node] == (votes.argmax() if len(best) else frequent)
    return right / len(test)


def _degree_accuracy(degree: Classes, classes: Classes, test: Classes) -> float:
    training = np.setdiff1d(np.arange(len(classes)), test)
    right = 0
    for node in test:
        distance = np.abs(degree[training] - degree[node])
        nearest = training[distance <= np.partition(distance, _NEIGHBORS - 1)[_NEIGHBORS - 1]]
        right += classes[node] == np.bincount(classes[nearest]).argmax()
    return right / len(test)


def report(results: dict[str, Result]) -> str:
    """Return the table of the results in Markdown."""
    sizes, accuracies = ["network", "nodes", "edges", "stable"], ["most frequent class", "degree alone", "neighbors"]
    titles = [*sizes, *accuracies, "same class", "permuted, mean (largest)", "p"]
    lines = ["| " + " | ".join(titles) + " |", "|---" * len(titles) + "|"]
    lines += [
        f"| {network} | {result.nodes:,} | {result.edges:,} | {result.stability:.2f} | {result.majority:.3f} | "
        f"{result.degree.mean():.3f} | {result.accuracy.mean():.3f} | {result.same:.3f} | "
        f"{result.permuted.mean():.3f} ({result.permuted.max():.3f}) | {result.p_value:.3f} |"
        for network, result in results.items()
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--networks", nargs="+", default=NETWORKS)
    options = parser.parse_args()
    print(report({network: measure(options.folder, network) for network in options.networks}))


if __name__ == "__main__":
    main()
