"""How similar items are that lie so many edges apart (the paper's figure 4)."""

from dataclasses import dataclass

import numpy as np

from graphkin.similarity.kind import Search
from graphkin.store import traverse
from graphkin.store.base import Generation, rounded

_EACH = 50  # items of a hop that are compared with a target


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
    graph, hops = generation.graph(), range(1, max_hops + 1)
    distances, similarities = [np.empty(0, np.int32)], [np.empty(0)]
    for target in random.choice(generation.size, min(targets, generation.size), replace=False).tolist():
        distance = traverse.hops(graph, target, max_hops, rounded(min_similarity))
        layers = (np.flatnonzero(distance == hop) for hop in hops)
        drawn = np.concatenate([random.choice(layer, min(_EACH, len(layer)), replace=False) for layer in layers])
        if len(drawn):
            distances.append(distance[drawn])
            similarities.append(search.similarities(target, drawn))
    distance, similarity = np.concatenate(distances), np.concatenate(similarities)
    return [
        Hop(hop, len(values), float(values.mean()), float(values.std()))
        for hop in hops
        if len(values := similarity[distance == hop])
    ]
