"""The gain from pre-training on social graphs (docs/reference/training.md): 10-fold stratified cross-validation.

    python -m studies.downstream.graph_results [--steps 200] [--own 10] [--epochs 20] [--seeds 0] [--bf16]
        [--work graph-results]

Pre-training: GIN with 5 layers of width 300, batch 32, by HGC with first-order and with high-order positives. The
graphs are IMDB-BINARY, IMDB-MULTI and REDDIT-BINARY in one collection, made by `graphkin ingest graphs` with its
default recipe and served over HTTP. Both arms take equally many steps from equal initial weights. This means equal
updates and anchors, not equal compute: high order encodes 447 graphs per step and first order 128. The report shows
the times. There are two settings, reported separately:

transductive    One collection of all graphs. The graphs to be classified are anchors, positives and negatives of
                pre-training, without their classes.
training folds  For each of the first --own folds, a separate collection ingested without the graphs of that fold (of
                all three sets). Pre-training sees nothing of them, not even their rank among neighbors.

The third encoder has the initial weights. For the probe, its batch normalization is calibrated on 512 of the graphs
that the others were pre-trained on.

Scores are accuracies on folds that are the same for all arms. An eighth of the training part's size is the validation
set. The frozen probe is logistic regression on standardized embeddings, with regularization chosen on validation, on
all three sets. Fine-tuning uses the two IMDB sets and the published settings except --epochs. The epoch is chosen on
validation.

NetworkX's Weisfeiler-Lehman hash with five iterations shows which graphs an encoder of five layers can distinguish.

Graphs have 200 nodes on average, so a step takes seconds of processor time. The default is 200 steps (1.4 epochs) for
the transductive setting and for each fold, some seven hours of processor time in bfloat16. The paper takes 171,465
steps.

Every finished part is a JSON file in --work, and pre-training has checkpoints, so a killed command continues where it
stopped. The report is printed and saved as report.md in --work. Needs ../shared.
"""

import argparse
import json
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import networkx as nx
import numpy as np
import torch

from graphkin.api.serve import Server
from graphkin.api.settings import Settings
from graphkin.cli import run as graphkin
from graphkin.trainer.downstream.embed import embed
from graphkin.trainer.downstream.finetune import FinetuneOptions, InitialEncoder, finetune
from graphkin.trainer.downstream.split import FOLDS, stratified_split
from graphkin.trainer.downstream.tu import TuDataset, read_tu
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.feed.kinds import features
from graphkin.trainer.feed.online import default_cache, open_online
from graphkin.trainer.model.encoder import Encoder
from graphkin.trainer.pretraining.config import Model, PretrainConfig
from graphkin.trainer.pretraining.objective import make_encoder
from graphkin.trainer.pretraining.pretrained import load_encoder
from graphkin.trainer.strategy import Strategy
from studies.cells import Cell, Stopwatch, load_or_make
from studies.downstream.calibration import calibrate
from studies.downstream.graph_report import ARMS, FINETUNED, PRETRAINED, SETS, GraphResults, report
from studies.downstream.pretraining import run_pretraining
from studies.downstream.probe import probe_classes, standardize

_DATA = Path(__file__).parents[3] / "shared" / "data" / "tu"
CALIBRATION = 512  # graphs
_CHECKPOINT = 20  # steps

Fold = int | None
"""The fold that pre-training does not see, None if it sees all graphs."""


@dataclass(frozen=True)
class Options:
    """Settings of the measurement. Finished parts lie in a folder named after the pre-training steps."""

    work: Path
    steps: int
    epochs: int
    bf16: bool

    def run(self, arm: str, seed: int, without: Fold) -> Path:
        """Return the folder of a pre-training run."""
        return self._folder / "runs" / f"{arm}-{seed}-{_collection_name(without)}"

    def cell(self, kind: str, *names: object) -> Path:
        """Return the file of a finished part."""
        return self._folder / kind / f"{'-'.join(map(str, names))}.json"

    @property
    def _folder(self) -> Path:
        return self.work / f"{self.steps}-steps{'-bf16' if self.bf16 else ''}"


def _collection_name(without: Fold) -> str:
    return "all" if without is None else f"without-{without}"


@cache
def dataset(name: str) -> TuDataset:
    return read_tu(_DATA / f"{name}.zip")


