"""Clusters by single linkage."""

import numpy as np

from graphkin.similarity.clusters.partition import Clusters
from graphkin.store.base import Generation, require_stored_threshold, rounded
from graphkin.store.components import Components


def single_linkage(generation: Generation, threshold: float) -> Clusters:
    """The connected components of the stored hierarchy at a threshold, each named by its medoid. Raises `InvalidInput`
    below the stored one."""
    require_stored_threshold(generation, threshold)
    components = Components.at(generation.graph(), generation.forest(), rounded(threshold))
    named, label = np.unique(components.label, return_inverse=True)
    return Clusters.of(label.astype(np.int32), components.medoids(named.astype(np.int32)))
