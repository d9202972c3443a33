"""Sampling without replacement as a race.

Each candidate of weight w arrives at the time E/w, where E is exponentially distributed. The first k to arrive win. In
order of arrival, they are distributed as successive samples proportional to w among the remaining candidates
(Efraimidis and Spirakis, "Weighted random sampling with a reservoir", 2006). The order in which candidates
enter does not matter.
"""

import math

import numpy as np

from graphkin.store.kernels import kernel
from graphkin.store.records import Float64, Int32
from graphkin.store.sampling.philox import RACE, uniforms


@kernel
def arrival_time(key: np.uint64, subject: int, candidate: int, weight: float) -> float:
    """Return the arrival time of a candidate: exponential with rate `weight`, keyed by (subject, candidate)."""
    uniform, _ = uniforms(key, subject, candidate, 0, RACE)
    return -math.log1p(-uniform) / weight


@kernel
def insert_arrival(time: float, candidate: int, times: Float64, winners: Int32, entered: int) -> int:
    """Insert a candidate into the list of the first k arrivals and return the new length of the list.

    `times` and `winners`, (k,) each, hold the list: `entered` candidates, sorted by arrival time. If the list is full,
    the latest candidate is dropped.
    """
    if entered == len(times):
        if time >= times[entered - 1]:
            return entered
        entered -= 1
    place = entered
    while place > 0 and times[place - 1] > time:
        times[place], winners[place] = times[place - 1], winners[place - 1]
        place -= 1
    times[place], winners[place] = time, candidate
    return entered + 1
