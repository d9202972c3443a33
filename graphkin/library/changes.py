"""Methods of a collection that change it: they publish a new generation and move the object to it."""

import warnings
from collections.abc import Iterable
from typing import Any, Self

import numpy as np

from graphkin.ingest.item_list import ItemIds
from graphkin.ingest.readers.memory import is_missing
from graphkin.library.base import CollectionBase
from graphkin.protocol.errors import InvalidInput
from graphkin.store.records import Int64

_SHOWN = 3  # items that a warning names


class Changes(CollectionBase):
    """The methods of a collection that change it."""

    def remove(
        self,
        *,
        ids: int | Iterable[int] | None = None,
        names: str | Iterable[Any] | None = None,
        smiles: str | Iterable[Any] | None = None,
        workers: int | None = None,
    ) -> Self:
        """Remove items, and publish the rest as a new generation, which this object reads from now on.

        The new generation equals an ingest of the same files without these items, and has the same id. The items after
        a removed item get other ids. Other objects, and processes, keep reading the generation that they have opened.

        Names and SMILES that match no item are skipped, with a warning. If nothing matches, the collection does not
        change. Pass exactly one of `ids`, `names` and `smiles`.

        Args:
            ids: Ids of the items, as this object has them.
            names: Names of the items. A name matches all items that have exactly this name.
            smiles: Structures of the items, which are standardized like those of the ingest.
            workers: Number of threads. The default is the number of cores.

        Returns:
            This collection.

        Raises:
            InvalidInput: If no item would be left, or not exactly one argument is present.
            NotFound: If there is no item with one of `ids`.
            Conflict: If the items are nodes, or their candidates follow the window rule: such collections are ingested
                again. Also for `ids` if the collection has a newer generation, and for collections on a server.
            StoreBusy: If another process is changing the collection.

        Example:
            ```python
            mine.remove(names=["NSC13", "NSC17"])
            mine.remove(ids=mine.query(filters=[{"property": "molwt", "min": 1000}])["id"])
            print(mine.size)
            ```
        """
        arguments = {"ids": ids, "names": names, "smiles": smiles}
        present = {name: value for name, value in arguments.items() if value is not None}
        if len(present) != 1:
            raise InvalidInput(
                "exactly one argument selects the items to remove",
                given=", ".join(present) or "none of them",
                expected=f"one of {', '.join(arguments)}",
                hint="call remove once for each of them",
            )
        ((argument, values),) = present.items()
        if argument == "ids":
            self._remove(ItemIds(_integers(values), self.generation), "name", workers)
            return self
        texts = _texts(values)
        missing = self._remove(texts, "name" if argument == "names" else "smiles", workers)
        if missing:
            shown = "; ".join(f"{row['input']}: {row['reason']}" for row in missing[:_SHOWN])
            rest = f"; and {len(missing) - _SHOWN:,} more" if len(missing) > _SHOWN else ""
            message = f"{len(missing):,} of {len(texts):,} {argument} match no item ({shown}{rest})"
            warnings.warn(message, stacklevel=2)
        return self

    def compact(self) -> Self:
        """Merge the fragments that appends left in the current generation into one, which is read faster.

        The generation keeps its id and content, and its readers are not interrupted. Generations with a single
        fragment, and generations in Neo4j, do not change.

        Returns:
            This collection.

        Raises:
            Conflict: If the collection is on a server.
            StoreBusy: If another process is changing the collection.

        Example:
            ```python
            mine.compact()
            print(len(mine.manifest.fragments))
            ```
        """
        self._compact()
        return self


def _integers(ids: Any) -> Int64:
    """Return ids as (n,) int64.

    Raises:
        InvalidInput: If they are no integers, such as a mask of booleans.
    """
    values = np.atleast_1d(np.asarray(ids))
    if len(values) and values.dtype.kind not in "iu":
        raise InvalidInput(
            "ids are integers",
            given=f"values of type {values.dtype}",
            expected="ids from 0 to the number of items - 1",
            hint="for a mask of booleans, pass numpy.flatnonzero(mask)",
        )
    return values.astype(np.int64)


def _texts(values: Any) -> list[str]:
    """Return names or SMILES as texts. Missing values, as in a column of a data frame, become empty and match nothing.

    Args:
        values: One text; or texts or numbers in a list, a Series, a column of a table or another iterable.
    """
    if isinstance(values, str):
        return [values]
    items = [value.as_py() if hasattr(value, "as_py") else value for value in values]
    return ["" if is_missing(value) else str(value) for value in items]
