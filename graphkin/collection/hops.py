"""The similarity of items by the number of edges between them (the paper's figure 4)."""

from dataclasses import dataclass

import numpy as np

from graphkin.similarity.kind import Search
from graphkin.store import traverse
from graphkin.store.base import Generation, as_float32
from graphkin.store.records import Float64

_SAMPLE = 50  # items of a hop that are compared with a target
_BLOCK = 64  # targets that are traversed at once: one bit each


@dataclass(frozen=True)
class Hop:
    """Pairs that are exactly `hop` edges apart.

    Attributes:
        hop: the number of edges.
        pairs: the number of pairs that were compared.
        mean: the mean of their similarity.
        deviation: its standard deviation.
    """

    hop: int
    pairs: int
    mean: float
    deviation: float


def similarity_by_hop(
    generation: Generation, search: Search, min_similarity: float | None, targets: int, max_hops: int, seed: int = 0
) -> list[Hop]:
    """Compare random targets with at most 50 random items at each distance, along edges ≥ `min_similarity`.

    A distance is exact: the fewest edges between two items. Distances without items are left out.

    Args:
        generation: the generation.
        search: its search index.
        min_similarity: the smallest similarity of edges; by default the stored threshold.
        targets: the number of random targets.
        max_hops: the largest distance.
        seed: of the random numbers.
    """
    random = np.random.default_rng(seed)
    graph = generation.graph()
    sample = random.choice(generation.size, min(targets, generation.size), replace=False).astype(np.int32)
    similarities: list[list[Float64]] = [[] for _ in range(max_hops)]
    for start in range(0, len(sample), _BLOCK):
        block = sample[start : start + _BLOCK]
        layers = traverse.layers(graph, block, max_hops, as_float32(min_similarity))
        for bit, target in enumerate(block.tolist()):
            for layer, of_hop in zip(layers, similarities, strict=True):
                members = np.flatnonzero(layer >> np.uint64(bit) & np.uint64(1))
                if len(members):
                    others = random.choice(members, min(_SAMPLE, len(members)), replace=False)
                    of_hop.append(search.similarities(target, others))
    return [
        Hop(hop, len(values), float(values.mean()), float(values.std()))
        for hop, of_hop in enumerate(similarities, 1)
        if len(values := np.concatenate([np.empty(0), *of_hop]))
    ]
