"""Sampling without replacement as a race: the k smallest of E/w, E exponential, in order of arrival.

The winners are distributed as successive draws proportional to w among those that are left (Efraimidis and
Spirakis, "Weighted random sampling with a reservoir", 2006), whatever the order in which candidates enter.
"""

import math

import numpy as np

from graphkin.store.kernels import kernel
from graphkin.store.records import Float64, Int32
from graphkin.store.sampling.philox import RACE, uniforms


@kernel
def arrival(key: np.uint64, subject: int, candidate: int, weight: float) -> float:
    """When a candidate arrives: exponential with rate `weight`, keyed by (subject, candidate)."""
    uniform, _ = uniforms(key, subject, candidate, 0, RACE)
    return -math.log1p(-uniform) / weight


@kernel
def enter(time: float, candidate: int, times: Float64, winners: Int32, entered: int) -> int:
    """Let a candidate into the first places, kept in order of arrival; returns how many places are taken now.

    times and winners (k,) hold `entered` arrivals; the last place falls out when all k are taken.
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
