"""Clusters of a generation, cached on disk for each method and threshold."""

from importlib.metadata import version

from rdkit import rdBase

from graphkin.collection.clusters.butina import butina_clusters
from graphkin.collection.clusters.linkage import LinkageThreshold, bounding_threshold, single_linkage
from graphkin.collection.clusters.partition import Clusters
from graphkin.collection.clusters.scaffolds import scaffold_clusters
from graphkin.collection.structures import require_molecules
from graphkin.protocol.errors import require
from graphkin.protocol.values import BUTINA_THRESHOLD, ClusterMethod
from graphkin.similarity.kind import Advance
from graphkin.similarity.stored_index import load_or_compute_index
from graphkin.store.base import Generation, require_stored_threshold

_LARGEST_SHARE = 0.1  # share of all items in the largest cluster at the default threshold of single linkage, at most
_LARGEST_SIZE = 10  # items that this cluster may have in any collection


def resolve_threshold(
    generation: Generation, method: ClusterMethod, threshold: float | None
) -> tuple[float | None, int | None]:
    """Validate the threshold of a clustering method, or return the default.

    Scaffolds have no threshold. The default of butina is `BUTINA_THRESHOLD`. The default of single linkage is the
    lowest threshold at which the largest cluster has at most a tenth of all items, or at most 10 items if that is more.

    Returns:
        The threshold, and the size of the largest cluster at the stored threshold. This size is the reason for the
        default of single linkage, and None for an explicit threshold or another method.

    Raises:
        InvalidInput: The threshold is not in (0, 1], or for single linkage is below the stored threshold.
        Conflict: The method is scaffolds, and the items are not molecules.
    """
    match method:
        case "scaffold":
            require_molecules(generation.manifest, "scaffolds", hint="choose another method: butina or single")
            return None, None
        case "single":
            require_stored_threshold(generation, threshold)
            return _default_linkage(generation) if threshold is None else (threshold, None)
        case _:
            resolved = BUTINA_THRESHOLD if threshold is None else threshold
            require(
                0 < resolved <= 1,
                "threshold",
                resolved,
                "a similarity above 0 and at most 1",
                hint=f"choose a threshold such as {BUTINA_THRESHOLD:g}",
            )
            return resolved, None


def _default_linkage(generation: Generation) -> LinkageThreshold:
    """Return the default threshold of single linkage, and the size of the largest cluster at the stored threshold."""
    return bounding_threshold(generation, max(int(_LARGEST_SHARE * generation.size), _LARGEST_SIZE))


def cached_clusters(
    generation: Generation,
    method: ClusterMethod,
    threshold: float | None,
    threads: int,
    advance: Advance = lambda _: None,
    max_pairs: int | None = None,
) -> Clusters:
    """Return the clusters from the cache of the user, or compute them.

    Args:
        generation: The generation.
        method: The clustering method.
        threshold: The threshold that `resolve_threshold` returned.
        threads: The number of threads of the join for butina, or of processes for scaffolds.
        advance: A function that is called with the number of items that have been processed.
        max_pairs: The largest accepted number of similar pairs for butina. None means any number.

    Raises:
        InvalidInput: There are more than `max_pairs` similar pairs.
    """

    def compute() -> Clusters:
        match method:
            case "single":
                return single_linkage(generation, threshold or 0.0)
            case "scaffold":
                return scaffold_clusters(generation, threads, advance)
            case _:
                return butina_clusters(generation, threshold or 0.0, threads, advance, max_pairs)

    key = f"clusters {method} {threshold} {rdBase.rdkitVersion} {version('graphkin')}"
    return load_or_compute_index(
        generation, key, Clusters, lambda cached: cached.is_partition_of(generation.size), compute
    )
