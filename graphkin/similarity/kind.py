"""Kinds of items: all that building, searching and checking a hierarchy does differently for each."""

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
from graphkin.similarity.hits import NOTHING, Hits, Matches
from graphkin.similarity.join import Pairs
from graphkin.similarity.recipe import AnyRecipe
from graphkin.similarity.threads import in_order
from graphkin.store.base import Generation, rounded
from graphkin.store.identity import content_digests
from graphkin.store.records import Edges, FingerprintType, Float64, Int32, Int64, Links, Mask, UInt64

BLOCK = 4096
"""Items that are described together, for their substructures."""

_BLOCK = 65_536  # items that are compared at a time

Advance: TypeAlias = Callable[[int], object]
Content: TypeAlias = Any  # bytes, or an array or Arrow buffer of them


class Descriptors(ABC):
    """What candidate rules and similarities need of every item, by id. `tie` (N,) ranks equals by their content."""

    tie: UInt64
    links: Links | None = None
    """Of the big graph whose nodes the items are, if they are nodes."""

    def __len__(self) -> int:
        return len(self.tie)

    @property
    @abstractmethod
    def words(self) -> UInt64:
        """(N, W) packed fingerprints; W is 0 for items that have none."""

    @property
    @abstractmethod
    def content(self) -> Sequence[Content]:
        """Everything that, with `tie` and the recipe, decides what `pairs` finds."""

    @abstractmethod
    def index(self) -> Mapping[str, NDArray[Any]]:
        """Arrays by name that make searching quick."""

    @abstractmethod
    def pairs(self, begin: int, threads: int, advance: Advance) -> Iterator[Pairs]:
        """The pairs as similar as the recipe asks, a block for every task from `begin` on, in their order.

        The tasks follow from content and recipe alone. `advance` is told how many items a task amounts to.
        """

    def newer_pairs(self, older: int, begin: int, threads: int, advance: Advance) -> Iterator[Pairs]:
        """Those of `pairs` with an item that is none of the first `older`, in tasks likewise."""
        for pairs in self.pairs(begin, threads, advance):
            yield pairs.take(pairs.right >= older)

    @abstractmethod
    def similarities(self, left: Int32, right: Int32) -> Float64:
        """(P,) of pairs of different items, the same numbers as in `pairs`."""

    @abstractmethod
    def followed_by(self, newer: Self) -> Self:
        """These items, and after them others."""

    @abstractmethod
    def take(self, ids: Int32) -> Self:
        """Some of these items, in this order; no id is given twice."""


@dataclass(frozen=True)
class Query:
    """A structure somebody asks about, as the recipe reads it: its text in the item table, what is compared, in arrays
    that its kind knows, and its SMILES if it has one."""

    text: str
    arrays: tuple[NDArray[Any], ...]
    smiles: str | None = None


@dataclass(frozen=True)
class Pattern:
    """A substructure that somebody looks for, as its kind reads it: how it is written, its text, and a screen of bits
    that all items have which have it."""

    writing: str
    text: str
    screen: bytes


class Substructures(ABC):
    """Which items of one generation have what in them, exactly. Safe to share between threads.

    `BLOCK` items at a time, one block after the other in id order, are described when one of them is first asked about.
    """

    @abstractmethod
    def prepare(self, block: int) -> None:
        """Describe a block now, unless this machine has it: seconds, where asking takes parts of one."""

    @abstractmethod
    def having(self, pattern: Pattern, ids: Int32, threads: int = 1) -> Mask:
        """(n,) which of these items have it."""


class Search(ABC):
    """Any structure against every item of one generation, exactly. Safe to share between threads."""

    @abstractmethod
    def search(self, query: Query, min_similarity: float | None, limit: int) -> Hits:
        """The `limit` most similar items with similarity ≥ min_similarity (as float32), uncapped by the hierarchy's
        cap; an item equal to the query is among them. `total` is counted only with a threshold."""

    def search_among(self, ids: Int32, query: Query, min_similarity: float | None, limit: int) -> Hits:
        """What `search` finds among these items alone, each of them compared; what has nothing in common with the query
        is not found."""
        least, found, total = rounded(min_similarity), NOTHING, 0
        for start in range(0, len(ids), _BLOCK):
            some = ids[start : start + _BLOCK]
            similarity = self.similarities(query, some).astype(np.float32)
            passing = (similarity > 0) & (similarity >= least)
            total += int(np.count_nonzero(passing))
            found = found.with_(Hits(some[passing], similarity[passing])).best(limit)
        return replace(found, total=None if min_similarity is None else total)

    def search_all(
        self, queries: Sequence[Query], min_similarity: float | None, limit: int, threads: int
    ) -> Generator[Matches]:
        """What `search` finds for each of many queries, a few of them at a time, in any order.

        Work that has not begun when reading ends is never done.
        """
        calls = (partial(self.search, query, min_similarity, limit) for query in queries)
        for number, hits in enumerate(in_order(calls, threads)):
            yield Matches.of(number, hits)

    def require_comparable(self, query: Query) -> None:  # noqa: B027 - most can compare whatever can be read
        """Raises `Conflict` for a query that these items cannot be compared with."""

    @abstractmethod
    def identical(self, query: Query) -> int | None:
        """The lowest id of the items with the same structure."""

    def identical_all(self, queries: Sequence[Query], found: Matches) -> list[int | None]:  # noqa: ARG002
        """`identical` of each of many queries, of which `search_all` found this."""
        return [self.identical(query) for query in queries]

    @abstractmethod
    def similarities(self, of: int | Query, others: Int32 | Int64 | slice = slice(None)) -> Float64:
        """(n,) of one item, or of any structure, with others, by default (N,) with all, itself among them."""

    def measured(self, measure: Measure) -> "Search":
        """The same items, compared by another measure. Raises `Conflict` for one that does not compare such items."""
        raise Conflict(
            "the items of this collection are not compared so",
            given=measure.name,
            expected="tversky where they have fingerprints, counts where they are molecules",
        )


