"""Does the source of positives matter? The experiment of docs/develop/evidence-plan.md.

    python -m studies.downstream.evidence [--seeds 0 1 2] [--steps 3000] [--splits 10] [--processes 2] [--work evidence]
                                          [--cells docs/evidence] [--arms exact window ...]

The encoder is GIN with 5 layers of width 300, trained at batch 64 on ZINC250k with HGC's first-order loss and three
positives per anchor. Arms differ only in the source of these positives, the option `--positives` of
`graphkin pretrain`. Controls are initial weights, Morgan fingerprints and masking.

Every (arm, seed) is one JSON file in --cells, written after it was trained, embedded and scored. Existing files are
reused, so the command continues where it stopped, on any machine. Pre-training continues from checkpoints in --work.
The report is printed. Missing cells need ../shared.
"""

import argparse
from collections.abc import Iterator, Mapping, Set
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain, product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import issparse
from threadpoolctl import threadpool_limits

from benchmarks.data import smiles_file
from graphkin.ingest.pipeline import ingest
from graphkin.similarity.molecules.recipe import MoleculeRecipe, resolve
from graphkin.store import open_store
from graphkin.trainer.downstream.embed import embed
from graphkin.trainer.feed.kinds import features
from graphkin.trainer.feed.source import Source
from graphkin.trainer.model.encoder import Encoder
from graphkin.trainer.pretraining.config import Model, PretrainConfig
from graphkin.trainer.pretraining.pretrained import load_encoder
from graphkin.trainer.strategy import Encoder as EncoderKind
from graphkin.trainer.strategy import Positives, Strategy
from studies.cells import Cell, Stopwatch, load_or_make
from studies.downstream.evidence_report import ARMS, SETS, report
from studies.downstream.far import far
from studies.downstream.few import few
from studies.downstream.heldout import measure_retrieval
from studies.downstream.pretraining import over_all_atoms, run_pretraining
from studies.downstream.probe import Features, morgan, probe, standardize
from studies.downstream.results import untrained_encoder
from studies.downstream.scaffold import random_scaffold_split
from studies.downstream.sets import DATA, dataset

MOLECULES = 249_456
_BATCH = 64
_CHECKPOINT = 100  # steps
_THRESHOLD = 0.36
_EXACT, _WINDOW = "zinc-exact", "zinc-window"

Part = tuple[str, int]
"""Arm and pre-training seed."""


@dataclass(frozen=True)
class Arm:
    """Training of one arm: strategy, source of positives, their collection, and encoder."""

    strategy: Strategy = "hgc-fo"
    positives: Positives = "exact"
    collection: str = _EXACT
    loss_over_all: bool = False
    encoder: EncoderKind = "gin"


TRAINED: Mapping[str, Arm] = {
    "exact": Arm(),
    "window": Arm(positives="window"),
    "shuffled": Arm(positives="shuffled"),
    "size-matched": Arm(positives="size-matched"),
    "augmented": Arm(positives="augmented"),
    "rdm": Arm("rdm", loss_over_all=True),
    "adam": Arm("adam"),
    "context-pred": Arm("context-pred"),
    "exact-ho": Arm("hgc-ho"),
    "exact-gcn": Arm(encoder="gcn"),
    "exact-sage": Arm(encoder="sage"),
    **{f"exact-{threshold}": Arm(collection=f"zinc-{threshold}") for threshold in ("0.5", "0.6", "0.7")},
}

COLLECTIONS = frozenset({_EXACT, _WINDOW})
"""Collections that anchors are taken from."""

GROUPS = (
    ("untrained", "morgan", "exact", "shuffled", "augmented", "window", "size-matched"),
    ("rdm", "adam"),
    ("exact-ho",),
    ("exact-0.5", "exact-0.6", "exact-0.7"),
    ("exact-gcn", "exact-sage", "context-pred"),
)
"""Order of measurement: all seeds of a group, seed by seed, before the next group."""


