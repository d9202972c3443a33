"""Learning rate schedules (paper, section 5.1, T6; method.md C)."""

from graphkin.trainer.pretraining.config import Optimization


def learning_rate(optimization: Optimization, step: int, steps: int, epoch_steps: int, batch_size: int) -> float:
    """Return the learning rate of a step, 0 to steps - 1.

    linear: 0 at step 0, the full rate after the share `warmup` of all steps, 0 again at the last step. restarting: the
    authors' code takes epoch * batch_size + (step in the epoch) for the step, and epochs * batch_size for the number of
    steps. Each epoch therefore runs through the same ramp, starting further on, and most of its steps have rate 0.

    Args:
        optimization: The schedule and its options.
        step: The step.
        steps: Steps of the run.
        epoch_steps: Steps of an epoch.
        batch_size: Anchors per batch.
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
    """Return a piecewise linear function that is 0 at step 0, 1 at `top`, and 0 from `end` on."""
    if step < top:
        return step / top
    return max(0.0, (end - step) / (end - top)) if end > top else 0.0
