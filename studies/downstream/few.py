"""Probe with few labels (docs/develop/evidence-plan.md)."""

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from graphkin.trainer.downstream.split import Split
from studies.downstream.probe import Features, ProbeScore, probe

LABELLED = 100
"""Number of training molecules."""


def few(features: Features, labels: NDArray[np.int8], split: Split, seed: int) -> ProbeScore:
    """Return the score of `probe`, trained on `LABELLED` molecules sampled from `split.train` with the seed.

    The sample is stratified by the first task, where a missing label counts as a class. Valid and test are complete.
    Tasks with only one class in the sample are left out.
    """
    sample, _ = train_test_split(
        split.train, train_size=LABELLED, random_state=seed, stratify=labels[split.train, 0].astype(np.int64)
    )
    return probe(features, labels, split._replace(train=np.sort(sample)))
