"""Permutations of the attachment points of a fragment with one to three of them.

A variable part with k attachment points is joined to k constant parts. The points are numbered in the order of the
canonical SMILES of the variable part, and the constant parts in the order of their SMILES. A permutation p joins point
i to constant part p[i]. Points, or constant parts, that are alike may be exchanged; such exchanges form a group.

Permutations are stored as their position in `itertools.permutations(range(k))`, so that 0 is the identity, and a group
as a mask with one bit for each of its permutations.
"""

from collections.abc import Hashable, Sequence
from functools import cache
from itertools import permutations

Permutation = tuple[int, ...]

_ALL: tuple[tuple[Permutation, ...], ...] = tuple(tuple(permutations(range(points))) for points in range(4))
_NUMBER = tuple({each: number for number, each in enumerate(every)} for every in _ALL)


def symmetry(classes: Sequence[Hashable]) -> int:
    """Return the group of the permutations that exchange only points of the same class, as a mask."""
    points = range(len(classes))
    return sum(
        1 << number
        for number, each in enumerate(_ALL[len(classes)])
        if all(classes[each[point]] == classes[point] for point in points)
    )


def permutation(points: int, number: int) -> Permutation:
    """Return a permutation of this many points by its number."""
    return _ALL[points][number]


def members(points: int, group: int) -> list[Permutation]:
    """Return the permutations of a group."""
    return [each for number, each in enumerate(_ALL[points]) if group >> number & 1]


def compose(outer: Permutation, inner: Permutation) -> Permutation:
    """Return the permutation that applies `inner`, then `outer`."""
    return tuple(outer[each] for each in inner)


def invert(permutation: Permutation) -> Permutation:
    """Return the inverse of a permutation."""
    return tuple(permutation.index(point) for point in range(len(permutation)))


def canonical_order(order: Permutation, variable: int, constant: int) -> int:
    """Return the smallest number of a permutation that joins a variable part and its constant parts in the same way.

    Args:
        order: A permutation from the points of the variable part to the constant parts.
        variable: The symmetry of the variable part.
        constant: The symmetry of the constant parts.
    """
    points = len(order)
    return min(
        _NUMBER[points][compose(exchange, compose(order, turn))]
        for exchange in members(points, constant)
        for turn in members(points, variable)
    )


@cache
def relation(points: int, symmetry: int, order: int, constant: int, other_order: int, other_symmetry: int) -> int:
    """Return how the points of one variable part correspond to those of another one with the same constant parts.

    Args:
        points: The number of attachment points.
        symmetry: The symmetry of the first variable part.
        order: The number of the permutation from its points to the constant parts.
        constant: The symmetry of the constant parts.
        other_order: The number of the permutation from the points of the second variable part to the constant parts.
        other_symmetry: The symmetry of the second variable part.

    Returns:
        The smallest number of a permutation from the points of the first to those of the second variable part.
    """
    ours, theirs = _ALL[points][order], invert(_ALL[points][other_order])
    return min(
        _NUMBER[points][compose(turn, compose(theirs, compose(exchange, compose(ours, own))))]
        for exchange in members(points, constant)
        for own in members(points, symmetry)
        for turn in members(points, other_symmetry)
    )
