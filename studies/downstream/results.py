"""The gain from pre-training downstream: a frozen probe over scaffold re-splits, and fine-tuning.

    python -m studies.downstream.results [--seeds 0 1 2] [--steps 3000] [--splits 10] [--epochs 40] [--bf16]
                                         [--work results]

Pre-training: GIN with 5 layers of width 300 on all of ZINC250k (similarity ≥ 0.5 by Morgan fingerprints, from a store
over HTTP). The arms are uniform masking with the loss over masked atoms (rdm) and, as AdaM has it, over all atoms
(rdm-all), AdaM (adam), and HGC with first-order positives (hgc-fo). All take equally many steps at batch 64, with the
same initial weights for the same seed. This means equal updates and anchors, not equal compute: HGC encodes 4 molecules
per anchor, and AdaM encodes each one 6 or 7 times. The report shows the times. The last encoder has the initial
weights, with batch normalization calibrated on 4,096 molecules of ZINC250k.

Primary: logistic regression on the frozen embeddings (those of `graphkin embed`, standardized) of BACE, BBBP, SIDER
and Tox21, with regularization chosen on validation, over random scaffold re-splits that are the same for all arms. The
baseline uses Morgan fingerprints (radius 2, 2,048 bits). Secondary: fine-tuning on BACE and BBBP on the one scaffold
split, at the baselines' published settings. Each run has the seed of its pre-training.

Every finished part is a JSON file in --work, and pre-training has checkpoints, so a killed command continues where it
stopped. The report is printed and saved as report.md in --work. Needs ../shared.
"""

import argparse
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
import torch
from joblib import Parallel, delayed

from benchmarks.data import molecules, smiles_file
from graphkin.ingest.pipeline import ingest
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store
from graphkin.trainer.downstream.embed import embed
from graphkin.trainer.downstream.finetune import FinetuneOptions, InitialEncoder, finetune
from graphkin.trainer.downstream.split import group_split
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.featurize import featurize
from graphkin.trainer.feed.kinds import features
from graphkin.trainer.model.encoder import Encoder
from graphkin.trainer.pretraining.config import Model, PretrainConfig
from graphkin.trainer.pretraining.objective import make_encoder
from graphkin.trainer.pretraining.pretrained import load_encoder
from graphkin.trainer.strategy import Strategy
from studies.cells import Cell, Stopwatch, load_or_make
from studies.downstream.calibration import calibrate
from studies.downstream.pretraining import over_all_atoms, run_pretraining
from studies.downstream.probe import morgan, probe, standardize
from studies.downstream.report import FINETUNED, INTERPRETED, LATE, PRETRAINED, UNINTERPRETED, Results, report
from studies.downstream.scaffold import random_scaffold_split
from studies.downstream.sets import DATA, dataset

_BATCH = 64
_CALIBRATION = 4096  # molecules
_CHECKPOINT = 100  # steps
_WORKERS = os.cpu_count() or 1

STRATEGY_OF: Mapping[str, Strategy] = {"rdm": "rdm", "rdm-all": "rdm", "adam": "adam", "hgc-fo": "hgc-fo"}

Place = tuple[str, str]
"""URL of a server, and a collection on it."""


@dataclass(frozen=True)
class Options:
    """Settings of the measurement. Finished parts lie in folders named after the options that they depend on."""

    work: Path
    molecules: int
    steps: int
    splits: int
    epochs: int
    bf16: bool

    def run(self, arm: str, seed: int) -> Path:
        """Return the folder of a pre-training run."""
        return self._folder / "runs" / f"{arm}-{seed}"

    def cell(self, kind: str, *names: object) -> Path:
        """Return the file of a finished part."""
        return self._folder / kind / f"{'-'.join(map(str, names))}.json"

    @property
    def _folder(self) -> Path:
        return self.work / f"{self.molecules}-molecules-{self.steps}-steps{'-bf16' if self.bf16 else ''}"


@contextmanager
def serve(options: Options) -> Iterator[Place]:
    """Serve the molecules to pre-train on, ingesting them if they are missing."""
    from graphkin.api.serve import Server
    from graphkin.api.settings import Settings

    options.work.mkdir(parents=True, exist_ok=True)
    store, name = options.work / "store", f"zinc-{options.molecules}"
    with open_store(store, create=True) as opened:
        if name not in [each.name for each in opened.collections()]:
            label, file = smiles_file(options.work, options.molecules)
            print(f"ingesting {label}", flush=True)
            ingest(opened, name, [str(file)], resolve(threshold=0.5))
    with Server(Settings(store=store, port=0, cache_dir=options.work / "server-cache")).running() as url:
        yield url, name