@dataclass(frozen=True)
class Options:
    """Settings and folders of the measurement."""

    work: Path
    cells: Path
    steps: int
    splits: int

    def run(self, arm: str, seed: int) -> Path:
        return self.work / f"{self.steps}-steps" / f"{arm}-{seed}"

    def cell(self, arm: str, seed: int) -> Path:
        return self.cells / f"{self.steps}-steps" / f"{arm}-{seed}.json"


@contextmanager
def serve(options: Options, collections: Set[str]) -> Iterator[str]:
    """Serve a store with these collections, ingesting those that are missing, and yield the URL."""
    from graphkin.api.serve import Server
    from graphkin.api.settings import Settings

    store = options.work / "store"
    with open_store(store, create=True) as opened:
        for name in sorted(collections - {each.name for each in opened.collections()}):
            label, file = smiles_file(options.work, MOLECULES)
            print(f"ingesting {label} as {name}", flush=True)
            ingest(opened, name, [str(file)], recipe_of(name))
    with Server(Settings(store=store, port=0, cache_dir=options.work / "server-cache")).running() as url:
        yield url


def recipe_of(collection: str) -> MoleculeRecipe:
    """Return the recipe of one of the collections that positives come from."""
    threshold = _THRESHOLD if collection in (_EXACT, _WINDOW) else float(collection.removeprefix("zinc-"))
    candidates = "window" if collection == _WINDOW else "exact"
    return resolve(fingerprint={"name": "rdkit"}, threshold=threshold, candidates=candidates)


def config_of(arm: Arm, options: Options, seed: int) -> PretrainConfig:
    config = PretrainConfig.from_strategy(
        arm.strategy,
        model=Model(arm.encoder),
        batch_size=_BATCH,
        seed=seed,
        max_steps=options.steps,
        bf16=True,
        positives=arm.positives,
    )
    return over_all_atoms(config) if arm.loss_over_all else config


def source_of(arm: Arm, config: PretrainConfig, options: Options, url: str) -> Source:
    """Return the source of an arm, whose anchors have edges under both the exact rule and the window rule."""
    from graphkin.trainer.feed.online import default_cache, open_online

    local = default_cache(options.work / "cache")
    second_collection = second_collection_of(arm, config)
    return open_online(url, arm.collection, config.draws, partial(features, workers=1), local, beside=second_collection)


def second_collection_of(arm: Arm, config: PretrainConfig) -> str | None:
    """Return the second collection in which an anchor needs edges, None if there is none."""
    return _WINDOW if config.contrast is not None and arm.collection == _EXACT else None


def train(options: Options, name: str, seed: int, url: str) -> Cell:
    """Train an arm to its end, continuing an earlier run."""
    arm = TRAINED[name]
    config = config_of(arm, options, seed)
    return run_pretraining(config, source_of(arm, config, options, url), options.run(name, seed), _CHECKPOINT)


def measure_arm(options: Options, name: str, seed: int, url: str) -> Cell:
    """Train one arm and score its encoder. Controls without training are scored only."""
    stopwatch = Stopwatch()
    cell: Cell = {"arm": name, "seed": seed, "steps": options.steps, "torch": torch.__version__}
    encoder: Encoder | None = None
    if name in TRAINED:
        cell["pretraining"] = train(options, name, seed, url)
        encoder = load_encoder(options.run(name, seed)).encoder
    elif name == "untrained":
        encoder = untrained_encoder(seed)
    if encoder is not None:
        cell["heldout"] = _heldout(encoder, options, seed, url)
    cell["sets"] = {each: score_arm(encoder, each, options.splits) for each in SETS}
    return {**cell, **stopwatch.read()}


def _heldout(encoder: Encoder, options: Options, seed: int, url: str) -> Cell:
    """Measure retrieval of exact positives, for anchors that no first-order arm used in its first epoch."""
    exact = TRAINED["exact"]
    config = config_of(exact, options, seed)
    with source_of(exact, config, options, url) as source:
        return measure_retrieval(encoder, source, config, options.steps * _BATCH)


