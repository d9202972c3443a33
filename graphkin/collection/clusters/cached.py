"""Clusters of a generation, computed once on a machine for each method and threshold."""

from importlib.metadata import version

from rdkit import rdBase

from graphkin.collection.clusters.butina import butina_clusters
from graphkin.collection.clusters.linkage import LinkageThreshold, bounding_threshold, single_linkage
from graphkin.collection.clusters.partition import Clusters
from graphkin.collection.clusters.scaffolds import scaffold_clusters
from graphkin.protocol.errors import Conflict, require
from graphkin.protocol.values import ClusterMethod
from graphkin.similarity.kind import Advance
from graphkin.similarity.stored_index import load_or_compute_index
from graphkin.store.base import Generation, require_stored_threshold

_LARGEST_SHARE = 0.1  # of all items, in the largest cluster at the default threshold of single linkage
_LARGEST_SIZE = 10  # that this cluster may have in a small collection
_BUTINA_THRESHOLD = 0.7


def resolve_threshold(
    generation: Generation, method: ClusterMethod, threshold: float | None
) -> tuple[float | None, int | None]:
    """Return the threshold of a method, which has a default.

    Scaffolds have no threshold. The default of butina is 0.7. The default of single linkage is the smallest threshold
    at which the largest cluster has at most a tenth of all items, or 10 of them.

    Returns:
        The threshold; and for the default of single linkage the size of the largest cluster at the stored threshold,
        which is the reason for the default, otherwise None.

    Raises:
        InvalidInput: The threshold is not in (0, 1]; of single linkage also if it is below the stored threshold.
        Conflict: Scaffolds of items that are not molecules.
    """
    match method:
        case "scaffold":
            if generation.manifest.structure != "smiles":
                raise Conflict("these items have no scaffolds", given=generation.manifest.kind, expected="molecules")
            return None, None
        case "single":
            require_stored_threshold(generation, threshold)
            return _default_linkage(generation) if threshold is None else (threshold, None)
        case _:
            resolved = _BUTINA_THRESHOLD if threshold is None else threshold
            require(0 < resolved <= 1, "threshold", resolved, "a similarity above 0 and at most 1")
            return resolved, None


def _default_linkage(generation: Generation) -> LinkageThreshold:
    """Return the default threshold of single linkage, and the size of the cluster that it avoids."""
    return bounding_threshold(generation, max(int(_LARGEST_SHARE * generation.size), _LARGEST_SIZE))


def cached_clusters(
    generation: Generation,
    method: ClusterMethod,
    threshold: float | None,
    threads: int,
    advance: Advance = lambda _: None,
    most_pairs: int | None = None,
) -> Clusters:
    """Return all items in clusters from the user's cache; compute them if they are missing.

    Args:
        generation: the generation.
        method: the method.
        threshold: from `resolve_threshold`.
        threads: threads of a join, processes of scaffolds.
        advance: is called with the number of items that are done.
        most_pairs: the most similar pairs of butina; None means any number.

    Raises:
        InvalidInput: There are more than `most_pairs` similar pairs.
    """

    def make() -> Clusters:
        match method:
            case "single":
                return single_linkage(generation, threshold or 0.0)
            case "scaffold":
                return scaffold_clusters(generation, threads, advance)
            case _:
                return butina_clusters(generation, threshold or 0.0, threads, advance, most_pairs)

    made_by = f"clusters {method} {threshold} {rdBase.rdkitVersion} {version('graphkin')}"
    return load_or_compute_index(
        generation, made_by, Clusters, lambda cached: cached.is_partition_of(generation.size), make
    )
