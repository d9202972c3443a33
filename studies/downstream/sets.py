"""Data sets that encoders are scored on: MoleculeNet's, and sets of MoleculeACE as classification."""

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.data import SHARED
from graphkin.trainer.downstream.dataset import CLASSIFICATION_TARGETS, Dataset, read_csv
from graphkin.trainer.downstream.molecules import read_molecules
from graphkin.trainer.downstream.scaffold import scaffolds

DATA = SHARED / "moleculenet"
_VALUES = SHARED / "moleculeace"
_WORKERS = os.cpu_count() or 1

_FILES = {
    "bace": "bace.csv.gz",
    "bbbp": "BBBP.csv",
    "sider": "sider.csv",
    "tox21": "tox21.csv.gz",
    "clintox": "clintox.csv",
    "hiv": "HIV.csv.gz",
    "toxcast": "toxcast_data.csv.gz",
}

_VALUE_FILES: Mapping[str, str] = {
    "chembl234": "CHEMBL234_Ki.csv",
    "chembl204": "CHEMBL204_Ki.csv",
    "chembl235": "CHEMBL235_EC50.csv",
    "chembl228": "CHEMBL228_Ki.csv",
    "chembl2147": "CHEMBL2147_Ki.csv",
    "chembl214": "CHEMBL214_Ki.csv",
}
"""Sets of MoleculeACE that the second evidence plan chose (studies/evidence-plan-2.md)."""


@cache
def dataset(name: str) -> tuple[Dataset, list[str]]:
    """Return a data set, and the scaffolds of its molecules."""
    if name in _VALUE_FILES:
        data = read_actives(_VALUES / _VALUE_FILES[name])
    else:
        data = read_csv(DATA / _FILES[name], targets=CLASSIFICATION_TARGETS[name], workers=_WORKERS)
    return data, scaffolds(data.smiles)


def read_actives(path: Path) -> Dataset:
    """Read a MoleculeACE file as one task: a molecule is active if its value `y` is above the median of its set."""
    file = read_molecules(path, workers=_WORKERS)
    values = np.array(file.cells("y"), np.float64)
    labels = (values > np.median(values)).astype(np.int8)
    return Dataset(file.corpus, file.smiles, ("active",), labels[:, None], (), file.rejected)