def train_encoder(options: Options, arm: str, seed: int, place: Callable[[], Place]) -> Cell:
    from graphkin.trainer.feed.online import default_cache, open_online

    strategy = STRATEGY_OF[arm]
    config = PretrainConfig.from_strategy(
        strategy, batch_size=_BATCH, seed=seed, max_steps=options.steps, bf16=options.bf16
    )
    if arm == "rdm-all":
        config = over_all_atoms(config)
    local = default_cache(options.work / "cache")
    source = open_online(*place(), config.draws, partial(features, workers=_WORKERS), local)
    return run_pretraining(config, source, options.run(arm, seed), _CHECKPOINT)


@cache
def untrained_encoder(seed: int, model: Model | None = None) -> Encoder:
    """Return the calibrated initial weights of a pre-training seed, by default for the model of published runs."""
    torch.manual_seed(seed)
    encoder = make_encoder(model or Model())
    calibrate(encoder, calibration_corpus())
    return encoder


@cache
def calibration_corpus() -> Corpus:
    """Return the molecules that batch normalization is calibrated on: the first 4,096 of ZINC250k."""
    _, lines = molecules(_CALIBRATION)
    return featurize([line.split()[0] for line in lines], "calibration", _WORKERS)


def run_probe(options: Options, name: str, arm: str, seed: int) -> Cell:
    """Return the scores of all re-splits."""
    data, groups = dataset(name)
    stopwatch = Stopwatch()
    if arm == "morgan":
        features = morgan(data.smiles)
    else:
        encoder = untrained_encoder(seed) if arm == "random" else load_encoder(options.run(arm, seed)).encoder
        features = embed(encoder, data.corpus)
    splits = [random_scaffold_split(groups, number) for number in range(options.splits)]
    features_by_split = (features if arm == "morgan" else standardize(features, split.train) for split in splits)
    probes = (delayed(probe)(each, data.labels, split) for each, split in zip(features_by_split, splits, strict=True))
    results = Parallel(_WORKERS)(probes)  # single-threaded processes, because more threads slow small problems
    scores = [
        {**score._asdict(), "train": len(split.train), "test": len(split.test)}
        for score, split in zip(results, splits, strict=True)
    ]
    return {"scores": scores, "seconds": stopwatch.read()["seconds"]}  # processor time is spent in other processes


def run_finetuning(options: Options, name: str, arm: str, seed: int) -> Cell:
    data, groups = dataset(name)
    stopwatch = Stopwatch()
    start = InitialEncoder(Model()) if arm == "random" else InitialEncoder.from_checkpoint(options.run(arm, seed))
    run = finetune(start, data, group_split(groups), FinetuneOptions(epochs=options.epochs), seed)
    late = float(np.mean(run.main.test[-LATE:]))
    return {**run.as_json(), **stopwatch.read(), "auc": run.main.score, "late_auc": late}


def measure(options: Options, seeds: list[int]) -> Results:
    """Measure everything, seed by seed. Finished parts are only read."""
    results = Results(options.steps, _BATCH, options.epochs, options.bf16, {}, {}, {})
    with ExitStack() as stack:
        place = cache(lambda: stack.enter_context(serve(options)))
        for seed in seeds:
            for arm in PRETRAINED:
                make = partial(train_encoder, options, arm, seed, place)
                results.pretraining[arm, seed] = load_or_make(options.cell("pretraining", arm, seed), make)
            _score(options, seed, results)
    return results


def _score(options: Options, seed: int, results: Results) -> None:
    for name in (*INTERPRETED, *UNINTERPRETED):
        for arm in ("random", *PRETRAINED):
            path = options.cell(f"probe-{options.splits}", name, arm, seed)
            results.probes[name, arm, seed] = load_or_make(path, partial(run_probe, options, name, arm, seed))
        path = options.cell(f"probe-{options.splits}", name, "morgan")  # fingerprints have no seed
        results.probes[name, "morgan", seed] = load_or_make(path, partial(run_probe, options, name, "morgan", seed))
    for name in FINETUNED:
        for arm in ("random", *PRETRAINED):
            path = options.cell(f"finetune-{options.epochs}", name, arm, seed)
            results.finetuning[name, arm, seed] = load_or_make(path, partial(run_finetuning, options, name, arm, seed))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="of pre-training and fine-tuning")
    parser.add_argument("--steps", type=int, default=3000, help="of pre-training")
    parser.add_argument("--splits", type=int, default=10, help="scaffold re-splits, 2 or more")
    parser.add_argument("--epochs", type=int, default=40, help="of fine-tuning")
    parser.add_argument("--molecules", type=int, default=249_456, help="of ZINC250k to pre-train on")
    parser.add_argument("--work", type=Path, default=Path("results"))
    parser.add_argument("--bf16", action="store_true", help="pre-train with autocast to bfloat16")
    arguments = parser.parse_args()
    if arguments.splits < 2:
        parser.error("--splits: one split has no spread")
    if not DATA.is_dir():
        parser.error("../shared/data/moleculenet is missing: there is nothing to score on")
    options = Options(
        arguments.work, arguments.molecules, arguments.steps, arguments.splits, arguments.epochs, arguments.bf16
    )
    text = report(measure(options, arguments.seeds))
    (options.work / "report.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
