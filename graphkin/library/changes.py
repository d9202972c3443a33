"""Methods of a collection that publish a new generation."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

from graphkin.library.arguments import File, read_arguments
from graphkin.library.base import CollectionBase

if TYPE_CHECKING:
    from graphkin.ingest.readers.columns import Decimal, Delimiter
    from graphkin.protocol.manifest import Manifest
    from graphkin.similarity.devices import Device
    from graphkin.store.base import Store


class Changes(CollectionBase):
    """Changes of a collection. Each publishes a new generation and moves this object to it."""

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
            decimal: Decimal separator of numbers in text tables.
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
            from graphkin.ingest.progress_bars import library_progress

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

    @abstractmethod
    def _change(self, change: Callable[["Store"], "Manifest"]) -> None:
        """Change the collection, and read its new generation from now on.

        Args:
            change: Publishes a new generation, and returns its manifest or the report of the run.

        Raises:
            Conflict: The collection is on a server.
        """
