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
from graphkin.similarity.devices import Device, cpu_only
from graphkin.similarity.hits import NO_HITS, Hits, Matches
from graphkin.similarity.join import Pairs
from graphkin.similarity.recipe import AnyRecipe
from graphkin.similarity.threads import run_in_order
from graphkin.store.base import Generation, as_float32
from graphkin.store.identity import content_digests
from graphkin.store.records import Edges, FingerprintType, Float64, Int32, Int64, Links, Mask, UInt64

BLOCK = 4096
"""Number of consecutive items whose descriptions for substructure search are computed together."""

_ITEMS_PER_COMPARISON = 65_536  # in `search_among`

Advance: TypeAlias = Callable[[int], object]
"""Function that reports progress. Its argument is the number of items completed since the previous call."""

Content: TypeAlias = Any
"""Data that can be hashed: bytes, an array or an Arrow buffer."""


class Descriptors(ABC):
    """The data of N items from which candidate rules and similarities are computed.

    Row i of each array belongs to the item with id i.

    Attributes:
        tie: (N,) uint64 hash of each item's content, the tie-breaker. It orders neighbors of equal similarity.
        links: Edges of the network whose nodes the items are; None if the items are not nodes.
    """

    tie: UInt64
    links: Links | None = None

    def __len__(self) -> int:
        return len(self.tie)

    @property
    @abstractmethod
    def words(self) -> UInt64:
        """(N, W) uint64 packed fingerprints; W is 0 for items without fingerprints."""

    @property
    @abstractmethod
    def content(self) -> Sequence[Content]:
        """The data that, together with `tie` and the recipe, determine the result of `pairs`."""

    @abstractmethod
    def index(self) -> Mapping[str, NDArray[Any]]:
        """Return the arrays of the search index by name."""

    @abstractmethod
    def pairs(self, first_task: int, threads: int, advance: Advance) -> Iterator[Pairs]:
        """Yield the pairs that the candidate rule finds and whose similarity reaches the recipe's threshold.

        The work is divided into tasks, numbered from 0. Each yielded block holds the pairs of one task, in task order.
        The tasks and their pairs depend only on `content`, `tie` and the recipe, not on the number of threads.

        Args:
            first_task: First task to run. An interrupted join continues with the first task whose pairs are missing.
            threads: Number of threads.
            advance: Called with the number of items that each task counts for, including tasks before `first_task`.
        """

    def new_pairs(self, old_count: int, first_task: int, threads: int, advance: Advance) -> Iterator[Pairs]:
        """Yield those of `pairs` that contain a new item, in tasks of their own.

        Args:
            old_count: Number of old items. New items have ids from `old_count` on.
            first_task: First task to run.
            threads: Number of threads.
            advance: Called as by `pairs`.
        """
        for pairs in self.pairs(first_task, threads, advance):
            yield pairs.take(pairs.right >= old_count)

    def with_device(self, device: Device) -> Self:
        """Return descriptors of the same items whose `pairs` and `new_pairs` are computed on a device.

        The pairs are the same on every device, but not their division into tasks.

        Raises:
            InvalidInput: This machine has no such device, or items of this kind are compared on the CPU only.
        """
        if device == "cpu":
            return self
        raise cpu_only(device)

    @abstractmethod
    def similarities(self, left: Int32, right: Int32) -> Float64:
        """Return the similarities of pairs of different items, equal to those in `pairs`.

        Args:
            left: (P,) ids.
            right: (P,) ids.

        Returns:
            (P,) float64 similarities.
        """

    @abstractmethod
    def concatenate(self, new_items: Self) -> Self:
        """Return the descriptors of these items followed by `new_items`.

        Raises:
            Conflict: New items would change the descriptors of these items.
        """

    @abstractmethod
    def take(self, ids: Int32) -> Self:
        """Return the descriptors of the items `ids`, in this order. An id must not occur twice.

        Raises:
            Conflict: Without the other items, the descriptors would differ.
        """


@dataclass(frozen=True)
class Query:
    """A query structure, read according to the recipe.

    Attributes:
        text: The structure as the item table would store it.
        arrays: The data to compare with the items. Each kind defines its arrays.
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
        screen: Packed bits. Every item that contains the pattern has all of them in its own screen.
    """

    notation: str
    text: str
    screen: bytes


