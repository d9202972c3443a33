"""Sampling without replacement as a race.

Each candidate of weight w arrives at the time E/w, where E is exponentially distributed. The first k to arrive win. In
order of arrival, the winners are distributed as successive samples without replacement, each proportional to w
(Efraimidis and Spirakis, "Weighted random sampling with a reservoir", 2006). The order in which the candidates are
processed does not matter.
"""

import math

import numpy as np

from graphkin.store.kernels import kernel
from graphkin.store.records import Float64, Int32
from graphkin.store.sampling.philox import RACE, uniforms


@kernel
def arrival_time(key: np.uint64, subject: int, candidate: int, weight: float) -> float:
    """Return the arrival time of a candidate: exponential with rate `weight`, keyed by (subject, candidate).

    The subject is the anchor or the number of the batch that the candidates are sampled for.
    """
    uniform, _ = uniforms(key, subject, candidate, 0, RACE)
    return -math.log1p(-uniform) / weight


@kernel
def insert_arrival(time: float, candidate: int, times: Float64, winners: Int32, arrival_count: int) -> int:
    """Insert a candidate into the list of the first k arrivals and return the new length of the list.

    `times` and `winners`, (k,) each, hold the list: `arrival_count` candidates, sorted by arrival time. If the list is
    full, the candidate with the latest arrival time is dropped.
    """
    if arrival_count == len(times):
        if time >= times[arrival_count - 1]:
            return arrival_count
        arrival_count -= 1
    position = arrival_count
    while position > 0 and times[position - 1] > time:
        times[position], winners[position] = times[position - 1], winners[position - 1]
        position -= 1
    times[position], winners[position] = time, candidate
    return arrival_count + 1
