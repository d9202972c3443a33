"""Training fed by a server compared with training from memory, and the rate of the feed alone.

    python -m benchmarks.feed [--molecules 4000] [--pairs 12] [--fed 249456]

The first part runs epochs of HGC(FO) with the published encoder at batch 64 on the CPU. One epoch is fed by
`ArrowSource` from a server in a process of its own, whose reply time counts. The other is fed by `MemorySource` with
the same positives. They alternate (ABBA) with the same trainer. An epoch of 4,000 molecules takes seconds, so requests
weigh more than in a real run.

The second part runs the loop without a model at the published batch size of 256: it requests positives over HTTP,
shuffles anchors and assembles batches (anchors, positives and negatives, as encoders receive them) for several epochs
of the whole of ZINC250k.
"""

import argparse
import multiprocessing
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter

import numpy as np
import torch
from scipy.stats import bootstrap

from benchmarks.data import smiles_file
from benchmarks.memory import MemorySource
from graphkin.api.serve import Server
from graphkin.api.settings import Settings
from graphkin.ingest.pipeline import ingest
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store
from graphkin.trainer.feed.arrow import ArrowSource
from graphkin.trainer.feed.cache import Cache
from graphkin.trainer.feed.kinds import features
from graphkin.trainer.feed.online import open_online
from graphkin.trainer.feed.source import Source
from graphkin.trainer.model.batch import Assembler
from graphkin.trainer.pretraining.clock import Clock
from graphkin.trainer.pretraining.config import PretrainConfig
from graphkin.trainer.pretraining.objective import Draw, Step
from graphkin.trainer.pretraining.plan import Plan
from graphkin.trainer.pretraining.trainer import Trainer

_THRESHOLD = 0.3  # low, for degrees as large collections have them
_FED_THRESHOLD = 0.5
_FED_EPOCHS = 4


def _serve(settings: dict[str, object], pipe: Connection) -> None:
    server = Server(Settings(**settings))
    pipe.send(server.url)
    server.run()


@contextmanager
def served(store: Path, cache: Path) -> Iterator[str]:
    """Start a server in a process of its own, and yield its URL."""
    context = multiprocessing.get_context("spawn")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_serve, args=({"store": store, "port": 0, "cache_dir": cache}, sending))
    process.start()
    try:
        yield receiving.recv()
    finally:
        process.terminate()
        process.join()


@contextmanager
def online(config: PretrainConfig, folder: Path, name: str) -> Iterator[ArrowSource]:
    """Yield a source and its server, both with new caches in which nothing was sampled yet."""
    work = folder / name
    featurized = partial(features, workers=os.cpu_count() or 1)
    with (
        served(folder / "store", work / "server") as url,
        open_online(url, "benchmark", config.draws, featurized, Cache(work / "local", 2**33)) as source,
    ):
        yield source


def ingest_molecules(folder: Path, count: int, threshold: float) -> str:
    label, path = smiles_file(folder, count)
    with open_store(folder / "store", create=True) as store:
        ingest(store, "benchmark", [str(path)], resolve(threshold=threshold))
    return label


def rate(config: PretrainConfig, source: Source, epoch: int, train: Callable[[Draw], object]) -> float:
    """Return the anchors per second of an epoch, including the request for its positives."""
    begin = perf_counter()
    plan = Plan(config, epoch, source.epoch(epoch))
    anchors = 0
    for place in range(plan.steps):
        draw = plan.draw(place)
        train(draw)
        anchors += len(draw.anchors)
    return anchors / (perf_counter() - begin)


def compare(folder: Path, molecules: int, pairs: int) -> None:
    label = ingest_molecules(folder, molecules, _THRESHOLD)
    config = PretrainConfig.from_strategy("hgc-fo", batch_size=64)
    with online(config, folder, "before") as before:
        corpus = before.corpus()
        memory = MemorySource(corpus, config.draws, [before.epoch(epoch) for epoch in range(pairs + 1)])
    trainer, clock = Trainer(config, Assembler(corpus)), Clock()

    def train(draw: Draw) -> None:
        trainer.step(0, config.optimization.learning_rate, draw, clock)

    with online(config, folder, "measured") as server:
        rate(config, server, 0, train)  # warms up
        rates = np.empty((pairs, 2))
        for pair in range(pairs):
            for column, source in [(0, server), (1, memory)][:: 1 if pair % 2 else -1]:
                rates[pair, column] = rate(config, source, pair + 1, train)
    ratios = rates[:, 0] / rates[:, 1]
    low = bootstrap((ratios,), np.median, alternative="greater", method="percentile").confidence_interval.low
    print(f"{label}, batch 64, {torch.get_num_threads()} threads, {pairs} pairs of epochs")
    print("  anchors a second, median: online {:,.0f}, memory {:,.0f}".format(*np.median(rates, axis=0)))
    print(f"  ratio, median: {np.median(ratios):.3f}, at least {low:.3f} (95 %)")


def feed(folder: Path, molecules: int) -> None:
    label = ingest_molecules(folder, molecules, _FED_THRESHOLD)
    print(f"{label}, batch 256, no model, {torch.get_num_threads()} threads; anchors a second, epoch by epoch")
    for strategy in ("hgc-fo", "hgc-ho"):
        config = PretrainConfig.from_strategy(strategy)
        with online(config, folder, "fed") as source:
            assemble = partial(Step.from_draw, graphs=Assembler(source.corpus()))
            rates = [rate(config, source, epoch, assemble) for epoch in range(_FED_EPOCHS)]
        print(f"  {strategy}: " + ", ".join(f"{each:,.0f}" for each in rates))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--molecules", type=int, default=4_000)
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--fed", type=int, default=249_456, help="molecules to feed without a model")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as few, tempfile.TemporaryDirectory() as whole:
        compare(Path(few), options.molecules, options.pairs)
        feed(Path(whole), options.fed)


if __name__ == "__main__":
    main()
