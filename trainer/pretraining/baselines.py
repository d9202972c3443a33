"""The baselines of Hu et al. (2020) that are no masking (docs/training.md), by name."""

from graphkin.trainer.model.ranks import ALONE, Ranks
from graphkin.trainer.pretraining.config import Model, Task
from graphkin.trainer.pretraining.context import ContextPrediction
from graphkin.trainer.pretraining.edge_prediction import EdgePrediction
from graphkin.trainer.pretraining.infomax import Infomax
from graphkin.trainer.pretraining.objective import Objective


def baseline(model: Model, task: Task, ranks: Ranks = ALONE) -> Objective:
    """The objective of a task, with new weights by torch's seed."""
    if task.context is not None:
        return ContextPrediction(model, task.context, ranks)
    return Infomax(model, ranks) if task.name == "infomax" else EdgePrediction(model, ranks)
