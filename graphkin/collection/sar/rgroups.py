"""R groups of a series of molecules: RDKit's decomposition at a common core."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
from rdkit import Chem, rdBase
from rdkit.Chem import rdRGroupDecomposition

from graphkin.collection.batches import add_item_columns
from graphkin.collection.clusters.mcs import COMPARED, SECONDS, evenly_spaced, find_mcs
from graphkin.collection.sar.free_wilson import FreeWilson, fit_free_wilson
from graphkin.collection.sar.group_matrix import GroupMatrix, group_matrix
from graphkin.collection.structures import require_molecules
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.rgroups import CoreSource, RGroupsReply
from graphkin.protocol.values import MAX_SERIES
from graphkin.store.base import Generation
from graphkin.store.records import Float64, Int32

_CORE = "Core"


class Core(NamedTuple):
    """The substructure at which molecules are decomposed.

    Attributes:
        pattern: SMILES or SMARTS that RDKit matches.
        source: Origin of the pattern.
        compared: Number of molecules whose maximum common substructure it is, or 0.
        complete: False if the search for it reached its time limit, so that a larger substructure may exist.
    """

    pattern: str
    source: CoreSource
    compared: int
    complete: bool


class Decomposition(NamedTuple):
    """R groups of some molecules.

    Attributes:
        core: The core.
        matched: Positions of the molecules with the core among all molecules, ascending.
        cores: Core of each matched molecule as SMILES, with `[*:1]` at position R1.
        groups: R groups of the matched molecules by position. A group is a SMILES with the label of its position.
    """

    core: Core
    matched: list[int]
    cores: list[str]
    groups: dict[str, list[str]]

    def with_source(self, source: CoreSource) -> Self:
        """Return the decomposition with another origin of its core."""
        return self._replace(core=self.core._replace(source=source))


@dataclass(frozen=True)
class RGroups:
    """R groups of a series.

    Attributes:
        core: The core.
        ids: (n,) int32 ids of the molecules with the core, in the order of the series.
        cores: Core of each molecule as SMILES, with `[*:1]` at position R1.
        groups: R groups of the molecules by position, in the order R1, R2, ... A group is a SMILES with the label of
            its position, such as `[H][*:1]` for hydrogen.
        values: (n,) float64 values of the property, NaN for molecules without a value; None without a property.
        unmatched: (m,) int32 ids of the molecules that do not contain the core, in the order of the series.
    """

    core: Core
    ids: Int32
    cores: list[str]
    groups: Mapping[str, list[str]]
    values: Float64 | None
    unmatched: Int32

    @property
    def common_core(self) -> str:
        """The core of most molecules, or the pattern if no molecule contains it."""
        return Counter(self.cores).most_common(1)[0][0] if self.cores else self.core.pattern

    def free_wilson(self) -> FreeWilson | None:
        """Return the contributions of the R groups to the property, or None without a property."""
        return None if self.values is None else fit_free_wilson(self.groups, self.values)

    def matrix(self, first: str, second: str) -> GroupMatrix:
        """Return the matrix of the R groups at two positions.

        Raises:
            InvalidInput: There are no such two positions.
        """
        if first not in self.groups or second not in self.groups or first == second:
            raise InvalidInput(
                "the matrix needs two positions of the R-group table",
                given=f"{first}, {second}",
                expected=f"two of {', '.join(self.groups)}" if len(self.groups) > 1 else "a table with two positions",
                hint="choose two different positions" if len(self.groups) > 1 else "choose another core",
            )
        return group_matrix(
            (first, second), self.groups[first], self.groups[second], self.ids.tolist(), self._values_or_nan
        )

    def rows(self) -> Iterator[dict[str, Any]]:
        """Iterate over the molecules: core, groups by position, and value, None if it has none."""
        values = [None if np.isnan(value) else value for value in self._values_or_nan.tolist()]
        for row, (core, value) in enumerate(zip(self.cores, values, strict=True)):
            groups = {position: column[row] for position, column in self.groups.items() if column[row]}
            yield {"core": core, "groups": groups, "value": value}

    @property
    def _values_or_nan(self) -> Float64:
        """The values of the property, NaN without a property."""
        return np.full(len(self.ids), np.nan) if self.values is None else self.values

    @classmethod
    def from_reply(cls, reply: RGroupsReply) -> "RGroups":
        """Return the R groups of a server's reply."""
        rows = reply.rows
        values = [np.nan if row.value is None else row.value for row in rows]
        return cls(
            Core(reply.pattern, reply.source, reply.compared, reply.complete),
            np.array([row.item.id for row in rows], np.int32),
            [row.core for row in rows],
            {position: [row.groups.get(position, "") for row in rows] for position in reply.columns},
            None if reply.property is None else np.array(values),
            np.array(reply.unmatched, np.int32),
        )

    @classmethod
    def from_decomposition(cls, ids: Int32, values: Float64 | None, decomposition: Decomposition) -> "RGroups":
        """Return the R groups of the items `ids` with these values, whose molecules were decomposed in this order."""
        core, positions, cores, groups = decomposition
        matched = np.array(positions, np.int64)
        rest = np.delete(ids, matched)
        return cls(core, ids[matched], cores, groups, None if values is None else values[matched], rest)