@contextmanager
def serve(options: Options) -> Iterator[str]:
    """Serve the store, and yield the URL."""
    settings = Settings(store=options.work / "store", port=0, cache_dir=options.work / "server-cache")
    with Server(settings).running() as url:
        yield url


def ingest_collection(options: Options, without: Fold) -> Cell:
    """Ingest the collection of all graphs, or of those outside a fold.

    The ingest runs in several processes, so only wall time is measured.
    """
    if without is None:
        files, form = [_DATA / f"{name}.zip" for name in SETS], "tu"
    else:
        files, form = [options.work / f"{_collection_name(without)}.jsonl"], "jsonl"
        with files[0].open("w") as lines:
            for name in SETS:
                lines.writelines(_lines(dataset(name), without))
    stopwatch = Stopwatch()
    place = ("--store", options.work / "store", "--collection", _collection_name(without))
    code = graphkin([str(each) for each in ("ingest", "graphs", *files, "--format", form, *place)])
    if code:
        raise SystemExit(code)
    return {"seconds": stopwatch.read()["seconds"]}


def _lines(data: TuDataset, without: int) -> Iterator[str]:
    """Yield the graphs outside a fold as JSON lines."""
    test = set(stratified_split(data.labels, without).test.tolist())
    corpus = data.corpus
    for row in range(corpus.size):
        if row not in test:
            edges = _edges(corpus, row)
            graph = {"name": f"{data.name}-{row + 1}", "num_nodes": int(corpus.atoms[row]), "edges": edges.tolist()}
            yield json.dumps(graph) + "\n"


def _edges(corpus: Corpus, row: int) -> np.ndarray:
    """Return (E, 2) the edges of a graph, each once."""
    edges = slice(corpus.edge_offsets[row], corpus.edge_offsets[row + 1])
    nodes = slice(corpus.atom_offsets[row], corpus.atom_offsets[row + 1])
    target = np.repeat(np.arange(corpus.atoms[row]), corpus.degree[nodes])
    source = corpus.source[edges].astype(np.int64)
    return np.stack([target, source], axis=1)[target < source]


def look_alikes(data: TuDataset) -> Cell:
    """Return how many graphs of a set look alike to an encoder, by the Weisfeiler-Lehman hash.

    Returns:
        `in_training`, the share of test graphs that look like a training graph, over all folds, and `ceiling`, the best
        accuracy of one classifier. It predicts the most frequent class of all graphs that look alike.
    """
    looks = np.array([_look(data.corpus, row) for row in range(data.corpus.size)])
    splits = [stratified_split(data.labels, fold) for fold in range(FOLDS)]
    seen = sum(int(np.isin(looks[split.test], looks[split.train]).sum()) for split in splits)
    classes: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for look, label in zip(looks.tolist(), data.labels.tolist(), strict=True):
        classes[look][label] += 1
    right = sum(max(counter.values()) for counter in classes.values())
    return {"in_training": seen / len(looks), "ceiling": right / len(looks)}


def _look(corpus: Corpus, row: int) -> str:
    graph = nx.empty_graph(int(corpus.atoms[row]))
    graph.add_edges_from(_edges(corpus, row).tolist())
    # NetworkX warns that version 3.5 changed the hash.
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        return f"{len(graph)} {nx.weisfeiler_lehman_graph_hash(graph, iterations=Model().layers)}"


def train_encoder(options: Options, strategy: Strategy, seed: int, without: Fold, url: Callable[[], str]) -> Cell:
    config = PretrainConfig.from_strategy(strategy, kind="graph", seed=seed, max_steps=options.steps, bf16=options.bf16)
    source = open_online(
        url(), _collection_name(without), config.draws, features, default_cache(options.work / "cache")
    )
    return run_pretraining(config, source, options.run(strategy, seed, without), _CHECKPOINT)


def encoder(options: Options, arm: str, seed: int, without: Fold) -> Encoder:
    """Return a pre-trained encoder, or the calibrated initial weights of this seed for the arm "random"."""
    if arm != "random":
        return load_encoder(options.run(arm, seed, without)).encoder
    torch.manual_seed(seed)
    result = make_encoder(Model())
    sample = np.random.default_rng(0).choice(pretrained_on(without), CALIBRATION, replace=False)
    calibrate(result, Corpus.concatenate("all", [dataset(name).corpus for name in SETS]), np.sort(sample))
    return result