class Kind(ABC, Generic[AnyRecipe]):
    """One kind of item, compared as recipes of one type say.

    One that is registered (`similarity.kinds`) is ingested, kept, served, searched and exported.
    """

    name: ClassVar[str]
    """Lower-case letters."""
    plural: ClassVar[str]
    recipe_type: type[AnyRecipe]
    describer: type[Describer[AnyRecipe]]
    structure: ClassVar[Literal["smiles", "structure"]] = "structure"
    """The column of the item table that says what an item is."""
    computed: ClassVar[Sequence[str]]
    """Columns of the describer that are kept as numeric properties."""
    writings: ClassVar[Sequence[str]]
    """Ways to write a structure; the usual one first."""
    files: ClassVar[Mapping[str, str]]
    """Formats of files that hold such items, and which of the writings is in each."""
    max_size: ClassVar[int]
    """Atoms or nodes of the largest item that is kept, unless told otherwise."""

    def recipe(self, values: Mapping[str, Any]) -> AnyRecipe:
        """The recipe of a manifest."""
        return self.recipe_type.model_validate(values)

    @abstractmethod
    def descriptors(self, items: pa.Table, recipe: AnyRecipe) -> Descriptors:
        """Of the distinct items, as their describer described them."""

    @abstractmethod
    def descriptors_of(self, generation: Generation, recipe: AnyRecipe, digests: bytes) -> Descriptors:
        """Of the items of a published generation, which have these `digests`."""

    def digests(self, generation: Generation, recipe: AnyRecipe) -> bytes:
        """Of the items of a published generation, one after the other, as their describer gave them: by default of what
        each item is."""
        return content_digests(generation.structures(), recipe.tie_seed)

    @abstractmethod
    def specimen(self, recipe: AnyRecipe) -> Descriptors:
        """Two items, to compile with."""

    @abstractmethod
    def versions(self, recipe: AnyRecipe) -> dict[str, str]:
        """Of the libraries that take part in describing and comparing these items."""

    def agreeing(self, recipe: AnyRecipe) -> str | None:  # noqa: ARG002
        """A column of the describer in which all records of one item must agree; None where they do by themselves."""
        return None

    def fingerprint(self, recipe: AnyRecipe) -> FingerprintType | None:  # noqa: ARG002
        """What the items' packed fingerprints are; None for items that have none."""
        return None

    @abstractmethod
    def read(self, recipe: AnyRecipe, text: str, writing: str) -> Query:
        """Read a structure that somebody asks about. Raises `InvalidInput` with the reason."""

    @abstractmethod
    def search(self, generation: Generation) -> Search:
        """Raises `Conflict` where this generation cannot be searched here."""

    def pattern(self, recipe: AnyRecipe, text: str, writing: str) -> Pattern:  # noqa: ARG002
        """Read a substructure that somebody looks for. Raises `InvalidInput` with the reason, and `Conflict` for items
        that have none."""
        raise self._no_substructures()

    def substructures(self, generation: Generation) -> Substructures:  # noqa: ARG002
        """Raises `Conflict` for items that have none."""
        raise self._no_substructures()

    def _no_substructures(self) -> Conflict:
        return Conflict(
            f"{self.plural} have no substructures", given="substructure", expected="a collection of molecules"
        )

    @abstractmethod
    def wrong_items(self, generation: Generation, sample: int, random: np.random.Generator) -> list[str]:
        """Which of `sample` random items are not described as the libraries describe them."""

    @abstractmethod
    def recomputed(self, generation: Generation, edges: Edges) -> Float64:
        """(E,) similarities of some edges by another implementation than the ingest's, from the stored structures."""
