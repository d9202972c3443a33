"""Methods of a collection that change it: they publish a new generation and move the object to it."""

import os
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

from graphkin.ingest.item_list import ItemIds, ItemList
from graphkin.ingest.progress_bars import library_progress
from graphkin.ingest.readers.memory import is_missing
from graphkin.library.arguments import File, read_arguments
from graphkin.library.base import CollectionBase
from graphkin.library.request_arguments import integer_ids
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.values import ListedBy

if TYPE_CHECKING:
    from graphkin.ingest.readers.columns import Decimal, Delimiter
    from graphkin.protocol.manifest import Manifest
    from graphkin.similarity.devices import Device
    from graphkin.store.base import Store

_SHOWN = 3  # items that a warning names


class Changes(CollectionBase):
    """The methods of a collection that change it. Each moves this object to the generation that it publishes."""

    def append(
        self,
        data: Any,
        *,
        smiles: str | None = None,
        name: str | None = None,
        properties: Sequence[str] | None = None,
        fingerprint_column: str | None = None,
        vector_column: str | None = None,
        names: File | Sequence[File] = (),
        format: str | None = None,
        delimiter: "Delimiter | None" = None,
        encoding: str | None = None,
        decimal: "Decimal" = ".",
        max_rejected: float = 0.1,
        workers: int | None = None,
        device: "Device" = "cpu",
    ) -> Self:
        """Add items to the current generation of the collection, and move this object to the new generation.

        The new generation equals one ingest of all data with the recipe of the collection. Only the new items are
        compared. Items that exist already get additional names.

        Args:
            data: The items, as in `graphkin.ingest`.
            smiles: Name of the column with SMILES, for tables. The default is "smiles".
            name: Name of the column with item names. The default is a column with a usual title, if there is one.
            properties: Names of the columns or data items that become properties. The default is all other columns.
            fingerprint_column: Name of the column with fingerprints. The default is "fingerprint".
            vector_column: Name of the column with vectors. The default is "vector".
            names: The names of the rows of an array or list in memory, or the file of names of a .npy file.
            format: Format of the files. By default, the file name extension decides.
            delimiter: Delimiter of text tables. By default, it is inferred from the header of a .csv file.
            encoding: Encoding of text files. The default is UTF-8.
            decimal: Decimal separator of numbers in the texts of tables and data frames.
            max_rejected: Maximum fraction of records that may be rejected, 0 to 1. If more are rejected, nothing
                changes.
            workers: Number of worker processes and of threads. The default is the number of cores.
            device: Where pairs are compared: "cpu" or "cuda".

        Returns:
            This collection, at the new generation.

        Raises:
            Conflict: The collection is on a server, or it cannot grow: its items are nodes, its candidates follow the
                window rule, or other library versions described its items.
            InvalidInput: An argument or the data is invalid. Nothing changes.
            StoreError: The store cannot be written. Nothing changes.

        Example:
            ```python
            mine = graphkin.ingest(["CCO", "CCN"])
            mine.append(["CCCO"]).size
            ```
        """

        def change(store: "Store") -> "Manifest":
            from graphkin.ingest.append import append

            inputs, options = read_arguments(
                f"{self.kind}s",
                data,
                smiles=smiles,
                name=name,
                properties=properties,
                fingerprint_column=fingerprint_column,
                vector_column=vector_column,
                names=names,
                format=format,
                delimiter=delimiter,
                encoding=encoding,
                decimal=decimal,
                max_rejected=max_rejected,
                workers=workers,
                device=device,
            )
            return append(store, self.name, inputs, options, library_progress()).manifest

        self._change(change)
        return self

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
            self._remove(ItemIds(integer_ids(values), self.generation), "name", workers)
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

        The generation keeps its id and content, its readers are not interrupted, and this object reads it from then on.
        Generations with a single fragment, and generations in Neo4j, do not change.

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
        from graphkin.similarity.compaction import compact

        self._change(lambda store: compact(store, self.name, library_progress().stage))
        return self

    def _remove(self, items: ItemList, by: ListedBy, workers: int | None) -> list[dict[str, Any]]:
        """Remove items, and return the rows of listed items that do not exist."""
        missing: list[dict[str, Any]] = []

        def change(store: "Store") -> "Manifest":
            from graphkin.ingest.remove import remove

            removed = remove(store, self.name, items, by, workers or os.cpu_count() or 1, library_progress())
            missing.extend(removed.missing.to_pylist())
            return removed.manifest

        self._change(change)
        return missing

    @abstractmethod
    def _change(self, change: Callable[["Store"], "Manifest"]) -> None:
        """Change the collection, and read its new generation from now on.

        Args:
            change: Publishes a new generation of a store, and returns the manifest of the run.

        Raises:
            Conflict: The collection is on a server.
        """


def _texts(values: Any) -> list[str]:
    """Return names or SMILES as texts. Missing values, as in a column of a data frame, become empty and match nothing.

    Args:
        values: One text; or texts or numbers in a list, a Series, a column of a table or another iterable.
    """
    if isinstance(values, str):
        return [values]
    items = [value.as_py() if hasattr(value, "as_py") else value for value in values]
    return ["" if is_missing(value) else str(value) for value in items]