def pretrained_on(without: Fold) -> np.ndarray:
    """Return the graphs that pre-training sees, numbered over the three sets."""
    parts, first = [], 0
    for name in SETS:
        labels = dataset(name).labels
        rows = np.arange(len(labels))
        seen = rows if without is None else np.setdiff1d(rows, stratified_split(labels, without).test)
        parts.append(first + seen)
        first += len(labels)
    return np.concatenate(parts)


def run_probe(options: Options, name: str, arm: str, seed: int, without: Fold, folds: Sequence[int]) -> Cell:
    """Return the probe's scores on these folds of one set."""
    data, stopwatch = dataset(name), Stopwatch()
    vectors = embed(encoder(options, arm, seed, without), data.corpus)
    splits = [stratified_split(data.labels, fold) for fold in folds]
    inputs = [(standardize(vectors, split.train), data.labels, split) for split in splits]
    return {"scores": [probe_classes(*each)._asdict() for each in inputs], **stopwatch.read()}


def run_finetuning(options: Options, name: str, arm: str, seed: int, without: Fold, fold: int) -> Cell:
    data, stopwatch = dataset(name), Stopwatch()
    start = (
        InitialEncoder(Model()) if arm == "random" else InitialEncoder.from_checkpoint(options.run(arm, seed, without))
    )
    split = stratified_split(data.labels, fold)
    run = finetune(start, data, split, FinetuneOptions(epochs=options.epochs), seed)
    scores = {metric: curve.score for metric, curve in run.curves.items()}
    return {**scores, "run": run.as_json(), **stopwatch.read()}


def measure(options: Options, own: int, seeds: Sequence[int]) -> GraphResults:
    """Measure everything, one setting after the other. Finished parts are only read."""
    results = GraphResults(options.steps, options.epochs, options.bf16, [*seeds])
    settings: tuple[Fold, ...] = (None, *range(own))
    options.work.mkdir(parents=True, exist_ok=True)
    for name in SETS:
        path = options.work / "look-alikes" / f"{name}.json"
        results.look_alikes[name] = load_or_make(path, partial(look_alikes, dataset(name)))
    with ExitStack() as stack:
        url = cache(lambda: stack.enter_context(serve(options)))
        for without in settings:
            path = options.work / "ingest" / f"{_collection_name(without)}.json"
            results.ingest[without] = load_or_make(path, partial(ingest_collection, options, without))
        for without in settings:
            folds = [*range(FOLDS)] if without is None else [without]
            for seed in seeds:
                for strategy in PRETRAINED:
                    make = partial(train_encoder, options, strategy, seed, without, url)
                    path = options.cell("pretraining", strategy, seed, _collection_name(without))
                    results.pretraining[strategy, seed, without] = load_or_make(path, make)
                _score(options, results, seed, without, folds)
    return results


def _score(options: Options, results: GraphResults, seed: int, without: Fold, folds: Sequence[int]) -> None:
    for name in SETS:
        for arm in ARMS:
            path = options.cell("probe", name, arm, seed, _collection_name(without))
            make = partial(run_probe, options, name, arm, seed, without, folds)
            results.probes[name, arm, seed, without] = load_or_make(path, make)
    for name in FINETUNED:
        for arm in ARMS:
            for fold in folds:
                excluded = None if arm == "random" else without  # scratch is not pre-trained, in either setting
                path = options.cell(f"finetune-{options.epochs}", name, arm, seed, _collection_name(excluded), fold)
                make = partial(run_finetuning, options, name, arm, seed, excluded, fold)
                results.finetuning[name, arm, seed, without, fold] = load_or_make(path, make)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=200, help="of pre-training, at batch 32")
    parser.add_argument(
        "--own", type=int, default=FOLDS, choices=range(2, FOLDS + 1), help="folds without which to pre-train"
    )
    parser.add_argument("--epochs", type=int, default=20, help="of fine-tuning")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="of pre-training and fine-tuning")
    parser.add_argument("--bf16", action="store_true", help="pre-train with autocast to bfloat16")
    parser.add_argument("--work", type=Path, default=Path("graph-results"))
    arguments = parser.parse_args()
    if not _DATA.is_dir():
        parser.error("../shared/data/tu is missing: there is nothing to learn from")
    text = report(
        measure(
            Options(arguments.work, arguments.steps, arguments.epochs, arguments.bf16), arguments.own, arguments.seeds
        )
    )
    (arguments.work / "report.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
