"""The steps of a run that are measured, and those that metrics.jsonl records."""

_MEASURED_EVERY = 50  # steps
_ALL_RECORDED = 10_000  # steps


def is_measured(step: int, steps: int) -> bool:
    """Return whether a step, from 1 to `steps`, measures alignment and uniformity and is passed to loggers.

    These are the first step, every 50th step after it, and the last one. Measuring is too slow for every step, and a
    logger such as TensorBoard keeps a thousand points per curve.
    """
    return (step - 1) % _MEASURED_EVERY == 0 or step == steps


def is_recorded(step: int, steps: int) -> bool:
    """Return whether metrics.jsonl has a line for a step, from 1 to `steps`."""
    return step <= _ALL_RECORDED or is_measured(step, steps)
