"""Clusters of a generation, computed once on a machine by each method and threshold."""

from importlib.metadata import version

from rdkit import rdBase

from graphkin.collection.clusters.butina import butina
from graphkin.collection.clusters.linkage import Apart, apart, single_linkage
from graphkin.collection.clusters.partition import Clusters
from graphkin.collection.clusters.scaffolds import by_scaffold
from graphkin.protocol.errors import Conflict, require
from graphkin.protocol.values import ClusterMethod
from graphkin.similarity.kind import Advance
from graphkin.similarity.stored_index import cached_index
from graphkin.store.base import Generation, require_stored_threshold

_SHARE = 0.1  # of all items that the largest cluster holds at most where its threshold is chosen here
_FEW = 10  # items that it may hold of however small a collection
_USUAL = 0.7  # of Taylor and Butina's


def threshold_of(generation: Generation, method: ClusterMethod, threshold: float | None) -> float | None:
    """The one that is meant: of scaffolds none; by default 0.7 of butina, and of single linkage the smallest at which
    the largest cluster holds a tenth of the items at most, or 10 of them.

    Raises `InvalidInput` for no similarity, and of single linkage for one below the stored threshold, and `Conflict`
    for scaffolds of items that are no molecules.
    """
    match method:
        case "scaffold":
            if generation.manifest.structure != "smiles":
                raise Conflict("these items have no scaffolds", given=generation.manifest.kind, expected="molecules")
            return None
        case "single":
            require_stored_threshold(generation, threshold)
            return chosen(generation).threshold if threshold is None else threshold
        case _:
            meant = _USUAL if threshold is None else threshold
            require(0 < meant <= 1, "threshold", meant, "a similarity above 0 and at most 1")
            return meant


def chosen(generation: Generation) -> Apart:
    """The threshold that `threshold_of` gives for single linkage, and why."""
    return apart(generation, max(int(_SHARE * generation.size), _FEW))


def clusters(
    generation: Generation,
    method: ClusterMethod,
    threshold: float | None,
    threads: int,
    advance: Advance = lambda _: None,
    most_pairs: int | None = None,
) -> Clusters:
    """The clusters of all items by a method, at a threshold that `threshold_of` gave; kept in the user's cache.

    `threads`: also processes. `advance` is told of items that are done. Raises as the methods do; `InvalidInput` for
    Taylor and Butina's where more pairs than `most_pairs` are similar.
    """

    def make() -> Clusters:
        match method:
            case "single":
                return single_linkage(generation, threshold or 0.0)
            case "scaffold":
                return by_scaffold(generation, threads, advance)
            case _:
                return butina(generation, threshold or 0.0, threads, advance, most_pairs)

    made_by = f"clusters {method} {threshold} {rdBase.rdkitVersion} {version('graphkin')}"
    return cached_index(generation, made_by, Clusters, lambda found: found.fit(generation.size), make)
