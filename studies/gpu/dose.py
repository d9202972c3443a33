"""Encoders of the second evidence plan (studies/evidence-plan-2.md): the middle dose, by source of positives.

Training takes 39,065 steps of batch 256 on two million molecules, in the order of the plan. A unit is an arm and a
seed.
"""

from collections.abc import Sequence
from itertools import product

from graphkin.similarity.molecules.recipe import resolve
from graphkin.trainer.pretraining.config import PretrainConfig
from graphkin.trainer.strategy import Positives
from studies.gpu.molecules import molecules_file
from studies.gpu.setting import Parts, Piece, Setting
from studies.gpu.sources import ingest_collection, open_source
from studies.gpu.tiny import shrunk
from studies.gpu.training import train

STEPS = 39_065
BATCH = 256
SEEDS = (0, 1, 2)
ARMS: tuple[Positives, ...] = ("exact", "augmented", "shuffled", "window", "size-matched")

_TINY_STEPS = 40
_RECIPES = {
    f"two-million-{candidates}": resolve(fingerprint={"name": "rdkit"}, threshold=threshold, candidates=candidates)
    for candidates, threshold in (("exact", 0.5), ("window", 0.36))
}


def pieces(setting: Setting) -> Sequence[Piece]:
    seeds = SEEDS[:1] if setting.tiny else SEEDS
    return [Piece(f"{arm}-{seed}", ("train",), inputs=tuple(_RECIPES)) for seed, arm in product(seeds, ARMS)]


def prepare(setting: Setting, name: str) -> None:
    ingest_collection(setting, [molecules_file(setting, "two-million.smi")], name, _RECIPES[name])


def measure(setting: Setting, piece: Piece) -> Parts:
    arm, _, seed = piece.unit.rpartition("-")
    (positives,) = [each for each in ARMS if each == arm]
    config = config_of(positives, int(seed))
    if setting.tiny:
        config = shrunk(config, _TINY_STEPS)
    exact, window = _RECIPES
    cell = train(setting, "dose", piece.unit, config, open_source(setting, exact, config.draws, window))
    if cell is not None:
        yield "train", {"arm": arm, **cell}


def config_of(arm: Positives, seed: int) -> PretrainConfig:
    """Return the training configuration. Anchors have edges under both the exact rule and the window rule."""
    return PretrainConfig.from_strategy(
        "hgc-fo", batch_size=BATCH, seed=seed, max_steps=STEPS, bf16=True, positives=arm
    )
