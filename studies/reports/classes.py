"""Classes of items that count as truly similar: those with one scaffold, or with one value of a property."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles

from graphkin.protocol.errors import Conflict
from graphkin.store.base import Generation
from graphkin.store.columns import numbers, titles
from graphkin.store.records import Int64

_LABEL = "label"
"""Property in which readers of graphs and nodes store the class of an item."""


def classes(generation: Generation, same: str | None) -> tuple[str, Int64]:
    """Return how the classes are defined, and (N,) the class of each item, -1 for an item without one.

    `same` is a property. By default, molecules use the Bemis-Murcko scaffold, which acyclic molecules lack, and other
    items use the property `label`.

    Raises:
        Conflict: there is no such property.
    """
    if same is None and generation.manifest.structure == "smiles":
        return "the Bemis-Murcko scaffold", _encode(map(_scaffold, generation.structures()))
    name = same or _LABEL
    if name not in generation.manifest.properties:
        raise Conflict(
            "nothing says which of these items are true positives of each other",
            given=f"items without a property {name!r}",
            expected=f"one of {', '.join(generation.manifest.properties) or 'none: there are no properties'}",
            hint="--same PROPERTY names another",
        )
    title = titles(generation.manifest.properties)[name]
    values = (value for batch in generation.columns([title]) for value in numbers(batch[title]).to_pylist())
    return f"the property {name!r}", _encode(values)


def _scaffold(smiles: str) -> str | None:
    return MurckoScaffoldSmiles(smiles) or None  # type: ignore[no-untyped-call]


def _encode(values: Iterable[str | float | None]) -> Int64:
    """Return equal numbers for equal values, and -1 for None."""
    encoded = pa.array(values).dictionary_encode().indices
    return encoded.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
