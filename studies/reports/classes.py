"""Which items are taken to be alike in truth: those of one scaffold, or of one value of a property."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles

from graphkin.protocol.errors import Conflict
from graphkin.store.base import Generation
from graphkin.store.columns import numbers, titles
from graphkin.store.records import Int64

_LABEL = "label"
"""What readers of graphs and nodes call the class of an item."""


def classes(generation: Generation, same: str | None) -> tuple[str, Int64]:
    """How they are told, and (N,) the class of each item; -1 for one that has none.

    same  a property; by default the Bemis-Murcko scaffold of molecules, which those without a ring have not, and the
    property `label` of other items. Raises `Conflict` where there is no such property.
    """
    if same is None and generation.manifest.structure == "smiles":
        return "the Bemis-Murcko scaffold", _coded(map(_scaffold, generation.structures()))
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
    return f"the property {name!r}", _coded(values)


def _scaffold(smiles: str) -> str | None:
    return MurckoScaffoldSmiles(smiles) or None  # type: ignore[no-untyped-call]


def _coded(values: Iterable[str | float | None]) -> Int64:
    """Equal values have equal numbers; None has -1."""
    encoded = pa.array(values).dictionary_encode().indices
    return encoded.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
