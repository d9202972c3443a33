"""The exact join of the nodes of a random big graph: time by number of nodes, and memory.

    python -m benchmarks.node_join 10000 30000 100000 [--tasks 40]

The degrees follow a power law with the exponent 2.5, from 2 to the square root of the number of nodes. If there are
more than --tasks tasks, evenly spaced ones run, and the time of all is extrapolated. Seconds are processor time.
"""

import argparse
import resource
import time

import numpy as np
import pyarrow as pa

from graphkin.similarity.graphs.join import SubtreeJoin
from graphkin.similarity.graphs.wl import Features
from graphkin.similarity.nodes.describer import node_structures
from graphkin.similarity.nodes.network import Network
from graphkin.similarity.nodes.recipe import resolve_nodes

_BLOCK = 1024  # subgraphs whose features are computed together


def random_network(nodes: int) -> Network:
    """Return a random graph with degrees from a power law: random pairs of the ends of edges."""
    random = np.random.default_rng(nodes)
    degree = np.minimum(2 * (1 - random.random(nodes)) ** (-1 / 1.5), nodes**0.5).astype(np.int64)
    ends = random.permutation(np.repeat(np.arange(nodes, dtype=np.int32), degree))
    source, target = ends[: len(ends) // 2 * 2].reshape(-1, 2).T
    return Network.from_edges(pa.array([str(node) for node in range(nodes)]), source, target)


def measure(nodes: int, tasks: int) -> str:
    """Return one line: nodes, seconds of each part, steps and pairs of the join, and peak memory."""
    begin = time.process_time()
    network, recipe = random_network(nodes), resolve_nodes()
    parts, block = [], []
    for _, structure in node_structures(network, recipe):
        block.append(structure)
        if len(block) == _BLOCK:
            parts.append(Features.from_structures(block, recipe))
            block.clear()
    features = Features.concatenate([*parts, *([Features.from_structures(block, recipe)] if block else [])])
    described = time.process_time() - begin
    begin = time.process_time()
    join = SubtreeJoin(features, recipe.threshold)
    indexed = time.process_time() - begin
    join.task_pairs(range(1))  # compiles
    begin = time.process_time()
    selection = join.tasks[:: max(1, len(join.tasks) // tasks)]
    pairs = sum(len(join.task_pairs(task)) for task in selection)
    scale = len(join.tasks) / len(selection)
    compared = (time.process_time() - begin) * scale
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return (
        f"{nodes:>9,} nodes {len(network.links.indices) // 2:>10,} links: {described:.0f} s subgraphs, {indexed:.1f} s "
        f"index, {compared:.0f} s join ({len(selection)} of {len(join.tasks)} tasks), {join.steps[0]:.3g} and "
        f"{join.steps[1]:.3g} products, {pairs * scale:.3g} pairs, {peak:,} MiB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nodes", type=int, nargs="+")
    parser.add_argument("--tasks", type=int, default=40)
    options = parser.parse_args()
    for nodes in options.nodes:
        print(measure(nodes, options.tasks), flush=True)


if __name__ == "__main__":
    main()
