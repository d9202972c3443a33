"""The stability of the edges between nodes: how many remain with fewer links, or with another seed."""

from dataclasses import replace
from typing import Literal

import numpy as np
import pyarrow as pa

from graphkin.ingest.top_k import TopKSelection
from graphkin.protocol.manifest import Stability
from graphkin.similarity.graphs.wl import Features
from graphkin.similarity.join import Pairs
from graphkin.similarity.nodes.describer import node_structures
from graphkin.similarity.nodes.descriptors import NodeDescriptors
from graphkin.similarity.nodes.network import Network
from graphkin.store.records import Int32

SAMPLE = 5_000
"""Number of nodes that are compared. All nodes of a smaller collection are compared."""

LOST_LINKS = 0.02
"""Share of the links that are left out."""


def measure_stability(descriptors: NodeDescriptors, threads: int) -> Stability | None:
    """Measure how many edges remain after a change.

    Subgraphs by PageRank are computed again without a random 2 % of the links. Subgraphs by random walks are computed
    with this seed and the next one, because they differ more between seeds than the lost links would change them.

    In a collection of more than `SAMPLE` nodes, the edges are those among a random sample of the nodes. Each node of
    the sample keeps `top_k` neighbors times the share of the sample in all nodes, rounded, and at least one.

    Args:
        descriptors: Descriptors of the nodes.
        threads: Number of threads.

    Returns:
        The result, or None if there are no edges, or if nodes are compared by distance.
    """
    recipe = descriptors.recipe
    if recipe.kernel != "wl":
        return None
    random, links, size = np.random.default_rng(0), descriptors.links, len(descriptors)
    sample = np.sort(random.choice(size, min(SAMPLE, size), replace=False)).astype(np.int32)
    names = pa.array([f"{hash:016x}" for hash in descriptors.tie.tolist()])
    owner, neighbor = np.repeat(np.arange(size, dtype=np.int32), np.diff(links.indptr)), links.indices
    source, target = owner[owner < neighbor], neighbor[owner < neighbor]
    network = Network.from_edges(names, source, target)
    before = _edges(descriptors, network, sample, threads)
    if recipe.subgraph == "walks":
        next_recipe = recipe.model_copy(update={"seed": recipe.seed + 1})
        after = _edges(replace(descriptors, recipe=next_recipe), network, sample, threads)
        reference = before | after
    else:
        is_kept = random.random(len(source)) >= LOST_LINKS
        after = _edges(descriptors, Network.from_edges(names, source[is_kept], target[is_kept]), sample, threads)
        reference = before
    if not reference:
        return None
    change: Literal["seed", "links"] = "seed" if recipe.subgraph == "walks" else "links"
    return Stability(change=change, share=len(before & after) / len(reference), nodes=len(sample))


def _edges(descriptors: NodeDescriptors, network: Network, sample: Int32, threads: int) -> set[int]:
    """Return the edges among the n nodes of a sample. The edge of positions i and j is the number i · n + j."""
    recipe = descriptors.recipe
    structures = [structure for _, structure in node_structures(network, recipe, sample)]
    part = NodeDescriptors(
        recipe=recipe,
        features=Features.from_structures(structures, recipe),
        nodes=np.array([structure.nodes for structure in structures], np.int32),
        edges=np.array([len(structure.edges) for structure in structures], np.int32),
        tie=descriptors.tie[sample],
        structures=(),
        links=descriptors.links,
    )
    pairs = part.pairs(0, threads, lambda _: None)
    if recipe.top_k:
        selection = TopKSelection(part.tie, max(1, round(recipe.top_k * len(sample) / len(descriptors))))
        for block in pairs:
            selection.add(block)
        kept, _ = selection.finish()
    else:
        kept = Pairs.concatenate([*pairs])
    return {*(kept.left.astype(np.int64) * len(sample) + kept.right).tolist()}
