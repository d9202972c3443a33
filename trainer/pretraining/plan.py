"""The anchors of an epoch, their order, and the samples of each step."""

import numpy as np
from numpy.typing import NDArray

from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.feed.source import Epoch
from graphkin.trainer.pretraining.config import PretrainConfig
from graphkin.trainer.pretraining.objective import Draw


class Plan:
    """The steps of one epoch: every anchor once, in batches, or the first `PretrainConfig.limit` anchors.

    The last batch may be smaller. It is left out if it has fewer than two anchors, which have no negatives, or fewer
    than `min_anchors`. If there are positives, isolated items are no anchors. The order depends only on seed and epoch.

    Args:
        config: Options of the run.
        epoch: Number of the epoch.
        samples: Samples of the epoch.
        min_anchors: Minimum number of anchors in a batch.

    Attributes:
        epoch: Number of the epoch.
        steps: Number of steps.
        anchors: (n,) int64. The anchors in their order. The step at position p has those from p * batch_size on.
        batch_size: Anchors of a batch.
        samples: Samples of the epoch.
        pairs_with_itself: Whether each anchor is its own positive.

    Raises:
        InvalidInput: There is no batch at all, or complete batches have fewer than `min_anchors` anchors.
    """

    def __init__(self, config: PretrainConfig, epoch: int, samples: Epoch, min_anchors: int = 2) -> None:
        min_anchors = max(2, min_anchors)
        self.samples = samples
        self.epoch = epoch
        self.pairs_with_itself = config.contrast is not None and config.draws.policy is None
        self.batch_size = config.draws.batch_size
        if self.batch_size < min_anchors:
            raise InvalidInput(
                "the batch has fewer anchors than there are processes",
                given=f"batch size {self.batch_size}, {min_anchors} processes",
                expected=f"a batch size of {min_anchors} or more",
                hint="raise --batch-size, or start fewer processes",
            )
        anchors = np.arange(len(samples.positives))
        if samples.positives.shape[1]:
            anchors = anchors[samples.positives[:, 0] >= 0]
        np.random.default_rng((config.draws.seed, epoch)).shuffle(anchors)
        self.anchors: NDArray[np.int64] = anchors[: config.limit]
        complete, rest = divmod(len(self.anchors), self.batch_size)
        self.steps = complete + (rest >= min_anchors)
        if not self.steps:
            raise InvalidInput(
                "the collection has too few items with a neighbor to train on",
                given=len(self.anchors),
                expected=f"{min_anchors} or more items with a neighbor",
                hint="train on a larger collection, or ingest it with a lower threshold",
            )

    def draw(self, place: int) -> Draw:
        """Return the samples of the step at position `place` of the epoch, 0 to steps - 1.

        If no positives are sampled, each anchor is its own positive: another subgraph around it, or another view of it.
        """
        anchors = self.anchors[place * self.batch_size : (place + 1) * self.batch_size].astype(np.int32)
        positives = anchors[:, None] if self.pairs_with_itself else self.samples.positives[anchors]
        negatives = self.samples.negatives
        batch_negatives = negatives[place] if negatives.shape[1] else np.empty(0, np.int32)
        return Draw(anchors, positives, batch_negatives, self.epoch)
