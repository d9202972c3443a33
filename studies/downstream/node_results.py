"""The gain from pre-training on nodes of an unseen graph (T3 of the paper): 10-fold stratified cross-validation.

    python -m studies.downstream.node_results [--steps 10000] [--epochs 100] [--seeds 0 1 2] [--work node-results]
        [--graphs facebook github twitch_de twitch_fr] [--target usa-airports] [--encoder gin]

Pre-training: the encoder of --encoder and momentum contrast, at its published settings except the steps. Its items
are the nodes of four graphs in one collection, ingested with the default recipe. The arms are GCC, whose positive is
another subgraph of the same node, and HGC with first-order and with high-order positives. All take equally many steps
from equal initial weights, and encode 64 subgraphs per step. The report shows the times.

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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from graphkin.ingest.options import IngestOptions
from graphkin.ingest.pipeline import ingest
from graphkin.library.training import open_stored
from graphkin.similarity.nodes.recipe import resolve_nodes
from graphkin.store import open_generation, open_store
from graphkin.trainer.downstream.finetune import NODES, InitialEncoder
from graphkin.trainer.downstream.nodes import NodeDataset
from graphkin.trainer.downstream.split import FOLDS
from graphkin.trainer.feed.arrow import ArrowSource
from graphkin.trainer.feed.online import default_cache
from graphkin.trainer.model.encoder import Encoder
from graphkin.trainer.pretraining.config import Model, PretrainConfig
from graphkin.trainer.pretraining.pretrained import load_encoder
from graphkin.trainer.strategy import ENCODERS as BASE_ENCODERS
from graphkin.trainer.strategy import NODE_ENCODERS, Strategy
from studies.cells import Cell, Stopwatch, load_or_make
from studies.downstream.node_report import ENCODERS, NULLS, PRETRAINED, NodeResults, report
from studies.downstream.node_scores import (
    DATA,
    GRAPHS,
    TARGETS,
    dataset,
    describe,
    initial_encoder,
    score_baseline,
    score_finetuned,
    score_frozen,
)
from studies.downstream.pretraining import run_pretraining

_COLLECTION = "nodes"
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


def dataset_of(options: Options, arm: str) -> NodeDataset:
    return dataset(options.target, arm == "gcc")


def ingest_collection(options: Options) -> Cell:
    """Ingest the collection. The ingest runs in several processes, so only wall time is measured."""
    files = [str(DATA / f"{name}_edges.csv.gz") for name in options.graphs]
    stopwatch = Stopwatch()
    with open_store(options.store, create=True) as store:
        ingest(store, _COLLECTION, files, resolve_nodes(), IngestOptions())
    seconds = stopwatch.read()["seconds"]
    with open_source(options, PretrainConfig.from_strategy("hgc-fo", kind="node")) as source:
        edges, links = len(source.edges()), len(source.links())
        return {"nodes": source.generation.size, "edges": edges, "links": links, "seconds": seconds}


@contextmanager
def open_source(options: Options, config: PretrainConfig) -> Iterator[ArrowSource]:
    """Open the training data of a run."""
    with open_generation(options.store, _COLLECTION, None) as generation:
        yield open_stored(generation, config.draws, cache=default_cache(options.work / "cache"))


def train_encoder(options: Options, strategy: Strategy, seed: int) -> Cell:
    config = PretrainConfig.from_strategy(
        strategy, kind="node", model=options.model, seed=seed, max_steps=options.steps
    )
    with open_source(options, config) as source:
        return run_pretraining(config, source, options.run(strategy, seed), _CHECKPOINT)


def encoder(options: Options, arm: str, seed: int) -> Encoder:
    """Return a pre-trained encoder, or the calibrated initial weights of this seed for the arm "random"."""
    if arm != "random":
        return load_encoder(options.run(arm, seed)).encoder
    with open_source(options, PretrainConfig.from_strategy("hgc-fo", kind="node")) as source:
        return initial_encoder(options.model, seed, source.corpus())


def run_finetuning(options: Options, arm: str, seed: int, fold: int) -> Cell:
    start = InitialEncoder(options.model) if arm == "random" else InitialEncoder.from_checkpoint(options.run(arm, seed))
    return score_finetuned(start, dataset_of(options, arm), fold, options.epochs, seed)


def measure(options: Options, seeds: Sequence[int]) -> NodeResults:
    """Measure everything, one seed after the other. Finished parts are only read."""
    data = {**describe(options.target), "encoder": options.encoder}
    results = NodeResults(options.steps, options.epochs, [*seeds], data=data)
    options.work.mkdir(parents=True, exist_ok=True)
    results.ingest.update(load_or_make(options.ingest(), partial(ingest_collection, options)))
    for name in NULLS:
        path = options.target_cell("frozen", name)
        results.frozen[name, 0] = load_or_make(path, lambda name=name: score_baseline(name, dataset_of(options, name)))  # type: ignore[misc]
    for seed in seeds:
        for strategy in PRETRAINED:
            path = options.cell("pretraining", strategy, seed)
            results.pretraining[strategy, seed] = load_or_make(path, partial(train_encoder, options, strategy, seed))
        for arm in ENCODERS:

            def score(arm: str = arm, seed: int = seed) -> Cell:
                return score_frozen(encoder(options, arm, seed), dataset_of(options, arm))

            results.frozen[arm, seed] = load_or_make(options.target_cell("frozen", arm, seed), score)
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
    if not DATA.is_dir():
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