def score_arm(encoder: Encoder | None, name: str, splits: int) -> Cell:
    """Score an encoder on one data set, or Morgan fingerprints if there is no encoder."""
    data, groups = dataset(name)
    rows: Any = morgan(data.smiles) if encoder is None else embed(encoder, data.corpus)
    return {
        **score_features(rows, name, splits),
        "far": far(rows, data.smiles, groups, data.labels) if encoder is not None else None,
    }


def score_features(rows: Any, name: str, splits: int) -> Cell:
    """Score embeddings of a data set, which are standardized, or sparse fingerprints, which are not."""
    data, groups = dataset(name)
    parts = [random_scaffold_split(groups, number) for number in range(splits)]

    def features_for(train: NDArray[np.int64]) -> Features:
        return rows if issparse(rows) else standardize(rows, train)

    return {
        "probe": [probe(features_for(part.train), data.labels, part)._asdict() for part in parts],
        "few": [
            few(features_for(part.train), data.labels, part, number)._asdict() for number, part in enumerate(parts)
        ],
        "test_share": float(np.mean([len(part.test) / len(part.train) for part in parts])),
    }


def parts_by_group(arms: list[str], seeds: list[int]) -> list[list[Part]]:
    """Return the parts of every group. Morgan fingerprints do not depend on the seed and are measured once."""
    parts = [[(arm, seed) for seed, arm in product(seeds, group) if arm in arms] for group in GROUPS]
    return [[each for each in group if each[0] != "morgan" or each[1] == seeds[0]] for group in parts]


def read_cells(options: Options, parts: list[Part]) -> dict[Part, Cell]:
    return {each: load_or_make(options.cell(*each), dict) for each in parts if options.cell(*each).exists()}


def measure(options: Options, parts: list[Part], processes: int) -> None:
    """Measure the missing parts, `processes` at a time."""
    parts = [part for part in parts if not options.cell(*part).exists()]
    if not parts:
        return
    if not DATA.is_dir():
        raise SystemExit(f"../shared/data/moleculenet is missing: {len(parts)} parts are left to measure")
    options.work.mkdir(parents=True, exist_ok=True)
    collections = {*COLLECTIONS, *(TRAINED[arm].collection for arm, _ in parts if arm in TRAINED)}
    with ExitStack() as stack:
        url = stack.enter_context(serve(options, collections))
        pool = stack.enter_context(ProcessPoolExecutor(processes, get_context("spawn")))
        for future in as_completed([pool.submit(_measure_cell, options, arm, seed, url) for arm, seed in parts]):
            future.result()


def _measure_cell(options: Options, arm: str, seed: int, url: str) -> None:
    with single_threaded():
        load_or_make(options.cell(arm, seed), partial(measure_arm, options, arm, seed, url))


@contextmanager
def single_threaded() -> Iterator[None]:
    """Limit torch and every BLAS to one thread.

    Many single-threaded processes finish sooner than threads that wait for each other.
    """
    torch.set_num_threads(1)
    with threadpool_limits(1):
        yield


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arms", nargs="+", choices=[*ARMS], default=[*ARMS], metavar="ARM", help=", ".join(ARMS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="of pre-training")
    parser.add_argument("--steps", type=int, default=3000, help="of pre-training")
    parser.add_argument("--splits", type=int, default=10, help="scaffold re-splits, 2 or more")
    parser.add_argument("--processes", type=int, default=2, help="of one thread each")
    parser.add_argument("--work", type=Path, default=Path("evidence"), help="store, cache and checkpoints")
    parser.add_argument("--cells", type=Path, default=Path("docs/evidence"), help="what has been measured")
    parser.add_argument("--report", action="store_true", help="measure nothing: report what has been")
    arguments = parser.parse_args()
    options = Options(arguments.work, arguments.cells, arguments.steps, arguments.splits)
    groups = parts_by_group(arguments.arms, arguments.seeds)
    for group in () if arguments.report else groups:
        measure(options, group, arguments.processes)
    print(report(read_cells(options, [*chain.from_iterable(groups)])))


if __name__ == "__main__":
    main()