def series_items(read: Callable[[Sequence[str] | None], pa.Table], property: str | None) -> pa.Table:
    """Return the items of a series for `rgroups_table`: all columns from the source, and a property that is computed.

    Args:
        read: A function that returns columns of these items, by default all columns from the source.
        property: A property, a descriptor or an activity, or None.
    """
    items = read(None)
    if property is None or property in items.column_names:
        return items
    return items.append_column(property, read([property])[property])


def rgroups_table(
    cores: Sequence[str], groups: Mapping[str, Sequence[str]], items: pa.Table, property: str | None = None
) -> pa.Table:
    """Return R groups as a table: one row for each molecule with the core, then one for each without it.

    The columns are id, the property, core, the positions, and then the columns of the items. Molecules without the core
    have no values in core and at the positions. A column of the items with the name of a position gets the prefix
    `item_`.

    Args:
        cores: Core of each molecule that has it.
        groups: R groups of these molecules, by position.
        items: Result of `series_items`, first the items with the core.
        property: Column of the items to move in front of the core.
    """
    missing = [None] * (len(items) - len(cores))
    columns = {
        name: pa.array([*(text or None for text in column), *missing], pa.string())
        for name, column in {"core": cores, **groups}.items()
    }
    if property is None:
        return add_item_columns({"id": items["id"], **columns}, items)
    title = property
    while title in columns:
        title = f"item_{title}"
    first = {"id": items["id"], title: items[property]}
    return add_item_columns({**first, **columns}, items.drop_columns([property]))


def require_series(generation: Generation, ids: Int32) -> None:
    """Check that items are molecules, and that they are neither none nor too many.

    Raises:
        Conflict: The items are not molecules.
        InvalidInput: There are no items, or more than `MAX_SERIES`.
    """
    require_molecules(generation.manifest, "R groups")
    if not 0 < len(ids) <= MAX_SERIES:
        raise InvalidInput(
            "a series needs molecules" if len(ids) == 0 else "this series has too many molecules",
            given=f"{len(ids):,} molecules",
            expected=f"1 to {MAX_SERIES:,} molecules",
            hint="select other molecules: by ids, a cluster, filters or a substructure"
            if len(ids) == 0
            else "select fewer molecules: by ids, a cluster, filters or a substructure",
        )


def decompose(
    smiles: Sequence[str], core: str | None, advance: Callable[[int], object] = lambda _: None
) -> Decomposition:
    """Return the R groups of one or more molecules by RDKit's `RGroupDecomposition` with its default options.

    The time is not bounded: small symmetric cores match a molecule in many ways. A server therefore runs this in a
    worker process with a time limit.

    Args:
        smiles: The molecules.
        core: Core as SMILES or SMARTS; None for the maximum common substructure.
        advance: Called with 1 after each molecule.

    Raises:
        InvalidInput: The core cannot be read, or the molecules have no common substructure.
    """
    with rdBase.BlockLogs():
        used_core = _common_core(smiles) if core is None else Core(core, "request", 0, complete=True)
        decomposition = rdRGroupDecomposition.RGroupDecomposition([_read_core(used_core.pattern)])
        matched = []
        for position, text in enumerate(smiles):
            if decomposition.Add(Chem.MolFromSmiles(text)) >= 0:
                matched.append(position)
            advance(1)
        if not matched:
            return Decomposition(used_core, [], [], {})
        decomposition.Process()
        columns = decomposition.GetRGroupsAsColumns(asSmiles=True)
    positions = sorted((name for name in columns if name != _CORE), key=lambda name: int(name[1:]))
    return Decomposition(used_core, matched, columns[_CORE], {name: columns[name] for name in positions})


def _common_core(smiles: Sequence[str]) -> Core:
    """Return the maximum common substructure of molecules, of which at most `COMPARED` are compared."""
    compared = [smiles[position] for position in evenly_spaced(len(smiles), COMPARED)]
    mcs = find_mcs(compared)
    if mcs.smarts is None:
        raise InvalidInput(
            "these molecules have no common substructure"
            if mcs.complete
            else f"no common substructure of these molecules was found within {SECONDS} s",
            given=f"{len(smiles):,} molecules",
            expected="molecules of one series, or a core",
            hint="set a core, select the molecules of one series by filters, or open one of their clusters",
        )
    return Core(mcs.smarts, "mcs", len(compared), mcs.complete)


def _read_core(text: str) -> Chem.Mol:
    """Return a core from SMILES, or from SMARTS if the text has atoms by number or is no SMILES.

    RDKit's SMILES parser accepts atoms such as `[#6]`, but as atoms without hydrogens.
    """
    molecule = None if "[#" in text else Chem.MolFromSmiles(text)
    molecule = molecule or Chem.MolFromSmarts(text)
    if molecule is None or molecule.GetNumAtoms() == 0:
        raise InvalidInput(
            "the core cannot be read",
            given=text[:200],
            expected="SMILES or SMARTS of at least one atom",
            hint="check it by drawing it, as in `c1ccc2[nH]ccc2c1` or `[c,n]1ccccc1`",
        )
    if len(Chem.GetMolFrags(molecule)) > 1:
        raise InvalidInput(
            "the core is not connected",
            given=text[:200],
            expected="one connected substructure",
            hint="keep one of the parts that a dot separates",
        )
    return molecule
