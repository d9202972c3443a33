"""Training of encoders at the small dose, and loading of the encoders of all arms.

At the small dose, encoders are trained as in the first plan (`studies.downstream.evidence`), but in float32: not every
processor computes in bfloat16. Those of the middle dose come from the GPU job `dose`.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import torch

from benchmarks.data import smiles_file
from graphkin.trainer.model.encoder import Encoder
from graphkin.trainer.pretraining.config import PretrainConfig
from graphkin.trainer.pretraining.pretrained import load_encoder
from studies.cells import Cell
from studies.downstream import evidence
from studies.downstream.calibration import calibrate
from studies.downstream.pretraining import run_pretraining
from studies.downstream.results import calibration_corpus, untrained_encoder
from studies.evidence.arms import Dose, Unit
from studies.gpu.results import RESULTS, encoder_files, read_results
from studies.gpu.returned import restore
from studies.gpu.setting import Setting
from studies.gpu.sources import ingest_collection, open_source
from studies.gpu.tiny import TINY_MODEL, shrunk
from studies.gpu.training import read_encoder, save_encoder, training_cell

COLLECTIONS = tuple(sorted(evidence.COLLECTIONS))
"""Collections that the small dose is trained on."""

STEPS = 3000
_CHECKPOINT = 100  # steps
_TINY_STEPS = 4
_JOBS: Mapping[Dose, str] = {"small": "small", "middle": "dose"}
"""Folder of the encoders of a dose in the work folder. The GPU job `dose` trains those of the middle dose."""


def ingest(setting: Setting, collection: str) -> None:
    """Ingest ZINC250k as one of the `COLLECTIONS`."""
    setting.work.mkdir(parents=True, exist_ok=True)
    _, molecules = smiles_file(setting.work, evidence.MOLECULES)
    ingest_collection(setting, [molecules], collection, evidence.recipe_of(collection))


def train(setting: Setting, unit: Unit) -> Cell:
    """Train an encoder of the small dose to its end, continuing an earlier run, and return its cell."""
    config = _config(setting, unit)
    arm = evidence.TRAINED[unit.arm]
    second = evidence.second_collection_of(arm, config)
    source = open_source(setting, arm.collection, config.draws, second)
    run = setting.run(_JOBS["small"], unit.name)
    times = run_pretraining(config, source, run, _CHECKPOINT)
    return training_cell(config, run, times)


def save(setting: Setting, unit: Unit) -> None:
    """Save the encoder of a finished run to its `file`."""
    run = setting.run(_JOBS["small"], unit.name)
    save_encoder(file(setting, unit), load_encoder(run).encoder, torch.float32)


def file(setting: Setting, unit: Unit) -> Path:
    """Return the file of a trained encoder."""
    return setting.encoder(_JOBS[unit.dose], unit.name)


def restore_middle_dose(setting: Setting) -> set[Unit]:
    """Unpack the encoders that the GPU job `dose` has trained, and return them."""
    job = _JOBS["middle"]
    restore(job, setting, RESULTS / job, RESULTS)
    names = {name for _, group in encoder_files(RESULTS / job) for name in group}
    return {Unit(arm, int(seed), "middle") for arm, _, seed in (name.rpartition("-") for name in names)}


@cache
def load(setting: Setting, unit: Unit) -> Encoder:
    """Return the encoder of an arm, in evaluation mode. It is shared, so that the caller must not change it.

    Batch normalization has statistics of molecules: those of training, or calibrated ones.
    """
    trained = unit.trained
    if trained is None:
        return untrained_encoder(unit.seed, TINY_MODEL if setting.tiny else None)
    encoder = read_encoder(file(setting, trained), _model(setting, trained))
    if unit.arm == "permuted":
        permute(encoder, unit.seed)
        calibrate(encoder, calibration_corpus())
    return encoder


@torch.no_grad()
def permute(encoder: Encoder, seed: int) -> None:
    """Permute the elements of every weight with two or more dimensions at random. Vectors stay as they are."""
    generator = np.random.default_rng(seed)
    for weight in encoder.parameters():
        if weight.dim() >= 2:
            order = torch.from_numpy(generator.permutation(weight.numel()))
            weight.copy_(weight.flatten()[order].view_as(weight))


def _config(setting: Setting, unit: Unit) -> PretrainConfig:
    options = evidence.Options(setting.work, setting.work, STEPS, splits=0)
    config = replace(evidence.config_of(evidence.TRAINED[unit.arm], options, unit.seed), bf16=False)
    return shrunk(config, _TINY_STEPS) if setting.tiny else config


def _model(setting: Setting, unit: Unit) -> Cell:
    """Return the architecture of a trained encoder."""
    if unit.dose == "small":
        return dict(_config(setting, unit).as_json()["model"])
    return dict(_middle_dose_cells()[unit.name, "train"]["model"])


@cache
def _middle_dose_cells() -> Mapping[tuple[str, str], Cell]:
    return read_results(_JOBS["middle"], RESULTS)
