"""The scaffold tree of a series."""

from collections.abc import Mapping, Sequence
from typing import Any

from graphkin.library.base import CollectionBase
from graphkin.library.request_arguments import integer_ids, request_json
from graphkin.library.table import Table
from graphkin.protocol.scaffold_tree import ScaffoldTreeBody
from graphkin.protocol.validation import translate_validation_errors
from graphkin.store.records import Int32


class Scaffolds(CollectionBase):
    """The methods of a collection about scaffolds."""

    def scaffold_tree(
        self,
        *,
        property: str | None = None,
        parent: str | None = None,
        levels: int | None = None,
        min_count: int = 1,
        ids: Sequence[int] | Int32 | None = None,
        cluster: Mapping[str, Any] | None = None,
        scaffold: str | None = None,
        filters: Sequence[Mapping[str, Any]] = (),
        substructure: str | Mapping[str, str] | None = None,
        similar: Mapping[str, Any] | None = None,
    ) -> Table:
        """Return the Bemis-Murcko scaffolds of a series as a tree: one row per scaffold.

        The scaffold of a molecule consists of its rings and the linkers between them (Bemis and Murcko, 1996). The
        parent of a scaffold is the scaffold that remains after one ring system and its linker are removed. If several
        can be removed, the parent has the most rings, then the shortest linkers, so a molecule is counted in one
        branch. The scaffolds of a collection are computed once, and then read from a cache.

        The series is all molecules, or those that the arguments `ids` to `similar` select. Pass at most one of `ids`,
        `cluster`, `scaffold` and `similar`.

        Args:
            property: A numeric property to summarize for each scaffold and its branch.
            parent: A scaffold as SMILES. Only scaffolds below it are returned.
            levels: Number of levels to return. The default is all levels.
            min_count: Smallest number of molecules in the branch of a scaffold.
            ids: Ids of the molecules, up to 10,000.
            cluster: A cluster, such as `{"method": "butina", "id": 1}`, as in `clusters`.
            scaffold: A scaffold as SMILES. The series is the molecules with exactly this scaffold.
            filters: Conditions as in `query`, which the molecules must pass.
            substructure: A substructure as in `query`, which the molecules must contain.
            similar: A query structure as in `query`. The series is the molecules similar to it.

        Returns:
            scaffold string, its SMILES without stereo, empty for molecules without rings; parent string, null for a
            root; depth int32, the number of scaffolds above it; children int32; items int32, the number of molecules of
            the series with exactly this scaffold; branch_items int32, the number of molecules with this scaffold or one
            below it. With `property`, also min, max and mean float64, and values int64, the number of molecules that
            have a value; and branch_min, branch_max, branch_mean and branch_values of the branch. Each scaffold is
            followed by the scaffolds below it, and the largest branch comes first.

        Raises:
            InvalidInput: If an argument is invalid, or there is no such numeric property.
            NotFound: If no molecule of the collection has the scaffold `parent` or one below it.
            Conflict: If the items are not molecules.

        Example:
            ```python
            tree = mine.scaffold_tree(property="molwt", min_count=2)
            print(tree.note)
            phenyls = mine.query(scaffold="c1ccccc1")
            ```
        """
        fields = {
            "property": property,
            "parent": parent,
            "levels": levels,
            "min_count": min_count,
            "ids": None if ids is None else integer_ids(ids).tolist(),
            "cluster": cluster,
            "scaffold": scaffold,
            "filters": [*filters],
            "substructure": substructure,
            "similar": similar,
        }
        with translate_validation_errors():
            request = ScaffoldTreeBody.model_validate_json(request_json(fields))
        table, series = self._scaffold_tree(request)
        return Table(table, note=f"{table.num_rows:,} scaffolds of {series:,} molecules")
