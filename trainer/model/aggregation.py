"""Sums over neighbours and over graphs: gathered row by row, no row per edge in memory, no atomics."""

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor
from torch.autograd.function import once_differentiable


def neighbor_sum(values: Tensor, source: Tensor, pointer: Tensor) -> Tensor:
    """(N, D): row v is the sum of values[source[e]], e from pointer[v] to pointer[v + 1] - 1.

    values (N, D), source (E,), pointer (N + 1,). For an undirected graph, with both directions of every edge, which is
    its own transpose: so the gradient is the same sum.
    """
    return _NeighborSum.apply(values, source, pointer)


def graph_sum(values: Tensor, graph: Tensor, pointer: Tensor) -> Tensor:
    """(B, D): row g is the sum of values[pointer[g]] to values[pointer[g + 1] - 1]. graph (N,) is each row's g."""
    return _GraphSum.apply(values, graph, pointer)


def row_sum(values: Tensor, rows: Tensor, pointer: Tensor, weights: Tensor | None = None) -> Tensor:
    """Row i is the sum of values[rows[e]], times weights[e] if given, e from pointer[i] to pointer[i + 1] - 1."""
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
