"""Graph kernels of the GraKeL library.

One of them is the reference for the built-in Weisfeiler-Lehman kernel. The others have no built-in counterpart.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.parameters import parameter
from graphkin.similarity.graphs.recipe import StructureRecipe
from graphkin.similarity.graphs.structure import Structure
from graphkin.store.records import Float64, Int32

_MAX_GRAPHS = 10_000  # GraKeL computes the similarities of all pairs at once


class GrakelKernel:
    """The similarities of a set of graphs, in [0, 1], computed by a kernel of GraKeL.

    A graph without features has similarity 0 with every graph. Without edges, for example, a graph has no features of
    the shortest-path kernel.

    Args:
        structures: The graphs.
        recipe: Kernel, labels and iterations.

    Raises:
        InvalidInput: GraKeL is not installed, or there are too many graphs.
    """

    def __init__(self, structures: Sequence[Structure], recipe: StructureRecipe) -> None:
        if len(structures) > _MAX_GRAPHS:
            raise InvalidInput(
                "the kernels of GraKeL compare all graphs at once, and the files hold too many",
                given=f"{len(structures):,} graphs",
                expected=f"at most {_MAX_GRAPHS:,}",
                hint=f"use {parameter('--kernel', 'wl')}, which computes the same similarities as grakel",
            )
        self._kernel = _kernel(recipe)
        self._graphs = [_graph(structure, recipe) for structure in structures]

    def similarities(self, a: Int32, b: Int32) -> Float64:
        """Return (P,) similarities of pairs of graphs, whose indices in `structures` are `a` and `b`, (P,) each."""
        return self._matrix[a, b]

    @cached_property
    def _matrix(self) -> Float64:
        with np.errstate(invalid="ignore"):
            return np.nan_to_num(np.asarray(self._kernel.fit_transform(self._graphs), np.float64))


def _kernel(recipe: StructureRecipe) -> Any:
    try:
        from grakel import GraphletSampling, ShortestPath, VertexHistogram, WeisfeilerLehman
    except ImportError as error:
        raise InvalidInput(
            f"the kernel {recipe.kernel} needs GraKeL, which is not installed",
            given=f"kernel {recipe.kernel}",
            expected="the kernel wl, or the packages of the extra grakel",
            hint=f"use {parameter('--kernel', 'wl')}; or, with Python 3.12 or earlier, pip install '.[grakel]' in "
            "a clone of the repository",
        ) from error
    match recipe.kernel:
        case "grakel-shortest-path":
            return ShortestPath(normalize=True)
        case "grakel-graphlet":
            return GraphletSampling(normalize=True, k=3, random_state=recipe.tie_seed)
        case _ if not recipe.iterations:
            return VertexHistogram(normalize=True)
        case _:
            return WeisfeilerLehman(n_iter=recipe.iterations, base_graph_kernel=VertexHistogram, normalize=True)


def _graph(structure: Structure, recipe: StructureRecipe) -> Any:
    """Return the graph in the format of GraKeL.

    The format is a dictionary of edge weights by node and neighbor, because a list of edges cannot represent isolated
    nodes.
    """
    from grakel import Graph

    neighbors = {node: dict.fromkeys(adjacent, 1.0) for node, adjacent in enumerate(adjacency(structure))}
    return Graph(neighbors, node_labels=dict(enumerate(initial_labels(structure, recipe))))


def adjacency(structure: Structure) -> list[list[int]]:
    """Return the neighbors of each node."""
    neighbors: list[list[int]] = [[] for _ in range(structure.nodes)]
    for u, v in structure.edges.tolist():
        neighbors[u].append(v)
        neighbors[v].append(u)
    return neighbors


def initial_labels(structure: Structure, recipe: StructureRecipe) -> Sequence[int] | Sequence[str]:
    """Return the initial label of each node, as the recipe chooses it."""
    match recipe.labels:
        case "degree":
            return [len(adjacent) for adjacent in adjacency(structure)]
        case "uniform":
            return [0] * structure.nodes
        case "index":
            return range(structure.nodes)
        case "given" | "log-degree":
            return structure.labels or ()
        case "centre":
            return [int(node == structure.center) for node in range(structure.nodes)]
        case _:
            raise ValueError(f"no such labels: {recipe.labels}")
