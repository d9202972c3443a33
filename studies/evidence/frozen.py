"""The frozen outcome: logistic regression on standardized embeddings, over scaffold re-splits."""

from graphkin.trainer.downstream.embed import embed
from graphkin.trainer.model.encoder import Encoder
from studies.cells import Cell
from studies.downstream.evidence import score_features
from studies.downstream.sets import dataset

SPLITS = 10


def score_frozen(encoder: Encoder, name: str, splits: int = SPLITS) -> Cell:
    """Score an encoder on a data set.

    Returns:
        `probe` and `few`: scores by re-split with all labels, and with 100. `test_share`: number of test molecules for
        each molecule in the training part.
    """
    data, _ = dataset(name)
    return score_features(embed(encoder, data.corpus), name, splits)
