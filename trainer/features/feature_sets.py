"""Sets of atom and bond features by name, and the codes in which a corpus stores those that a set adds.

Every set has the features of `hu`: type and chirality of an atom, type and direction of a bond (Hu et al., 2020). A
set may add further ones, which are called details here. The details of an atom, and those of a bond, are one code: 0 if
they are unknown or masked, and otherwise 1 plus their values as digits of a number in mixed radix.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from graphkin.protocol.errors import InvalidInput, suggest

UNKNOWN = 0
"""Code of details that are unknown or masked."""


@dataclass(frozen=True)
class Details:
    """Features that a set adds, of atoms or of bonds.

    Attributes:
        sizes: Number of values of each feature, by its name.
    """

    sizes: Mapping[str, int]

    @property
    def codes(self) -> int:
        """The number of codes, including `UNKNOWN`."""
        return 1 + prod(self.sizes.values())

    def encode(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the code of each row of values (n, K). Larger values count as the largest value of the feature."""
        codes = np.zeros(len(values), np.int64)
        for column, size in zip(values.T, self.sizes.values(), strict=True):
            codes = codes * size + np.minimum(column, size - 1)
        return codes + 1

    def values(self) -> NDArray[np.int64]:
        """Return the values of the K features of each code, (codes, K): -1 for those of `UNKNOWN`."""
        digits = np.unravel_index(np.arange(self.codes - 1), [*self.sizes.values()])
        return np.concatenate([np.full((1, len(self.sizes)), -1), np.stack(digits, axis=1)])


@dataclass(frozen=True)
class FeatureSet:
    """The details of atoms and bonds in a set of features; None for a set without details."""

    atoms: Details | None = None
    bonds: Details | None = None


FEATURE_SETS: Mapping[str, FeatureSet] = {
    "hu": FeatureSet(),
    "rich": FeatureSet(
        Details({"charge": 11, "hydrogens": 9, "hybridization": 9, "is_aromatic": 2, "is_in_ring": 2}),
        Details({"is_conjugated": 2, "stereo": 8, "is_in_ring": 2}),
    ),
}
"""Sets of features by name."""

MAX_CHARGE = 5
"""Formal charges are clamped to ±MAX_CHARGE, and stored as charge + MAX_CHARGE."""


def require_feature_set(name: str) -> None:
    """Check that a set of features has this name.

    Raises:
        InvalidInput: No set has this name.
    """
    if name not in FEATURE_SETS:
        raise InvalidInput(
            "there is no set of features of this name",
            given=name,
            expected=" or ".join(FEATURE_SETS),
            hint=suggest(name, FEATURE_SETS, f"use --features {next(iter(FEATURE_SETS))}"),
        )