class Substructures(ABC):
    """Exact substructure search over the items of one generation.

    Before items can be matched, they are described: converted to the form that the matcher reads. This is done in
    blocks of `BLOCK` consecutive ids, when an item of the block is first needed. Descriptions are cached on this
    machine.

    Thread safety:
        Instances may be shared between threads.
    """

    @abstractmethod
    def prepare(self, block: int) -> None:
        """Describe the items `BLOCK * block` to `BLOCK * (block + 1) - 1` unless their description is cached.

        This takes seconds. Matching a pattern in a described block takes fractions of a second.
        """

    @abstractmethod
    def match(self, pattern: Pattern, ids: Int32, threads: int = 1) -> Mask:
        """Return (n,) bool: whether each of the items `ids`, (n,) int32, contains the pattern."""


class Search(ABC):
    """Exact search over the items of one generation: no item ≥ the threshold is missed.

    Thread safety:
        Instances may be shared between threads.
    """

    @abstractmethod
    def search(self, query: Query, min_similarity: float | None, limit: int) -> Hits:
        """Return the most similar items. An item equal to the query is included.

        The recipe's top-k limit does not apply.

        Args:
            query: The query structure.
            min_similarity: Lowest similarity of a hit, compared after rounding to float32; None for no threshold.
            limit: Maximum number of hits.

        Returns:
            The hits, ordered by similarity (descending), then id. `total` is None if `min_similarity` is None.
        """

    def search_among(self, ids: Int32, query: Query, min_similarity: float | None, limit: int) -> Hits:
        """Return the most similar of the items `ids`, each of which is compared with the query.

        Items with similarity 0 are never hits. The other arguments and the result are those of `search`.
        """
        threshold, hits, total = as_float32(min_similarity), NO_HITS, 0
        for start in range(0, len(ids), _ITEMS_PER_COMPARISON):
            block = ids[start : start + _ITEMS_PER_COMPARISON]
            similarity = self.similarities(query, block).astype(np.float32)
            mask = (similarity > 0) & (similarity >= threshold)
            total += int(np.count_nonzero(mask))
            hits = hits.concatenate(Hits(block[mask], similarity[mask])).best(limit)
        return replace(hits, total=None if min_similarity is None else total)

    def search_all(
        self, queries: Sequence[Query], min_similarity: float | None, limit: int, threads: int
    ) -> Generator[Matches]:
        """Search for each of many queries, and yield the matches of a few queries at a time.

        The queries come in any order. If the caller stops iterating, searches that have not started are never run.
        """
        calls = (partial(self.search, query, min_similarity, limit) for query in queries)
        for number, hits in enumerate(run_in_order(calls, threads)):
            yield Matches.from_hits(number, hits)

    def require_comparable(self, query: Query) -> None:  # noqa: B027 - most kinds can compare every query they can read
        """Check that the query can be compared with the items.

        Raises:
            Conflict: The query cannot be compared with the items.
        """

    @abstractmethod
    def find_identical(self, query: Query) -> int | None:
        """Return the lowest id among the items with the same structure as the query, or None."""

    def find_identical_all(self, queries: Sequence[Query], matches: Matches) -> list[int | None]:  # noqa: ARG002
        """Return the result of `find_identical` for each query.

        Args:
            queries: The queries.
            matches: All matches that `search_all` yielded for these queries.
        """
        return [self.find_identical(query) for query in queries]

    @abstractmethod
    def similarities(self, reference: int | Query, others: Int32 | Int64 | slice = slice(None)) -> Float64:
        """Return the similarities of one structure with some items.

        Args:
            reference: The structure: the id of an item, or a query.
            others: (n,) ids of the items to compare, by default of all items. The reference item may be among them.

        Returns:
            (n,) float64 similarities.
        """

    def count_similar(self, ids: Int64, thresholds: Sequence[float]) -> Int64:
        """Return (T, n) int64: for each of T thresholds, the number of items that reach it with each item of `ids`.

        An item is not counted with itself, and similarities of 0 never count.
        """
        counts = np.empty((len(thresholds), len(ids)), np.int64)
        for column, id in enumerate(ids.tolist()):
            similarities = np.delete(self.similarities(id), id)
            similar = similarities[similarities > 0]
            counts[:, column] = [(similar >= threshold).sum() for threshold in thresholds]
        return counts

    def with_device(self, device: Device) -> "Search":
        """Return a search over the same items whose `search_all` and `count_similar` are computed on a device.

        The results are the same on every device.

        Raises:
            InvalidInput: This machine has no such device, or such items are compared on the CPU only.
        """
        if device == "cpu":
            return self
        raise cpu_only(device)

    def with_measure(self, measure: Measure) -> "Search":
        """Return a search over the same items by another similarity measure.

        Raises:
            Conflict: The measure does not apply to items of this kind.
        """
        raise Conflict(
            "the items of this collection cannot be compared by this measure",
            given=measure.name,
            expected="tversky, dice or cosine for items with fingerprints, counts for molecules",
            hint="leave the measure out to compare as the collection was ingested",
        )


