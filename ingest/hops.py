"""How similar items are that lie so many edges apart (the paper's figure 4)."""

from dataclasses import dataclass

import numpy as np

from ingest.kind import Search
from store import traverse
from store.base import Generation, rounded
from store.records import Float64

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
    found: list[list[Float64]] = [[] for _ in range(max_hops)]
    graph = generation.graph()
    for target in random.choice(generation.size, min(targets, generation.size), replace=False).tolist():
        hops = traverse.hops(graph, target, max_hops, rounded(min_similarity))
        if not (hops > 0).any():
            continue
        similarity = search.similarities(target)
        for hop in range(1, max_hops + 1):
            there = np.flatnonzero(hops == hop)
            found[hop - 1].append(similarity[random.permutation(there)[:_EACH]])
    joined = [np.concatenate([np.empty(0), *parts]) for parts in found]
    return [
        Hop(hop, len(values), float(values.mean()), float(values.std()))
        for hop, values in enumerate(joined, 1)
        if len(values)
    ]
