"""The gain from pre-training on nodes of an unseen graph (T3 of the paper): 10-fold stratified cross-validation.

    python -m studies.downstream.node_results [--steps 10000] [--epochs 100] [--seeds 0 1 2] [--work node-results]
        [--graphs facebook github twitch_de twitch_fr] [--target usa-airports] [--encoder gin]

Pre-training: the encoder of --encoder and momentum contrast, at its published settings except the steps. Its items
are the nodes of four graphs in one collection, made by `graphkin ingest nodes` with its default recipe and served over
HTTP. The arms are GCC, whose positive is another subgraph of the same node, and HGC with first-order and with
high-order positives. All take equally many steps from equal initial weights, and encode 64 subgraphs per step. The
report shows the times.

The fourth encoder has the initial weights. For the frozen probe, its batch normalization is calibrated on 512 of the
subgraphs that the others were pre-trained on. Two baselines have no encoder: the most frequent class of the training
part, and logistic regression on a node's degree and its logarithm.

Scores are accuracies on the nodes of --target, on folds that are the same for all arms. The frozen probe is logistic
regression on standardized embeddings, with regularization chosen inside the training part. Fine-tuning uses the
published settings, and its last epoch counts; `--epochs 0` leaves it out. GCC sees subgraphs by its random walks, and
all other arms those of the collection's recipe, as in their pre-training. If the target is among --graphs, its nodes
were seen in pre-training, without their labels. Runs with several targets share the pre-training in --work.

Every finished part is a JSON file in --work, and pre-training has checkpoints, so a killed command continues where it
stopped. The report is printed and saved in --work, in a file named after the target and the encoder. Needs ../shared.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from graphkin.api.serve import Server
from graphkin.api.settings import Settings
from graphkin.cli import run as graphkin
from graphkin.library.subgraphs import subgraphs_of_recipe
from graphkin.similarity.nodes.recipe import resolve_nodes
from graphkin.trainer.downstream.embed import embed
from graphkin.trainer.downstream.finetune import NODES, InitialEncoder, finetune
from graphkin.trainer.downstream.frozen import class_scores
from graphkin.trainer.downstream.nodes import NodeDataset, read_nodes, select_classes, walked
from graphkin.trainer.downstream.split import FOLDS
from graphkin.trainer.feed.arrow import ArrowSource
from graphkin.trainer.feed.kinds import features
from graphkin.trainer.feed.online import default_cache, open_online
from graphkin.trainer.model.encoder import Encoder
from graphkin.trainer.pretraining.config import Model, PretrainConfig
from graphkin.trainer.pretraining.objective import make_encoder
from graphkin.trainer.pretraining.pretrained import load_encoder
from graphkin.trainer.strategy import ENCODERS as BASE_ENCODERS
from graphkin.trainer.strategy import NODE_ENCODERS, Strategy, Walks
from studies.cells import Cell, Stopwatch, load_or_make
from studies.downstream.calibration import calibrate
from studies.downstream.node_report import ENCODERS, PRETRAINED, NodeResults, report
from studies.downstream.pretraining import run_pretraining

GRAPHS = ("facebook", "github", "twitch_de", "twitch_fr")

_DATA = Path(__file__).parents[3] / "shared" / "data" / "nodes"
TARGETS = {
    "usa-airports": ("usa-airports.edgelist", "labels-usa-airports.txt"),
    "github": ("github_edges.csv.gz", "github_labels.csv.gz"),
    "twitch_de": ("twitch_de_edges.csv.gz", "twitch_de_labels.csv.gz"),
}
"""Files of edges and labels of the graphs whose nodes are classified."""
_COLLECTION = "nodes"
_CALIBRATION = 512  # subgraphs
_CHECKPOINT = 500  # steps


@dataclass(frozen=True)
class Options:
    """Settings of the measurement. Finished parts lie in a folder named after the graphs and the pre-training steps."""

    work: Path
    steps: int
    epochs: int
    graphs: tuple[str, ...]
    target: str
    encoder: str

    @property
    def model(self) -> Model:
        return Model.from_kind("node", self.encoder)

    @property
    def store(self) -> Path:
        return self._collected / "store"

    def ingest(self) -> Path:
        """Return the file of the ingest."""
        return self._collected / "ingest.json"

    def run(self, arm: str, seed: int) -> Path:
        """Return the folder of a pre-training run."""
        return self._folder / "runs" / f"{arm}-{seed}"

    def cell(self, kind: str, *names: object) -> Path:
        """Return the file of a finished part of pre-training."""
        return self._folder / kind / f"{'-'.join(map(str, names))}.json"

    def target_cell(self, kind: str, *names: object) -> Path:
        """Return the file of a finished part of the classification."""
        return self.cell(f"{self.target}/{kind}", *names)

    @property
    def report(self) -> Path:
        return self.work / f"{self.target}-{self.encoder}.md"

    @property
    def _collected(self) -> Path:
        return self.work / "-".join(self.graphs)

    @property
    def _folder(self) -> Path:
        return self._collected / f"{self.encoder}-{self.steps}-steps"


@cache
def dataset(target: str, is_walked: bool) -> NodeDataset:
    """Return the labeled nodes with their subgraphs, by the walks of GCC or by the recipe of the collection."""
    edges, labels = (_DATA / name for name in TARGETS[target])
    rule = walked(Walks()) if is_walked else subgraphs_of_recipe(resolve_nodes())
    return select_classes(read_nodes(edges, labels), rule)


def dataset_of(options: Options, arm: str) -> NodeDataset:
    return dataset(options.target, arm == "gcc")


@contextmanager
def serve(options: Options) -> Iterator[str]:
    """Serve the store, and yield the URL."""
    settings = Settings(store=options.store, port=0, cache_dir=options.work / "server-cache")
    with Server(settings).running() as url:
        yield url


def ingest_collection(options: Options) -> Cell:
    """Ingest the collection. The ingest runs in several processes, so only wall time is measured."""
    files = [_DATA / f"{name}_edges.csv.gz" for name in options.graphs]
    stopwatch = Stopwatch()
    place = ("--store", options.store, "--collection", _COLLECTION)
    code = graphkin([str(each) for each in ("ingest", "nodes", *files, *place)])
    if code:
        raise SystemExit(code)
    seconds = stopwatch.read()["seconds"]
    with serve(options) as url, source_of(options, PretrainConfig.from_strategy("hgc-fo", kind="node"), url) as source:
        edges, links = len(source.edges()), len(source.links())
        return {"nodes": source.generation.size, "edges": edges, "links": links, "seconds": seconds}


def source_of(options: Options, config: PretrainConfig, url: str) -> ArrowSource:
    return open_online(url, _COLLECTION, config.draws, features, default_cache(options.work / "cache"))


def train_encoder(options: Options, strategy: Strategy, seed: int, url: Callable[[], str]) -> Cell:
    config = PretrainConfig.from_strategy(
        strategy, kind="node", model=options.model, seed=seed, max_steps=options.steps
    )
    return run_pretraining(config, source_of(options, config, url()), options.run(strategy, seed), _CHECKPOINT)


def encoder(options: Options, arm: str, seed: int, url: Callable[[], str]) -> Encoder:
    """Return a pre-trained encoder, or the calibrated initial weights of this seed for the arm "random"."""
    if arm != "random":
        return load_encoder(options.run(arm, seed)).encoder
    torch.manual_seed(seed)
    result = make_encoder(options.model)
    with source_of(options, PretrainConfig.from_strategy("hgc-fo", kind="node"), url()) as source:
        corpus = source.corpus()
    sample = np.random.default_rng(0).choice(corpus.size, min(_CALIBRATION, corpus.size), replace=False)
    calibrate(result, corpus, np.sort(sample))
    return result


def score_frozen(options: Options, arm: str, seed: int, url: Callable[[], str]) -> Cell:
    """Return the scores on all folds."""
    data, stopwatch = dataset_of(options, arm), Stopwatch()
    match arm:
        case "majority":
            scores = [
                _share(data, np.bincount(data.labels[split.train]).argmax(), split.test) for split in data.splits()
            ]
        case "degree":
            scores = _regression(data, np.stack([data.degree, np.log(data.degree)], axis=1))
        case _:
            scores = _regression(data, embed(encoder(options, arm, seed, url), data.corpus))
    return {"scores": scores, **stopwatch.read()}


def _share(data: NodeDataset, guess: np.intp, rows: NDArray[np.int64]) -> float:
    """Return the share of nodes that have this class."""
    return float((data.labels[rows] == guess).mean())


def _regression(data: NodeDataset, vectors: NDArray[np.floating[Any]]) -> list[float]:
    splits = data.splits()
    inputs = [(class_scores(vectors, data.labels, split.train, split.test, 0), split.test) for split in splits]
    return [data.scores(*each)[0] for each in inputs]


def run_finetuning(options: Options, arm: str, seed: int, fold: int) -> Cell:
    data, stopwatch = dataset_of(options, arm), Stopwatch()
    start = InitialEncoder(options.model) if arm == "random" else InitialEncoder.from_checkpoint(options.run(arm, seed))
    settings = replace(NODES, epochs=options.epochs, pooling=start.pooling)
    run = finetune(start, data, data.splits()[fold], settings, seed)
    return {"accuracy": run.main.score, "run": run.as_json(), **stopwatch.read()}


def describe(options: Options) -> Cell:
    edges, labels = (_DATA / name for name in TARGETS[options.target])
    nodes = read_nodes(edges, labels)
    return {
        "name": options.target,
        "encoder": options.encoder,
        "nodes": len(nodes.nodes),
        "classes": len({*nodes.labels}),
        "edges": len(nodes.network.indices) // 2,
    }


def measure(options: Options, seeds: Sequence[int]) -> NodeResults:
    """Measure everything, one seed after the other. Finished parts are only read."""
    results = NodeResults(options.steps, options.epochs, [*seeds], data=describe(options))
    options.work.mkdir(parents=True, exist_ok=True)
    results.ingest.update(load_or_make(options.ingest(), partial(ingest_collection, options)))
    with ExitStack() as stack:
        url = cache(lambda: stack.enter_context(serve(options)))
        for arm in ("majority", "degree"):
            path = options.target_cell("frozen", arm)
            results.frozen[arm, 0] = load_or_make(path, partial(score_frozen, options, arm, 0, url))
        for seed in seeds:
            for strategy in PRETRAINED:
                path = options.cell("pretraining", strategy, seed)
                make = partial(train_encoder, options, strategy, seed, url)
                results.pretraining[strategy, seed] = load_or_make(path, make)
            for arm in ENCODERS:
                path = options.target_cell("frozen", arm, seed)
                results.frozen[arm, seed] = load_or_make(path, partial(score_frozen, options, arm, seed, url))
            for fold in range(FOLDS if options.epochs else 0):
                for arm in ENCODERS:
                    path = options.target_cell(f"finetune-{options.epochs}", arm, seed, fold)
                    make = partial(run_finetuning, options, arm, seed, fold)
                    results.finetuning[arm, seed, fold] = load_or_make(path, make)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=10_000, help="of pre-training, at batch 32")
    parser.add_argument(
        "--epochs", type=int, default=NODES.epochs, help="of fine-tuning; 0 measures the frozen encoders only"
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="of pre-training and fine-tuning")
    parser.add_argument("--graphs", nargs="+", choices=GRAPHS, default=GRAPHS, help="to pre-train on")
    parser.add_argument("--target", choices=TARGETS, default="usa-airports", help="graph whose nodes are classified")
    parser.add_argument("--encoder", choices=(*BASE_ENCODERS, *NODE_ENCODERS), default="gin", help="to pre-train")
    parser.add_argument("--work", type=Path, default=Path("node-results"))
    arguments = parser.parse_args()
    if not _DATA.is_dir():
        parser.error("../shared/data/nodes is missing: there is nothing to learn from")
    options = Options(
        arguments.work,
        arguments.steps,
        arguments.epochs,
        tuple(arguments.graphs),
        arguments.target,
        arguments.encoder,
    )
    text = report(measure(options, arguments.seeds))
    options.report.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
