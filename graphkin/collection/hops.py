"""How similar items are that lie so many edges apart (the paper's figure 4)."""

from dataclasses import dataclass

import numpy as np

from graphkin.similarity.kind import Search
from graphkin.store import traverse
from graphkin.store.base import Generation, rounded
from graphkin.store.records import Float64

_EACH = 50  # items of a hop that are compared with a target
_TOGETHER = 64  # targets whose layers are found at a time


@dataclass(frozen=True)
class Hop:
    """Pairs that are exactly `hop` edges apart: how many were compared, mean and standard deviation of their
    similarity."""

    hop: int
    pairs: int
    mean: float
    deviation: float


def by_hop(
    generation: Generation, search: Search, min_similarity: float | None, targets: int, max_hops: int, seed: int = 0
) -> list[Hop]:
    """Similarities of random targets to at most 50 random items of each hop, along edges ≥ min_similarity.

    Hops are exact: the fewest edges between two items. Those that nothing lies at are left out.
    """
    random = np.random.default_rng(seed)
    graph = generation.graph()
    chosen = random.choice(generation.size, min(targets, generation.size), replace=False).astype(np.int32)
    similarities: list[list[Float64]] = [[] for _ in range(max_hops)]
    for start in range(0, len(chosen), _TOGETHER):
        together = chosen[start : start + _TOGETHER]
        layers = traverse.layers(graph, together, max_hops, rounded(min_similarity))
        for bit, target in enumerate(together.tolist()):
            for layer, found in zip(layers, similarities, strict=True):
                there = np.flatnonzero(layer >> np.uint64(bit) & np.uint64(1))
                if len(there):
                    drawn = random.choice(there, min(_EACH, len(there)), replace=False)
                    found.append(search.similarities(target, drawn))
    return [
        Hop(hop, len(values), float(values.mean()), float(values.std()))
        for hop, found in enumerate(similarities, 1)
        if len(values := np.concatenate([np.empty(0), *found]))
    ]
