"""Embeddings that a store keeps with the items of a collection, for vector search by its database."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from graphkin.store.records import Float32, Int32


@dataclass(frozen=True)
class EmbeddingInfo:
    """One embedding of a generation.

    Attributes:
        name: The name, which is the property of the items that holds the vectors.
        index: The name of the vector index.
        generation: The id of the generation.
        dimensions: The number of dimensions of a vector.
        items: The number of items that have a vector.
        query: A query that finds the items nearest to the item with the id `$id`.
    """

    name: str
    index: str
    generation: str
    dimensions: int
    items: int
    query: str


class EmbeddingWriter(ABC):
    """Writer of one vector for each item of a generation.

    The embedding is incomplete, and cannot be searched, until `finish` returns. After an interruption it stays
    incomplete, and another writer of the same name starts from the beginning. All methods raise `Deleted` if the
    generation was deleted, and `Conflict` if another writer of the same name started later.
    """

    @abstractmethod
    def add(self, ids: Int32, vectors: Float32) -> None:
        """Write vectors of some items, in transactions of bounded size.

        Vectors that have no direction, because they are zero or not finite, are left out: cosine similarity is not
        defined for them.

        Args:
            ids: (n,) item ids. Each item is written once.
            vectors: (n, D) vectors.

        Raises:
            InvalidInput: The vectors have another number of dimensions than the embedding.
        """

    @abstractmethod
    def finish(self) -> EmbeddingInfo:
        """Create the vector index, wait until it answers, and record that the embedding is complete."""
