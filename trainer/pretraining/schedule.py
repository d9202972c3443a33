"""The learning rate of every step (docs/training.md)."""

from graphkin.trainer.pretraining.config import Optimization


def learning_rate(optimization: Optimization, step: int, steps: int, epoch_steps: int, batch_size: int) -> float:
    """The rate of `step`, 0 to steps - 1, where an epoch has `epoch_steps` steps.

    linear: 0 at step 0, the full rate after the share `warmup` of all steps, 0 again at the last.
    restarting: the authors' code takes epoch * batch_size + (step in the epoch) for the step and
    epochs * batch_size for the number of steps; so each epoch runs through the same ramp from further on, and most of
    its steps have rate 0.
    """
    rate = optimization.learning_rate
    if optimization.schedule == "constant":
        return rate
    if optimization.schedule == "linear":
        return rate * _ramp(step, _top(optimization, steps), steps - 1)
    epoch, place = divmod(step, epoch_steps)
    end = -(-steps // epoch_steps) * batch_size
    return rate * _ramp(epoch * batch_size + place, _top(optimization, end), end)


def _top(optimization: Optimization, steps: int) -> int:
    return max(1, round(optimization.warmup * steps)) if optimization.warmup else 0


def _ramp(step: int, top: int, end: int) -> float:
    """0 at step 0, 1 at `top`, 0 from `end` on, straight in between."""
    if step < top:
        return step / top
    return max(0.0, (end - step) / (end - top)) if end > top else 0.0
