"""Learning rate schedules (paper, section 5.1, T6; method.md C)."""

from graphkin.trainer.pretraining.config import Optimization


def learning_rate(optimization: Optimization, step: int, steps: int) -> float:
    """Return the learning rate of a step, 0 to steps - 1.

    linear: 0 at step 0, the full rate after the share `warmup` of all steps, 0 again at the last step.

    Args:
        optimization: The schedule and its options.
        step: The step.
        steps: Steps of the run.
    """
    if optimization.schedule == "constant":
        return optimization.learning_rate
    top = max(1, round(optimization.warmup * steps)) if optimization.warmup else 0
    return optimization.learning_rate * _ramp(step, top, steps - 1)


def _ramp(step: int, top: int, end: int) -> float:
    """Return a piecewise linear function that is 0 at step 0, 1 at `top`, and 0 from `end` on."""
    if step < top:
        return step / top
    return max(0.0, (end - step) / (end - top)) if end > top else 0.0