class Kind(ABC, Generic[AnyRecipe]):
    """One kind of item: how items are described, compared, searched and verified.

    Items of every kind that is registered in `graphkin.similarity.kinds` can be ingested, stored, served, searched and
    exported.

    Attributes:
        name: Unique name, in lower-case letters.
        plural: Plural of the name, for messages.
        recipe_type: Class of the recipes.
        describer: Class that describes the records.
        structure_column: Column of the item table that holds the structure of an item.
        computed_columns: Columns of the describer that are stored as numeric properties.
        notations: Notations of a structure, the default first. Example: "smiles", "inchi".
        file_formats: File formats that can hold such items, each with the notation of its structures.
        max_size: Default limit on the number of atoms or nodes of an item.
    """

    name: ClassVar[str]
    plural: ClassVar[str]
    recipe_type: type[AnyRecipe]
    describer: type[Describer[AnyRecipe]]
    structure_column: ClassVar[Literal["smiles", "structure"]] = "structure"
    computed_columns: ClassVar[Sequence[str]]
    notations: ClassVar[Sequence[str]]
    file_formats: ClassVar[Mapping[str, str]]
    max_size: ClassVar[int]

    def recipe(self, values: Mapping[str, Any]) -> AnyRecipe:
        """Return the recipe that a manifest stores as `values`."""
        return self.recipe_type.model_validate(values)

    @abstractmethod
    def descriptors(self, items: pa.Table, recipe: AnyRecipe) -> Descriptors:
        """Return the descriptors of distinct items.

        Args:
            items: One row per item, with the columns of the describer's schema.
            recipe: The recipe of the items.
        """

    @abstractmethod
    def load_descriptors(self, generation: Generation, recipe: AnyRecipe, digests: bytes) -> Descriptors:
        """Return the descriptors of the items of a published generation.

        Args:
            generation: The generation.
            recipe: The recipe of the generation.
            digests: The result of the method `digests` for the generation.
        """

    def digests(self, generation: Generation, recipe: AnyRecipe) -> bytes:
        """Return the digests of all items of a published generation, 16 bytes each, concatenated in id order.

        They equal the digests that the describer computed when the items were ingested. This implementation hashes the
        stored structures.
        """
        return content_digests(generation.structures(), recipe.tie_seed)

    @abstractmethod
    def warmup_descriptors(self, recipe: AnyRecipe) -> Descriptors:
        """Return the descriptors of two made-up items, with which the caller compiles the kernels ahead of use."""

    @abstractmethod
    def versions(self, recipe: AnyRecipe) -> dict[str, str]:
        """Return the versions of the libraries that describe and compare these items."""

    def consistent_column(self, recipe: AnyRecipe) -> str | None:  # noqa: ARG002
        """Return the describer column in which all records of one item must agree.

        Return None if equal digests imply that all columns agree.
        """
        return None

    def fingerprint(self, recipe: AnyRecipe) -> FingerprintType | None:  # noqa: ARG002
        """Return the type of the items' packed fingerprints, or None if the items have no fingerprints."""
        return None

    @abstractmethod
    def read(self, recipe: AnyRecipe, text: str, notation: str) -> Query:
        """Read a query structure.

        Args:
            recipe: The recipe of the collection to search.
            text: The structure as text.
            notation: Notation of the text, one of `notations`.

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

        Args:
            recipe: The recipe of the collection to search.
            text: The pattern as text.
            notation: Notation of the text.

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
            f"{self.plural} have no substructures",
            given="substructure",
            expected="a collection of molecules",
            hint="leave the substructure out",
        )

    @abstractmethod
    def check_items(self, generation: Generation, sample: int, random: np.random.Generator) -> list[str]:
        """Describe `sample` random items again, and return one message per item whose stored data differ."""

    @abstractmethod
    def recompute_similarities(self, generation: Generation, edges: Edges) -> Float64:
        """Return the similarities of stored edges, recomputed from the stored structures.

        For verification, an implementation should compute them that ingest does not use, such as RDKit's.

        Returns:
            (E,) float64 similarities.
        """
