"""Entities: the nodes of a Neo4j store to which users attach their own data.

An entity stands for one structure of a collection, in every generation that has it.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass


@dataclass(frozen=True)
class Carried:
    """Counts of the user data copied from the items of one generation to those of another one.

    Attributes:
        items: The number of items that have something of a user's and that both generations have.
        labels: The number of labels on them.
        properties: The number of properties on them.
        relationships: The number of relationships that were created.
        missing: The number of items that have something of a user's and that only the older generation has.
    """

    items: int
    labels: int
    properties: int
    relationships: int
    missing: int


class Entities(ABC):
    """The entities of a store."""

    @abstractmethod
    def purge(self, collection: str) -> int:
        """Delete the entities of a collection that no generation has, with the data that users attached to them.

        Returns:
            The number of deleted entities.
        """

    @abstractmethod
    def carry(self, collection: str, source: str, target: str) -> Carried:
        """Copy what users attached to the items of one generation to the same items of another generation.

        These are labels, properties and relationships. Values in the target are replaced. A repetition changes nothing.

        Args:
            collection: The collection.
            source: The id of the generation to copy from.
            target: The id of the generation to copy to.

        Raises:
            NotFound: There is no such collection or generation.
            Deleted: A generation was deleted.
        """
