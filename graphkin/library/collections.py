"""Abstract base class of all collections of a store or a server."""

from abc import abstractmethod
from collections.abc import Iterator

from graphkin.library.collection import Collection
from graphkin.protocol.errors import Closed
from graphkin.runtime.closing import Closeable


class Collections(Closeable):
    """The collections of a store or a server, by name.

    `len`, `in` and iteration work as for a mapping whose keys are the names.

    Example:
        ```python
        with graphkin.open("store") as store:
            print(len(store), "mine" in store, store["mine"].size)
        ```
    """

    @abstractmethod
    def collection(self, name: str, generation: str | None = None) -> Collection:
        """Return one generation of a collection. `collections[name]` returns the current one.

        Args:
            name: Name of the collection.
            generation: Id of the generation, or a prefix of the id. The default is the current generation.

        Returns:
            The collection, which reads this generation even after another one is published.

        Raises:
            NotFound: If there is no such collection or generation. The error lists the existing collections.
            Deleted: If the generation was deleted.
            InvalidInput: If several ids begin with the prefix.

        Example:
            ```python
            store = graphkin.open("store")
            print(list(store))
            older = store.collection("mine", mine.generation[:12])
            ```
        """

    @abstractmethod
    def delete(self, name: str, generation: str | None = None) -> None:
        """Delete a collection, or one of its generations.

        If the current generation is deleted, the newest of the others becomes current. Objects that read a deleted
        generation continue, or raise `Deleted`.

        Args:
            name: Name of the collection.
            generation: Id of the generation, or a prefix of the id. The default is all generations, and so the
                collection.

        Raises:
            NotFound: If there is no such collection or generation.
            Deleted: If the generation was deleted before.
            InvalidInput: If several ids begin with the prefix.
            Conflict: If the collection is on a server.
            StoreBusy: If another process is changing the collection.

        Example:
            ```python
            graphkin.ingest("molecules.csv", store="store", collection="trial", threshold=0.5)
            graphkin.open("store").delete("trial")
            ```
        """

    def __getitem__(self, name: str) -> Collection:
        return self.collection(name)

    @abstractmethod
    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the collections, in order."""

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return any(collection == name for collection in self)

    @abstractmethod
    def close(self) -> None:
        """Close all collections that were opened here. Later calls raise `Closed`.

        Garbage collection releases files and connections, too.
        """

    def __repr__(self) -> str:
        try:
            names = ", ".join(self)
        except Closed:
            names = "closed"
        return f"{type(self).__name__}({names})"
