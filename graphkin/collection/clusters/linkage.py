"""Single-linkage clustering."""

import math
from typing import NamedTuple

import numpy as np

from graphkin.collection.clusters.partition import Clusters
from graphkin.store.base import Generation, as_float32, require_stored_threshold
from graphkin.store.components import Components, find_outgrowing_edge

_GRAIN = 100  # thresholds are multiples of 1 / _GRAIN


def single_linkage(generation: Generation, threshold: float) -> Clusters:
    """Return the connected components of the similarity graph at a threshold as clusters.

    The center of a cluster is its medoid.

    Raises:
        InvalidInput: The threshold is below the stored threshold.
    """
    require_stored_threshold(generation, threshold)
    components = Components.from_forest(generation.graph(), generation.forest(), as_float32(threshold))
    ids, label = np.unique(components.label, return_inverse=True)
    return Clusters.from_labels(label.astype(np.int32), components.medoids(ids.astype(np.int32)))


class LinkageThreshold(NamedTuple):
    """A threshold of single linkage that bounds the largest cluster.

    Attributes:
        threshold: The lowest such threshold: the stored threshold or a larger multiple of 0.01. 1 if there is none.
        largest: The size of the largest cluster at the stored threshold.
    """

    threshold: float
    largest: int


def bounding_threshold(generation: Generation, max_size: int) -> LinkageThreshold:
    """Return the lowest threshold at which no cluster of single linkage has more than `max_size` items."""
    forest, stored = generation.forest(), generation.manifest.threshold
    edge, largest = find_outgrowing_edge(forest.source, forest.target, generation.size, max_size)
    if edge == len(forest.source):
        return LinkageThreshold(stored, largest)
    hundredths = math.floor(float(forest.similarity[edge]) * _GRAIN)
    while np.float32(hundredths / _GRAIN) <= forest.similarity[edge]:
        hundredths += 1
    return LinkageThreshold(min(max(hundredths / _GRAIN, stored), 1.0), largest)
