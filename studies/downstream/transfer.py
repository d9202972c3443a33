"""Transfer from molecules to social graphs (T5 of the paper): does pre-training on molecules help on graphs?

    python -m studies.downstream.transfer [--seeds 0 1 2] [--arms ...] [--epochs 20] [--finetuned 3] [--work evidence]
                                          [--cells docs/evidence]

Encoders are those of `studies.downstream.evidence`, pre-trained on ZINC250k. Every node of a graph is encoded as a
masked atom, and every edge as a single bond. Controls are the initial weights, with batch normalization calibrated on
molecules, as for the others, and, for the frozen probe, calibrated on 512 of the graphs. Context_Pred is also
pre-trained further with labels, as S_Context_Pred is: five epochs on the 617 tasks of ToxCast, where the paper used
ChEMBL's.

Frozen: logistic regression on standardized embeddings of IMDB-BINARY, IMDB-MULTI and REDDIT-BINARY, 10 stratified
folds, accuracy. Fine-tuned: IMDB-BINARY and IMDB-MULTI at the published settings except --epochs, on the first
--finetuned folds. Every (arm, seed) is a JSON file in --cells. A run that is missing in --work is trained first, as
`studies.downstream.evidence` does. Needs ../shared.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch

from graphkin.cli import run as graphkin
from graphkin.trainer.downstream.embed import embed
from graphkin.trainer.downstream.finetune import FinetuneOptions, InitialEncoder, finetune
from graphkin.trainer.downstream.split import FOLDS, stratified_split
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.model.encoder import Encoder
from graphkin.trainer.pretraining.config import Model
from graphkin.trainer.pretraining.objective import make_encoder
from graphkin.trainer.pretraining.pretrained import load_encoder
from studies.cells import Cell, Stopwatch, load_or_make
from studies.downstream.calibration import calibrate
from studies.downstream.evidence import COLLECTIONS, TRAINED, Options, Part, serve, single_threaded, train
from studies.downstream.graph_report import FINETUNED, SETS
from studies.downstream.graph_results import CALIBRATION, dataset
from studies.downstream.probe import probe_classes, standardize
from studies.downstream.results import untrained_encoder
from studies.downstream.sets import DATA
from studies.downstream.transfer_report import ARMS, report

_SUPERVISED = "s-context-pred"
_LABELLED_EPOCHS = 5


def measure_arm(options: Options, arm: str, seed: int, url: str, epochs: int, folds: int) -> Cell:
    stopwatch = Stopwatch()
    if arm in (_SUPERVISED, *TRAINED):
        train(options, arm.removeprefix("s-"), seed, url)
    if arm == _SUPERVISED:
        _supervise(options, seed)
    encoder = _encoder(options, arm, seed)
    frozen = {name: _probe_frozen(encoder, name) for name in SETS}
    learned = arm in (_SUPERVISED, *TRAINED)
    start = InitialEncoder.from_checkpoint(options.run(arm, seed)) if learned else InitialEncoder(Model())
    tuned = {} if arm == "calibrated" else {name: _fine_tune(start, name, seed, epochs, folds) for name in FINETUNED}
    return {"arm": arm, "seed": seed, "frozen": frozen, "finetuned": tuned, "epochs": epochs, **stopwatch.read()}


def _supervise(options: Options, seed: int) -> None:
    """Train Context_Pred's encoder further with labels, unless that is done."""
    folder, trained_on = options.run(_SUPERVISED, seed), options.run(_SUPERVISED.removeprefix("s-"), seed)
    data = ("--csv", DATA / "toxcast_data.csv.gz", "--dataset", "toxcast", "--checkpoint", trained_on)
    schedule = ("--seeds", seed, "--epochs", _LABELLED_EPOCHS, "--save-encoder", folder)
    if not folder.exists():
        code = graphkin([str(each) for each in ("finetune", *data, *schedule, "--output", f"{folder}.json")])
        if code:
            raise SystemExit(code)


def _encoder(options: Options, arm: str, seed: int) -> Encoder:
    if arm in (_SUPERVISED, *TRAINED):
        return load_encoder(options.run(arm, seed)).encoder
    if arm == "untrained":
        return untrained_encoder(seed)
    torch.manual_seed(seed)
    encoder = make_encoder(Model())
    corpus = Corpus.concatenate("all", [dataset(name).corpus for name in SETS])
    calibrate(encoder, corpus, np.sort(np.random.default_rng(0).choice(corpus.size, CALIBRATION, replace=False)))
    return encoder


def _probe_frozen(encoder: Encoder, name: str) -> list[float]:
    """Return the accuracy on each fold."""
    data = dataset(name)
    vectors = embed(encoder, data.corpus)
    splits = [stratified_split(data.labels, fold) for fold in range(FOLDS)]
    return [probe_classes(standardize(vectors, split.train), data.labels, split).accuracy for split in splits]


def _fine_tune(start: InitialEncoder, name: str, seed: int, epochs: int, folds: int) -> list[float]:
    """Return the accuracy on each of the first folds, at the epoch that is best on validation."""
    data = dataset(name)
    runs = [
        finetune(start, data, stratified_split(data.labels, fold), FinetuneOptions(epochs=epochs), seed)
        for fold in range(folds)
    ]
    return [run.main.score for run in runs]


def measure(options: Options, parts: list[Part], processes: int, epochs: int, folds: int) -> dict[Part, Cell]:
    missing = [part for part in parts if not _cell(options, *part).exists()]
    if missing:
        with ExitStack() as stack:
            url = stack.enter_context(serve(options, COLLECTIONS))
            pool = stack.enter_context(ProcessPoolExecutor(processes, get_context("spawn")))
            for future in as_completed(
                [pool.submit(_measure_cell, options, *part, url, epochs, folds) for part in missing]
            ):
                future.result()
    return {part: load_or_make(_cell(options, *part), dict) for part in parts}


def _cell(options: Options, arm: str, seed: int) -> Path:
    return options.cell(f"graphs-{arm}", seed)


def _measure_cell(options: Options, arm: str, seed: int, url: str, epochs: int, folds: int) -> None:
    with single_threaded():
        load_or_make(_cell(options, arm, seed), partial(measure_arm, options, arm, seed, url, epochs, folds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arms", nargs="+", choices=[*ARMS], default=[*ARMS], metavar="ARM", help=", ".join(ARMS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="of pre-training and fine-tuning")
    parser.add_argument("--steps", type=int, default=3000, help="of pre-training")
    parser.add_argument("--epochs", type=int, default=20, help="of fine-tuning")
    parser.add_argument("--finetuned", type=int, default=3, choices=range(1, FOLDS + 1), help="folds to fine-tune on")
    parser.add_argument("--processes", type=int, default=2, help="of one thread each")
    parser.add_argument("--work", type=Path, default=Path("evidence"), help="store, cache and checkpoints")
    parser.add_argument("--cells", type=Path, default=Path("docs/evidence"), help="what has been measured")
    arguments = parser.parse_args()
    options = Options(arguments.work, arguments.cells, arguments.steps, splits=2)
    parts = [*product(arguments.arms, arguments.seeds)]
    print(report(measure(options, parts, arguments.processes, arguments.epochs, arguments.finetuned)))


if __name__ == "__main__":
    main()
