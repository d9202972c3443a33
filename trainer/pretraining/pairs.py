"""Bonded pairs of atoms, and as many random pairs without a bond."""

import torch
from torch import Tensor

from graphkin.trainer.model.batch import Batch


def bonded_pairs(batch: Batch) -> Tensor:
    """Return the ends of every bond once, (2, M), the lower atom first, sorted by the higher atom, then the lower."""
    source, target = batch.edge_index
    return batch.edge_index[:, source < target]


def unbonded_pairs(batch: Batch, generator: torch.Generator) -> Tensor:
    """Sample as many unbonded pairs of each graph as it has bonds, or all if it has fewer.

    The result is (2, K), the lower atom first.

    Sampling is uniform and without replacement. Pairs are numbered, not listed: the pair (i, j), i < j, of a graph's
    atoms has the number j (j - 1) / 2 + i. A graph of n atoms therefore costs time in proportion to its bonds, not n².
    """
    bonds, sizes = bonded_pairs(batch), batch.atom_ptr.diff()
    pairs = sizes * (sizes - 1) // 2
    graph = batch.graph[bonds[1]]
    bond_numbers = _offsets(pairs)[graph] + _numbers(bonds - batch.atom_ptr[graph])
    bond_counts = torch.bincount(graph, minlength=batch.graphs)
    free_counts = pairs - bond_counts
    ranks = sample_numbers(torch.minimum(bond_counts, free_counts), free_counts, generator)
    # The number of a free pair is its rank among the free pairs plus the number of taken pairs before it.
    numbers = ranks + torch.searchsorted(
        bond_numbers - torch.arange(len(bond_numbers), device=bond_numbers.device), ranks, right=True
    )
    graph = torch.searchsorted(pairs.cumsum(0), numbers, right=True)
    return _pairs(numbers - _offsets(pairs)[graph]) + batch.atom_ptr[graph]


def sample_numbers(counts: Tensor, sizes: Tensor, generator: torch.Generator) -> Tensor:
    """Sample counts[u] different numbers out of the sizes[u] numbers of each unit u, uniformly: (Σ counts,), ascending.

    The units' numbers follow one another from 0 to Σ sizes - 1. Repeated numbers are sampled again. If more than half
    of a unit's numbers are needed, the complement is sampled instead.

    Args:
        counts: (U,) Numbers to sample of each unit, 0 <= counts <= sizes.
        sizes: (U,) Numbers of each unit.
        generator: Source of random numbers.
    """
    first, is_majority = _offsets(sizes), 2 * counts > sizes
    needed = torch.where(is_majority, sizes - counts, counts)
    sample, missing = needed.new_empty(0), needed
    while int(missing.sum()):
        unit = torch.repeat_interleave(missing)
        uniform = torch.rand(len(unit), dtype=torch.float64, device=unit.device, generator=generator)
        sample = torch.cat([sample, first[unit] + (uniform * sizes[unit]).long()])
        sample = sample.unique()  # type: ignore[no-untyped-call]
        missing = needed - torch.bincount(_unit(sample, sizes), minlength=len(sizes))
    majority_sizes = torch.where(is_majority, sizes, 0)
    unit = torch.repeat_interleave(majority_sizes)
    majority_numbers = torch.arange(len(unit), device=unit.device) + (first - _offsets(majority_sizes))[unit]
    from_minorities = sample[~is_majority[_unit(sample, sizes)]]
    from_majorities = majority_numbers[~torch.isin(majority_numbers, sample)]
    return torch.cat([from_minorities, from_majorities]).sort().values


def _unit(numbers: Tensor, sizes: Tensor) -> Tensor:
    return torch.searchsorted(sizes.cumsum(0), numbers, right=True)


def _offsets(sizes: Tensor) -> Tensor:
    """Return the sum of the sizes before each unit, (U,)."""
    return sizes.cumsum(0) - sizes


def _numbers(pairs: Tensor) -> Tensor:
    """Return the numbers of pairs (2, M), the lower atom first."""
    low, high = pairs
    return high * (high - 1) // 2 + low


def _pairs(numbers: Tensor) -> Tensor:
    """Return the pairs of numbers, (2, M).

    The result is exact for numbers below 2^49, because the square root of a double is rounded correctly.
    """
    high = ((1 + (1 + 8 * numbers.double()).sqrt()) / 2).long()
    return torch.stack([numbers - high * (high - 1) // 2, high])
