"""A probe with few labels (docs/evidence-plan.md)."""

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from graphkin.trainer.downstream.split import Split
from studies.downstream.probe import Features, ProbeScore, probe

LABELLED = 100
"""Molecules trained on."""


def few(features: Features, labels: NDArray[np.int8], split: Split, seed: int) -> ProbeScore:
    """As `probe`, trained on `LABELLED` of the molecules of `split.train`, drawn by the seed.

    The classes of the first task, missing labels being one, have the shares that they have in train. Valid and test
    are whole. Tasks of which those drawn have one class only are left out.
    """
    drawn, _ = train_test_split(
        split.train, train_size=LABELLED, random_state=seed, stratify=labels[split.train, 0].astype(np.int64)
    )
    return probe(features, labels, split._replace(train=np.sort(drawn)))
