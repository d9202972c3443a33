"""Scores of encoders on the nodes of a big graph, on ten folds that are the same for all encoders."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.data import SHARED
from graphkin.library.subgraphs import subgraphs_of_recipe
from graphkin.similarity.nodes.recipe import resolve_nodes
from graphkin.trainer.downstream.embed import embed
from graphkin.trainer.downstream.finetune import NODES, InitialEncoder, finetune
from graphkin.trainer.downstream.frozen import class_scores
from graphkin.trainer.downstream.nodes import NodeDataset, read_nodes, select_classes, walked
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.model.encoder import Encoder
from graphkin.trainer.pretraining.config import Model
from graphkin.trainer.pretraining.objective import make_encoder
from graphkin.trainer.strategy import Walks
from studies.cells import Cell, Stopwatch
from studies.downstream.calibration import calibrate

DATA = SHARED / "nodes"
GRAPHS = ("facebook", "github", "twitch_de", "twitch_fr")
"""Graphs to pre-train on."""
TARGETS = {
    "usa-airports": ("usa-airports.edgelist", "labels-usa-airports.txt"),
    "github": ("github_edges.csv.gz", "github_labels.csv.gz"),
    "twitch_de": ("twitch_de_edges.csv.gz", "twitch_de_labels.csv.gz"),
}
"""Files of edges and labels of the graphs whose nodes are classified."""

_CALIBRATION = 512  # subgraphs


@cache
def dataset(target: str, is_walked: bool) -> NodeDataset:
    """Return the labeled nodes with their subgraphs, by the walks of GCC or by the default recipe of a collection."""
    edges, labels = (DATA / name for name in TARGETS[target])
    rule = walked(Walks()) if is_walked else subgraphs_of_recipe(resolve_nodes())
    return select_classes(read_nodes(edges, labels), rule)


def describe(target: str) -> Cell:
    """Return the name of a graph, and its numbers of labeled nodes, classes and edges."""
    nodes = read_nodes(*(DATA / name for name in TARGETS[target]))
    return {
        "name": target,
        "nodes": len(nodes.nodes),
        "classes": len({*nodes.labels}),
        "edges": len(nodes.network.indices) // 2,
    }


def initial_encoder(model: Model, seed: int, corpus: Corpus) -> Encoder:
    """Return the initial weights of a seed, calibrated on subgraphs that others were pre-trained on."""
    torch.manual_seed(seed)
    encoder = make_encoder(model)
    sample = np.random.default_rng(0).choice(corpus.size, min(_CALIBRATION, corpus.size), replace=False)
    calibrate(encoder, corpus, np.sort(sample))
    return encoder


def score_baseline(name: str, data: NodeDataset) -> Cell:
    """Return the accuracies of a baseline without an encoder: `majority` or `degree`."""
    stopwatch = Stopwatch()
    if name == "degree":
        scores = _regression(data, np.stack([data.degree, np.log(data.degree)], axis=1))
    else:
        scores = [_share(data, np.bincount(data.labels[split.train]).argmax(), split.test) for split in data.splits()]
    return {"scores": scores, **stopwatch.read()}


def score_frozen(encoder: Encoder, data: NodeDataset) -> Cell:
    """Return the accuracies of logistic regression on embeddings."""
    stopwatch = Stopwatch()
    return {"scores": _regression(data, embed(encoder, data.corpus)), **stopwatch.read()}


def score_finetuned(
    start: InitialEncoder, data: NodeDataset, fold: int, epochs: int, seed: int, device: str = "cpu"
) -> Cell:
    """Return the accuracy after the last epoch of fine-tuning, on one fold."""
    stopwatch = Stopwatch()
    settings = replace(NODES, epochs=epochs, pooling=start.pooling)
    run = finetune(start, data, data.splits()[fold], settings, seed, device)
    return {"accuracy": run.main.score, "run": run.as_json(), **stopwatch.read()}


def _share(data: NodeDataset, guess: np.intp, rows: NDArray[np.int64]) -> float:
    """Return the share of nodes that have this class."""
    return float((data.labels[rows] == guess).mean())


def _regression(data: NodeDataset, vectors: NDArray[np.floating[Any]]) -> list[float]:
    splits = data.splits()
    inputs = [(class_scores(vectors, data.labels, split.train, split.test, 0), split.test) for split in splits]
    return [data.scores(*each)[0] for each in inputs]
