"""The baselines of Hu et al. (2020) that do not mask, by name (method.md E5; docs/reference/training.md)."""

from graphkin.trainer.model.ranks import ALONE, Ranks
from graphkin.trainer.pretraining.config import Model, Task
from graphkin.trainer.pretraining.context import ContextPrediction
from graphkin.trainer.pretraining.edge_prediction import EdgePrediction
from graphkin.trainer.pretraining.infomax import Infomax
from graphkin.trainer.pretraining.objective import Objective


def baseline(model: Model, task: Task, ranks: Ranks = ALONE) -> Objective:
    """Return the objective of a task, with new weights from torch's seed."""
    if task.context is not None:
        return ContextPrediction(model, task.context, ranks)
    return Infomax(model, ranks) if task.name == "infomax" else EdgePrediction(model, ranks)
