"""The similarity of pairs of items by their distance in the similarity graph (figure 4 of the paper)."""

from dataclasses import dataclass

import numpy as np

from graphkin.similarity.kind import Search
from graphkin.store import traverse
from graphkin.store.base import Generation, as_float32
from graphkin.store.records import Float64

_SAMPLE = 50  # items at one distance that are compared with a target, at most
_BLOCK = 64  # targets per traversal: each is one bit of a uint64


@dataclass(frozen=True)
class Hop:
    """Pairs that are exactly `hop` edges apart.

    Attributes:
        hop: The distance, in edges.
        pairs: The number of compared pairs.
        mean: The mean of their similarities.
        deviation: The standard deviation of their similarities.
    """

    hop: int
    pairs: int
    mean: float
    deviation: float


def similarity_by_hop(
    generation: Generation, search: Search, min_similarity: float | None, targets: int, max_hops: int, seed: int = 0
) -> list[Hop]:
    """Compare random items, the targets, with at most 50 random items at each distance from them.

    The distance of two items is the number of edges of a shortest path between them. Distances without items are left
    out.

    Args:
        generation: The generation.
        search: The search index of the generation.
        min_similarity: The lowest similarity of the edges of a path. By default the stored threshold.
        targets: The number of random targets.
        max_hops: The largest distance.
        seed: The seed of the random numbers.
    """
    random = np.random.default_rng(seed)
    graph = generation.graph()
    sample = random.choice(generation.size, min(targets, generation.size), replace=False).astype(np.int32)
    similarities: list[list[Float64]] = [[] for _ in range(max_hops)]
    for start in range(0, len(sample), _BLOCK):
        block = sample[start : start + _BLOCK]
        layers = traverse.layers(graph, block, max_hops, as_float32(min_similarity))
        for bit, target in enumerate(block.tolist()):
            for layer, hop_similarities in zip(layers, similarities, strict=True):
                members = np.flatnonzero(layer >> np.uint64(bit) & np.uint64(1))
                if len(members):
                    others = random.choice(members, min(_SAMPLE, len(members)), replace=False)
                    hop_similarities.append(search.similarities(target, others))
    return [
        Hop(hop, len(values), float(values.mean()), float(values.std()))
        for hop, hop_similarities in enumerate(similarities, 1)
        if len(values := np.concatenate([np.empty(0), *hop_similarities]))
    ]
