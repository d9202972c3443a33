"""R groups of a series of molecules, as tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from graphkin.collection.sar.free_wilson import contributions_table
from graphkin.collection.sar.group_matrix import matrix_table
from graphkin.collection.sar.rgroups import RGroups, rgroups_table, series_items
from graphkin.export.files import atomic_file
from graphkin.library.base import CollectionBase
from graphkin.library.free_wilson import FreeWilsonResult
from graphkin.library.request_arguments import integer_ids, request_json
from graphkin.library.table import Table
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.rgroups import CoreSource, RGroupsBody
from graphkin.protocol.validation import translate_validation_errors
from graphkin.store.records import Int32


@dataclass(frozen=True, eq=False)
class RGroupTable:
    """The R groups of a series.

    Attributes:
        core: Core of most molecules as SMILES, with `[*:1]` at position R1.
        pattern: SMILES or SMARTS that RDKit matched. As `core` of another call, it leads to the same positions.
        source: Origin of the pattern: `request` (the argument `core`), `scaffold`, or `mcs` (the maximum common
            substructure).
        compared: Number of molecules whose maximum common substructure the core is, at most 100, or 0.
        complete: False if the search for that substructure reached its time limit, so that a larger core may exist.
        positions: Names of the positions, which are columns of `table`.
        table: One row per molecule with the core, in the order of the series: id, the property, core, one column per
            position with the R group as SMILES, and the other columns of `items`. Hydrogen is `[H][*:1]`.
        unmatched: The table of `items` of the molecules without the core.
    """

    core: str
    pattern: str
    source: CoreSource
    compared: int
    complete: bool
    positions: list[str]
    table: Table
    unmatched: Table
    _rows: pa.Table
    _series: RGroups
    _property: str | None

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        positions = ", ".join(self.positions) or "no positions"
        return f"RGroupTable({len(self):,} molecules, {len(self.unmatched):,} unmatched: {self.core}, {positions})"

    def _repr_html_(self) -> str:
        return self.table._repr_html_()

    def write(self, path: str | PathLike[str]) -> None:
        """Write all molecules to a file. Those without the core come last, without R groups.

        Args:
            path: File whose name ends with .csv, .parquet, .sdf, .xlsx, .svg or .png. In an SD file, the molecules are
                aligned with their core. An Excel workbook and a picture color the property by value. A picture shows
                the first 100 molecules with the core, and at most 600 structures.

        Raises:
            InvalidInput: If the name has another end, XlsxWriter is not installed, a picture has no molecule with the
                core to show, or the file cannot be written.
        """
        # Drawings need system libraries, libXrender among them, which a machine without a screen may lack.
        from graphkin.depiction.rgroup_files import export_rgroups, rgroup_format

        blocks = export_rgroups(self._rows, self.positions, self._property, rgroup_format(Path(path)))
        with atomic_file(Path(path)) as file:
            file.writelines(blocks)

    def free_wilson(self) -> FreeWilsonResult:
        """Fit the contribution of each R group to the property by least squares (Free-Wilson analysis).

        The property of a molecule is modeled as a baseline plus one contribution for the R group at each position. The
        reference group of a position is its most frequent one.

        Returns:
            The baseline and a table of the contributions, with standard errors. `problem` says why nothing was fitted.

        Raises:
            InvalidInput: If the R groups were found without a property.

        Example:
            ```python
            fit = mine.rgroups(core="c1ccccc1", substructure="c1ccccc1", property="molwt").free_wilson()
            print(fit.problem or fit.contributions.to_pandas())
            ```
        """
        fit = self._series.free_wilson()
        if fit is None or self._property is None:
            raise InvalidInput(
                "Free-Wilson contributions need a property",
                given="R groups without a property",
                expected="R groups with a numeric property",
                hint='pass a property to rgroups, as in rgroups(core="c1ccccc1", property="pKi")',
            )
        table = Table(contributions_table(fit))
        return FreeWilsonResult(self._property, **{**vars(fit), "contributions": table}, _summary=fit.summary)

    def matrix(self, first: str = "R1", second: str = "R2") -> Table:
        """Return the combinations of R groups at two positions, with the mean of the property.

        Args:
            first: Position of the first column.
            second: Position of the second column.

        Returns:
            One row per combination that a molecule has, the most frequent groups first: the R groups at both positions,
            string; compounds int64; values int64, the molecules that have a value; mean float64, null without a value;
            ids, a list of int64.

        Raises:
            InvalidInput: If there are no such two positions.

        Example:
            ```python
            result = mine.rgroups(core="c1ccccc1", substructure="c1ccccc1", property="molwt")
            result.matrix("R1", "R2").to_pandas().pivot(index="R1", columns="R2", values="mean")
            ```
        """
        return Table(matrix_table(self._series.matrix(first, second)))


class RGroupTables(CollectionBase):
    """The methods of a collection about R groups."""

    def rgroups(
        self,
        *,
        core: str | None = None,
        property: str | None = None,
        ids: Sequence[int] | Int32 | None = None,
        cluster: Mapping[str, Any] | None = None,
        scaffold: str | None = None,
        similar: Mapping[str, Any] | None = None,
        filters: Sequence[Mapping[str, Any]] = (),
        substructure: str | Mapping[str, str] | None = None,
        sort: str | None = None,
        descending: bool = False,
    ) -> RGroupTable:
        """Return the R groups of a series of up to 2,000 molecules: RDKit's R-group decomposition at a common core.

        The series is the result of a query. Set at most one of `ids`, `cluster`, `scaffold` and `similar`. The default
        is all molecules that pass the conditions.

        Args:
            core: Core as SMILES, or as SMARTS if it is no SMILES. Atoms `*` and `[*:1]` are R positions, and R groups
                at other atoms of the core get further positions. The default is `scaffold`, or else the maximum common
                substructure of at most 100 evenly spaced molecules of the series.
            property: A numeric property, whose column comes before the core.
            ids: Ids of the molecules, up to 10,000.
            cluster: A cluster, such as `{"method": "butina", "threshold": 0.55, "id": 1}`.
            scaffold: SMILES of a Bemis-Murcko scaffold that molecules have exactly.
            similar: A query structure with `min_similarity`, as in `query`.
            filters: Conditions as in `query`, which all molecules must pass.
            substructure: A substructure as in `query`, which all molecules must contain.
            sort: Order of the rows: id, similarity or a property.
            descending: Whether the largest values come first.

        Returns:
            The core, the positions, a table of the molecules with the core, and the molecules without it.

        Raises:
            InvalidInput: If an argument is out of range, the core cannot be read, there are no or too many molecules,
                or they have no common substructure.
            Conflict: If the items are not molecules.

        Example:
            ```python
            result = mine.rgroups(core="c1ccccc1", filters=[{"property": "molwt", "max": 200}], property="molwt")
            print(result.core, result.positions, len(result.unmatched))
            result.table.to_pandas()
            ```
        """
        order = None if sort is None else {"by": sort, "descending": descending}
        fields = {
            "core": core,
            "property": property,
            "ids": None if ids is None else integer_ids(ids).tolist(),
            "cluster": cluster,
            "scaffold": scaffold,
            "similar": similar,
            "filters": [*filters],
            "substructure": substructure,
            "sort": order,
        }
        with translate_validation_errors():
            request = RGroupsBody.model_validate_json(request_json(fields))
        series = self._rgroups(request)
        items = series_items(partial(self._rows, np.concatenate([series.ids, series.unmatched])), property)
        rows = rgroups_table(series.cores, series.groups, items, property)
        count = len(series.ids)
        return RGroupTable(
            core=series.common_core,
            **series.core._asdict(),
            positions=[*series.groups],
            table=Table(rows)[:count],
            unmatched=Table(items)[count:],
            _rows=rows,
            _series=series,
            _property=property,
        )
