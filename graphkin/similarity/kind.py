"""The interface of a kind of item: everything that ingest, search and verification do differently for each kind."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Generic, Literal, Self, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graphkin.protocol.errors import Conflict
from graphkin.protocol.measure import Measure
from graphkin.similarity.describer import Describer
from graphkin.similarity.hits import NO_HITS, Hits, Matches
from graphkin.similarity.join import Pairs
from graphkin.similarity.recipe import AnyRecipe
from graphkin.similarity.threads import run_in_order
from graphkin.store.base import Generation, as_float32
from graphkin.store.identity import content_digests
from graphkin.store.records import Edges, FingerprintType, Float64, Int32, Int64, Links, Mask, UInt64

BLOCK = 4096
"""Number of consecutive items whose descriptions for substructure search are computed together."""

_BLOCK = 65_536  # items per comparison in search_among

Advance: TypeAlias = Callable[[int], object]
Content: TypeAlias = Any  # bytes, an array or an Arrow buffer


class Descriptors(ABC):
    """Per-item data, by id, from which candidate rules and similarities are computed.

    Attributes:
        tie: (N,) uint64 hash of each item's content. It orders items that are otherwise equal.
    """

    tie: UInt64
    links: Links | None = None
    """Edges of the big graph whose nodes the items are; None if the items are not nodes."""

    def __len__(self) -> int:
        return len(self.tie)

    @property
    @abstractmethod
    def words(self) -> UInt64:
        """(N, W) uint64 packed fingerprints; W is 0 for items without fingerprints."""

    @property
    @abstractmethod
    def content(self) -> Sequence[Content]:
        """The data that, together with `tie` and the recipe, determines the result of `pairs`."""

    @abstractmethod
    def index(self) -> Mapping[str, NDArray[Any]]:
        """Return the arrays of the search index by name."""

    @abstractmethod
    def pairs(self, first_task: int, threads: int, advance: Advance) -> Iterator[Pairs]:
        """Yield the pairs that the recipe's threshold admits, one block per task, from task `first_task` on.

        Tasks run in order and depend only on `content` and the recipe.

        Args:
            begin: First task to run.
            threads: Number of threads.
            advance: Called with the number of items that each task counts for, including tasks before `first_task`.
        """

    def new_pairs(self, old_count: int, first_task: int, threads: int, advance: Advance) -> Iterator[Pairs]:
        """Yield the pairs that contain an item with id ≥ `old_count`, in tasks as in `pairs`."""
        for pairs in self.pairs(first_task, threads, advance):
            yield pairs.take(pairs.right >= old_count)

    @abstractmethod
    def similarities(self, left: Int32, right: Int32) -> Float64:
        """Return (P,) similarities of pairs of different items; equal to those in `pairs`."""

    @abstractmethod
    def concatenate(self, new_items: Self) -> Self:
        """Return descriptors of these items followed by those of `new_items`."""

    @abstractmethod
    def take(self, ids: Int32) -> Self:
        """Return descriptors of the items `ids`, in this order. An id must not occur twice."""


@dataclass(frozen=True)
class Query:
    """A query structure, read according to the recipe.

    Attributes:
        text: The structure as the item table would store it.
        arrays: The data that is compared, in arrays that depend on the kind.
        smiles: The canonical SMILES, if the structure has one.
    """

    text: str
    arrays: tuple[NDArray[Any], ...]
    smiles: str | None = None


@dataclass(frozen=True)
class Pattern:
    """A substructure pattern, read according to the recipe.

    Attributes:
        notation: Notation of the pattern.
        text: The pattern in this notation.
        screen: Packed bits that are set for every item that contains the pattern.
    """

    notation: str
    text: str
    screen: bytes


class Substructures(ABC):
    """Exact substructure search over the items of one generation.

    Items are described in blocks of `BLOCK` consecutive ids. A block is described when one of its items is first
    needed.

    Thread safety: instances may be shared between threads.
    """

    @abstractmethod
    def prepare(self, block: int) -> None:
        """Describe a block now unless its description is cached on this machine.

        This takes seconds. Matching a pattern in a described block takes fractions of a second.
        """

    @abstractmethod
    def match(self, pattern: Pattern, ids: Int32, threads: int = 1) -> Mask:
        """Return (n,) bool: which of the items `ids` contain the pattern."""


class Search(ABC):
    """Exact search: a query structure against every item of one generation.

    Thread safety: instances may be shared between threads.
    """

    @abstractmethod
    def search(self, query: Query, min_similarity: float | None, limit: int) -> Hits:
        """Return the most similar items. An item equal to the query is included.

        The recipe's top-k limit does not apply.

        Args:
            query: The query structure.
            min_similarity: Lowest similarity of a hit, compared as float32, or None for no threshold.
            limit: Maximum number of hits.

        Returns:
            The hits. `total` is counted only if `min_similarity` is set.
        """

    def search_among(self, ids: Int32, query: Query, min_similarity: float | None, limit: int) -> Hits:
        """Search as in `search`, but only among the items `ids`. Each of them is compared with the query.

        Items with similarity 0 are never hits.
        """
        threshold, hits, total = as_float32(min_similarity), NO_HITS, 0
        for start in range(0, len(ids), _BLOCK):
            block = ids[start : start + _BLOCK]
            similarity = self.similarities(query, block).astype(np.float32)
            mask = (similarity > 0) & (similarity >= threshold)
            total += int(np.count_nonzero(mask))
            hits = hits.concatenate(Hits(block[mask], similarity[mask])).best(limit)
        return replace(hits, total=None if min_similarity is None else total)

    def search_all(
        self, queries: Sequence[Query], min_similarity: float | None, limit: int, threads: int
    ) -> Generator[Matches]:
        """Search for each of many queries, and yield the matches of a few queries at a time, in any order.

        If the caller stops iterating, searches that have not started are never run.
        """
        calls = (partial(self.search, query, min_similarity, limit) for query in queries)
        for number, hits in enumerate(run_in_order(calls, threads)):
            yield Matches.from_hits(number, hits)

    def require_comparable(self, query: Query) -> None:  # noqa: B027 - most kinds can compare every query they can read
        """Check that the query can be compared with these items.

        Raises:
            Conflict: The query cannot be compared with these items.
        """

    @abstractmethod
    def find_identical(self, query: Query) -> int | None:
        """Return the lowest id of the items with the same structure, or None."""

    def find_identical_all(self, queries: Sequence[Query], matches: Matches) -> list[int | None]:  # noqa: ARG002
        """Return `find_identical` of each query; `matches` is what `search_all` returned for these queries."""
        return [self.find_identical(query) for query in queries]

    @abstractmethod
    def similarities(self, reference: int | Query, others: Int32 | Int64 | slice = slice(None)) -> Float64:
        """Return (n,) similarities of an item, by its id, or of a query structure with the items `others`.

        By default `others` are all items; an item's similarity with itself is included.
        """

    def with_measure(self, measure: Measure) -> "Search":
        """Return a search over the same items by another similarity measure.

        Raises:
            Conflict: The measure does not apply to these items.
        """
        raise Conflict(
            "the items of this collection are not compared so",
            given=measure.name,
            expected="tversky where they have fingerprints, counts where they are molecules",
        )


class Kind(ABC, Generic[AnyRecipe]):
    """One kind of item and the type of its recipes.

    A kind that is registered in `graphkin.similarity.kinds` can be ingested, stored, served, searched and exported.

    Attributes:
        name: Unique name, in lower-case letters.
        plural: Plural of the name, for messages.
        recipe_type: Class of its recipes.
        describer: Class that describes its records.
    """

    name: ClassVar[str]
    plural: ClassVar[str]
    recipe_type: type[AnyRecipe]
    describer: type[Describer[AnyRecipe]]
    structure_column: ClassVar[Literal["smiles", "structure"]] = "structure"
    """Column of the item table that holds the structure of an item."""
    computed_columns: ClassVar[Sequence[str]]
    """Columns of the describer that are stored as numeric properties."""
    notations: ClassVar[Sequence[str]]
    """Notations of a structure, the default one first."""
    file_formats: ClassVar[Mapping[str, str]]
    """File formats that can hold such items, each with the notation of its structures."""
    max_size: ClassVar[int]
    """Default limit on the atoms or nodes of an item."""

    def recipe(self, values: Mapping[str, Any]) -> AnyRecipe:
        """Return the recipe with the values of a manifest."""
        return self.recipe_type.model_validate(values)

    @abstractmethod
    def descriptors(self, items: pa.Table, recipe: AnyRecipe) -> Descriptors:
        """Return the descriptors of distinct items, from a table with the columns of their describer."""

    @abstractmethod
    def descriptors_of(self, generation: Generation, recipe: AnyRecipe, digests: bytes) -> Descriptors:
        """Return the descriptors of the items of a published generation; `digests` is the result of `digests`."""

    def digests(self, generation: Generation, recipe: AnyRecipe) -> bytes:
        """Return the concatenated digests of all items of a published generation, equal to those of the describer.

        By default they are hashes of the stored structures.
        """
        return content_digests(generation.structures(), recipe.tie_seed)

    @abstractmethod
    def warmup_descriptors(self, recipe: AnyRecipe) -> Descriptors:
        """Return descriptors of two items, for compiling kernels ahead of use."""

    @abstractmethod
    def versions(self, recipe: AnyRecipe) -> dict[str, str]:
        """Return the versions of the libraries that describe and compare these items."""

    def consistent_column(self, recipe: AnyRecipe) -> str | None:  # noqa: ARG002
        """Return the describer column whose values must be equal in all records of one item.

        None if they always are.
        """
        return None

    def fingerprint(self, recipe: AnyRecipe) -> FingerprintType | None:  # noqa: ARG002
        """Return the type of the items' packed fingerprints; None if they have none."""
        return None

    @abstractmethod
    def read(self, recipe: AnyRecipe, text: str, notation: str) -> Query:
        """Read a query structure.

        Raises:
            InvalidInput: The text cannot be read; the message is the reason.
        """

    @abstractmethod
    def search(self, generation: Generation) -> Search:
        """Return the search over a generation.

        Raises:
            Conflict: This installation cannot search the generation.
        """

    def pattern(self, recipe: AnyRecipe, text: str, notation: str) -> Pattern:  # noqa: ARG002
        """Read a substructure pattern.

        Raises:
            InvalidInput: The text cannot be read; the message is the reason.
            Conflict: Items of this kind have no substructures.
        """
        raise self._no_substructures()

    def substructures(self, generation: Generation) -> Substructures:  # noqa: ARG002
        """Return the substructure search over a generation.

        Raises:
            Conflict: Items of this kind have no substructures.
        """
        raise self._no_substructures()

    def _no_substructures(self) -> Conflict:
        return Conflict(
            f"{self.plural} have no substructures", given="substructure", expected="a collection of molecules"
        )

    @abstractmethod
    def check_items(self, generation: Generation, sample: int, random: np.random.Generator) -> list[str]:
        """Describe `sample` random items again and return one message per item that differs from the store."""

    @abstractmethod
    def recompute_similarities(self, generation: Generation, edges: Edges) -> Float64:
        """Return (E,) similarities of stored edges, recomputed from the stored structures.

        They come from another implementation than the one that ingest uses.
        """
