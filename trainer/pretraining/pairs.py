"""Pairs of atoms: those that are bonded, and as many that are not, at random."""

import torch
from torch import Tensor

from graphkin.trainer.model.batch import Batch


def bonded_pairs(batch: Batch) -> Tensor:
    """(2, M): the ends of every bond, once, the lower first; ascending by the higher, then by the lower."""
    source, target = batch.edge_index
    return batch.edge_index[:, source < target]


def unbonded_pairs(batch: Batch, generator: torch.Generator) -> Tensor:
    """(2, K): of each graph as many pairs of different atoms without a bond as it has bonds, or all if it has fewer.

    Uniform, without replacement, the lower atom first. Pairs are counted, not listed: pair (i, j), i < j, of a graph's
    atoms is its number j (j - 1) / 2 + i. So a graph of n atoms costs what its bonds cost, not n².
    """
    bonds, sizes = bonded_pairs(batch), batch.atom_ptr.diff()
    pairs = sizes * (sizes - 1) // 2
    graph = batch.graph[bonds[1]]
    taken = _before(pairs)[graph] + _numbers(bonds - batch.atom_ptr[graph])
    bonded = torch.bincount(graph, minlength=batch.graphs)
    free = pairs - bonded
    chosen = drawn(torch.minimum(bonded, free), free, generator)
    # the number of the chosen-th free pair: the taken ones before it come on top
    numbers = chosen + torch.searchsorted(taken - torch.arange(len(taken), device=taken.device), chosen, right=True)
    graph = torch.searchsorted(pairs.cumsum(0), numbers, right=True)
    return _pairs(numbers - _before(pairs)[graph]) + batch.atom_ptr[graph]


def drawn(counts: Tensor, sizes: Tensor, generator: torch.Generator) -> Tensor:
    """(Σ counts,), ascending: of the sizes[u] numbers of each unit u, counts[u] different ones, all sets as likely.

    counts, sizes (U,), 0 <= counts <= sizes; the units' numbers follow one another from 0 to Σ sizes - 1. Numbers that
    were drawn before are drawn again, so of units of which more than half is wanted the others are drawn.
    """
    first, most = _before(sizes), 2 * counts > sizes
    wanted = torch.where(most, sizes - counts, counts)
    found, missing = wanted.new_empty(0), wanted
    while int(missing.sum()):
        unit = torch.repeat_interleave(missing)
        uniform = torch.rand(len(unit), dtype=torch.float64, device=unit.device, generator=generator)
        found = torch.cat([found, first[unit] + (uniform * sizes[unit]).long()])
        found = found.unique()  # type: ignore[no-untyped-call]
        missing = wanted - torch.bincount(_unit(found, sizes), minlength=len(sizes))
    whole = torch.where(most, sizes, 0)
    unit = torch.repeat_interleave(whole)
    every = torch.arange(len(unit), device=unit.device) + (first - _before(whole))[unit]
    return torch.cat([found[~most[_unit(found, sizes)]], every[~torch.isin(every, found)]]).sort().values


def _unit(numbers: Tensor, sizes: Tensor) -> Tensor:
    return torch.searchsorted(sizes.cumsum(0), numbers, right=True)


def _before(sizes: Tensor) -> Tensor:
    """(U,): the sum of those before each."""
    return sizes.cumsum(0) - sizes


def _numbers(pairs: Tensor) -> Tensor:
    """Of pairs (2, M), the lower first."""
    low, high = pairs
    return high * (high - 1) // 2 + low


def _pairs(numbers: Tensor) -> Tensor:
    """(2, M): those of these numbers; exact for numbers below 2^49, for the root of a double is rounded correctly."""
    high = ((1 + (1 + 8 * numbers.double()).sqrt()) / 2).long()
    return torch.stack([numbers - high * (high - 1) // 2, high])
