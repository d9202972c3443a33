"""Sums over neighbors and over graphs, gathered row by row: no row per edge in memory, no atomic operations."""

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor
from torch.autograd.function import once_differentiable


def neighbor_sum(values: Tensor, source: Tensor, pointer: Tensor) -> Tensor:
    """Return the sum of each node's neighbors, (N, D): row v sums values[source[e]] over its edges e.

    The graph must be undirected, with both directions of every edge. It then equals its transpose, so the gradient is
    the same sum.

    Args:
        values: (N, D) One row per node.
        source: (E,) The node that each edge leaves, sorted by target.
        pointer: (N + 1,) Node v has the edges pointer[v] to pointer[v + 1] - 1.
    """
    return _NeighborSum.apply(values, source, pointer)


def graph_sum(values: Tensor, graph: Tensor, pointer: Tensor) -> Tensor:
    """Return the sum of each graph's rows, (B, D).

    Args:
        values: (N, D) Rows, graph by graph.
        graph: (N,) The graph of each row.
        pointer: (B + 1,) Graph g has the rows pointer[g] to pointer[g + 1] - 1.
    """
    return _GraphSum.apply(values, graph, pointer)


def row_sum(values: Tensor, rows: Tensor, pointer: Tensor, weights: Tensor | None = None) -> Tensor:
    """Return weighted sums of selected rows.

    Row i is the sum of weights[e] * values[rows[e]] for e from pointer[i] to pointer[i + 1] - 1. Without `weights` all
    weights are 1.
    """
    return F.embedding_bag(rows, values, pointer, mode="sum", per_sample_weights=weights, include_last_offset=True)


class _NeighborSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, source: Tensor, pointer: Tensor) -> Tensor:
        ctx.save_for_backward(source, pointer)
        return row_sum(values, source, pointer)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        source, pointer = ctx.saved_tensors
        return row_sum(gradient.contiguous(), source, pointer), None, None


class _GraphSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, graph: Tensor, pointer: Tensor) -> Tensor:
        ctx.save_for_backward(graph)
        return row_sum(values, torch.arange(len(values), device=values.device), pointer)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (graph,) = ctx.saved_tensors
        return gradient.index_select(0, graph), None, None
