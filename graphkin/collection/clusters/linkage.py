"""Clusters by single linkage."""

import math
from typing import NamedTuple

import numpy as np

from graphkin.collection.clusters.partition import Clusters
from graphkin.store.base import Generation, require_stored_threshold, rounded
from graphkin.store.components import Components, outgrowing

_GRAIN = 100  # thresholds that are chosen here are hundredths


def single_linkage(generation: Generation, threshold: float) -> Clusters:
    """The connected components of the stored hierarchy at a threshold, each named by its medoid. Raises `InvalidInput`
    below the stored one."""
    require_stored_threshold(generation, threshold)
    components = Components.at(generation.graph(), generation.forest(), rounded(threshold))
    named, label = np.unique(components.label, return_inverse=True)
    return Clusters.of(label.astype(np.int32), components.medoids(named.astype(np.int32)))


class Apart(NamedTuple):
    """threshold: the smallest, in hundredths or the stored one, at which no cluster of single linkage has more items
    than is bearable, or 1 where there is none; largest: how many the largest has at the stored one."""

    threshold: float
    largest: int


def apart(generation: Generation, most: int) -> Apart:
    """Where clusters of single linkage have at most so many items."""
    forest, stored = generation.forest(), generation.manifest.threshold
    edge, largest = outgrowing(forest.source, forest.target, generation.size, most)
    if edge == len(forest.source):
        return Apart(stored, largest)
    hundredths = math.floor(float(forest.similarity[edge]) * _GRAIN)
    while np.float32(hundredths / _GRAIN) <= forest.similarity[edge]:
        hundredths += 1
    return Apart(min(max(hundredths / _GRAIN, stored), 1.0), largest)
