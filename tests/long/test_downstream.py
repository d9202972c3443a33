"""Contents and splits of the seven MoleculeNet sets (issue 6; docs/reference/training.md)."""

from pathlib import Path

import numpy as np
import pytest
from rdkit import Chem, rdBase
from rdkit.Chem.Scaffolds import MurckoScaffold

from graphkin.trainer.downstream.dataset import CLASSIFICATION_TARGETS, Dataset, read_csv
from graphkin.trainer.downstream.roc import is_scorable
from graphkin.trainer.downstream.scaffold import scaffolds
from graphkin.trainer.downstream.split import Split, group_split
from studies.downstream.scaffold import random_scaffold_split

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "moleculenet"
FILES = {
    "bbbp": ("BBBP.csv", 2050, 2039, 1),
    "clintox": ("clintox.csv", 1484, 1480, 2),
    "sider": ("sider.csv", 1427, 1427, 27),
    "bace": ("bace.csv.gz", 1513, 1513, 1),
    "tox21": ("tox21.csv.gz", 7831, 7823, 12),
    "toxcast": ("toxcast_data.csv.gz", 8615, 8597, 617),
    "hiv": ("HIV.csv.gz", 41127, 41120, 1),
}
"""File, records, molecules that RDKit 2026.09 can read, tasks."""

pytestmark = pytest.mark.shared


@pytest.fixture(scope="module", params=FILES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def dataset(name: str) -> Dataset:
    file = FOLDER / FILES[name][0]
    if not file.is_file():
        pytest.fail(f"{file} is missing: this check needs the shared data folder")
    return read_csv(file, targets=CLASSIFICATION_TARGETS[name], workers=2)


def by_the_book(smiles: tuple[str, ...]) -> list[list[int]]:
    """Apply Hu et al.'s rule with independently computed scaffolds and groups, and floating-point shares."""
    groups: dict[str, list[int]] = {}
    with rdBase.BlockLogs():
        for row, text in enumerate(smiles):
            scaffold = MurckoScaffold.GetScaffoldForMol(Chem.MolFromSmiles(text))
            groups.setdefault(Chem.MolToSmiles(scaffold, isomericSmiles=True), []).append(row)
    parts: list[list[int]] = [[], [], []]
    train, valid, test = parts
    for rows in sorted(groups.values(), key=lambda rows: (-len(rows), -rows[0])):
        if len(train) + len(rows) <= 0.8 * len(smiles):
            train.extend(rows)
        elif len(train) + len(valid) + len(rows) <= 0.9 * len(smiles):
            valid.extend(rows)
        else:
            test.extend(rows)
    return [sorted(part) for part in parts]


def test_counts_and_splits_follow_the_published_rule(name: str, dataset: Dataset) -> None:
    _, records, molecules, tasks = FILES[name]
    assert len(dataset.smiles) + len(dataset.rejected) == records
    assert (len(dataset.smiles), len(dataset.tasks), dataset.one_class) == (molecules, tasks, ())
    assert dataset.corpus.size == molecules
    groups = scaffolds(dataset.smiles)
    split = group_split(groups)
    assert [part.tolist() for part in split] == by_the_book(dataset.smiles)
    for each in (split, random_scaffold_split(groups, 0)):
        require_partition(each, groups)
        assert [len(part) / molecules for part in each] == pytest.approx([0.8, 0.1, 0.1], abs=0.002)
        assert all(is_scorable(dataset.labels[part]).any() for part in each)


def require_partition(split: Split, groups: list[str]) -> None:
    assert sorted(np.concatenate(split).tolist()) == list(range(len(groups)))
    of_each = [{groups[row] for row in part} for part in split]
    assert sum(map(len, of_each)) == len(set(groups))


def test_only_tox21_and_toxcast_have_missing_labels(name: str, dataset: Dataset) -> None:
    """Every set but Tox21 and ToxCast is fully labeled (docs/reference/training.md)."""
    missing = float((dataset.labels == -1).mean())
    assert (missing == 0) == (name not in ("tox21", "toxcast"))
    assert 0 < float((dataset.labels == 1).mean()) < 0.9
