"""Sampling without replacement as a race: the k smallest values of E/w with E exponential, in order of arrival.

The winners are distributed as successive samples proportional to w among the remaining candidates (Efraimidis and
Spirakis, "Weighted random sampling with a reservoir", 2006). The order in which candidates enter does not matter.
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
    """Insert a candidate into the first places, which are sorted by arrival time. Returns the number of taken places.

    `times` and `winners`, (k,) each, hold `entered` arrivals. If all k places are taken, the last one is dropped.
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
