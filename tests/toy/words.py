"""A kind of item that graphkin does not know: words, compared by the trigrams they share (Jaccard).

What a package of somebody else would bring. Its folder holds the entry point that registers it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import pyarrow as pa
from pydantic import Field

from graphkin.protocol.errors import InvalidInput
from graphkin.similarity.columns import fixed_width_array
from graphkin.similarity.describer import Describer, Rejected
from graphkin.similarity.hits import Hits
from graphkin.similarity.join import Pairs
from graphkin.similarity.kind import Advance, Content, Descriptors, Kind, Query, Search
from graphkin.similarity.recipe import Recipe
from graphkin.store.base import Generation, as_float32
from graphkin.store.identity import content_digest, tie_ranks
from graphkin.store.records import Edges

MOST_LETTERS = 50


class WordRecipe(Recipe):
    threshold: Annotated[float, Field(gt=0, le=1)] = 0.3
    padded: bool = True


def trigrams(word: str, recipe: WordRecipe) -> frozenset[str]:
    text = f"  {word} " if recipe.padded else word
    return frozenset(text[at : at + 3] for at in range(len(text) - 2))


def similarity(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other)


def spelled(text: str) -> str:
    word = text.strip().lower()
    if not word.isalpha():
        raise Rejected("not only letters")
    return word


class WordDescriber(Describer[WordRecipe]):
    schema = pa.schema([("structure", pa.string()), ("letters", pa.int32()), ("digest", pa.binary(16))])

    def __init__(self, recipe: WordRecipe, max_size: int) -> None:
        self._recipe, self._most = recipe, max_size
        self.key = f"words {max_size} {recipe.tie_seed}".encode()

    def describe(self, text: str, notation: str, name: str | None) -> Sequence[object]:
        word = spelled(text)
        if len(word) > self._most:
            raise Rejected(f"{len(word)} letters")
        return word, len(word), content_digest(word, self._recipe.tie_seed)


class WordDescriptors(Descriptors):
    def __init__(self, words: Sequence[str], recipe: WordRecipe, tie: np.ndarray) -> None:
        self.tie, self._texts, self._recipe = tie, words, recipe
        self._trigrams = [trigrams(word, recipe) for word in words]

    @property
    def words(self) -> np.ndarray:
        return np.empty((len(self), 0), np.uint64)

    @property
    def content(self) -> Sequence[Content]:
        return ("\n".join(self._texts).encode(),)

    def index(self) -> Mapping[str, np.ndarray]:
        return {}

    def similarities(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        pairs = zip(left.tolist(), right.tolist(), strict=True)
        return np.array([similarity(self._trigrams[a], self._trigrams[b]) for a, b in pairs])

    def concatenate(self, newer: Self) -> Self:
        return type(self)([*self._texts, *newer._texts], self._recipe, np.concatenate([self.tie, newer.tie]))

    def take(self, ids: np.ndarray) -> Self:
        return type(self)([self._texts[id] for id in ids], self._recipe, self.tie[ids])

    def pairs(self, begin: int, threads: int, advance: Advance) -> Iterator[Pairs]:
        for left in range(begin, len(self)):
            found = [
                (right, same)
                for right in range(left + 1, len(self))
                if (same := similarity(self._trigrams[left], self._trigrams[right])) >= self._recipe.threshold
            ]
            b, similarities = zip(*found, strict=True) if found else ((), ())
            yield Pairs(np.full(len(found), left, np.int32), np.array(b, np.int32), np.array(similarities, np.float64))
            advance(1)


class WordSearch(Search):
    def __init__(self, generation: Generation, recipe: WordRecipe) -> None:
        self._recipe = recipe
        self._words = list(generation.structures())
        self._trigrams = [trigrams(word, recipe) for word in self._words]

    def search(self, query: Query, min_similarity: float | None, limit: int) -> Hits:
        same = self.similarities(query).astype(np.float32)
        passing = (same > 0) & (same >= as_float32(min_similarity or 0.0))
        found = Hits(np.flatnonzero(passing).astype(np.int32), same[passing])
        return found.best(limit, None if min_similarity is None else len(found.ids))

    def find_identical(self, query: Query) -> int | None:
        return next((id for id, word in enumerate(self._words) if word == query.text), None)

    def similarities(self, reference: int | Query, others: Any = slice(None)) -> np.ndarray:
        asked = trigrams(reference.text if isinstance(reference, Query) else self._words[reference], self._recipe)
        return np.array([similarity(asked, each) for each in self._trigrams])[others]


class Words(Kind[WordRecipe]):
    name = "word"
    plural = "words"
    recipe_type = WordRecipe
    describer = WordDescriber
    computed_columns = ("letters",)
    notations = ("word",)
    file_formats: ClassVar = {"csv": "word", "parquet": "word"}
    max_size = MOST_LETTERS

    def descriptors(self, items: pa.Table, recipe: WordRecipe) -> WordDescriptors:
        tie = tie_ranks(fixed_width_array(items["digest"], "<u8"))
        return WordDescriptors(items["structure"].to_pylist(), recipe, tie)

    def load_descriptors(self, generation: Generation, recipe: WordRecipe, digests: bytes) -> WordDescriptors:
        return WordDescriptors(list(generation.structures()), recipe, tie_ranks(digests))

    def warmup_descriptors(self, recipe: WordRecipe) -> WordDescriptors:
        return WordDescriptors(["one", "two"], recipe, np.arange(2, dtype=np.uint64))

    def versions(self, recipe: WordRecipe) -> dict[str, str]:
        return {"words": "1.0"}

    def read(self, recipe: WordRecipe, text: str, notation: str) -> Query:
        try:
            return Query(spelled(text), ())
        except Rejected as reason:
            raise InvalidInput(f"not a word: {reason}", given=text[:100], expected="letters") from reason

    def search(self, generation: Generation) -> WordSearch:
        return WordSearch(generation, self.recipe(generation.manifest.recipe))

    def check_items(self, generation: Generation, sample: int, random: np.random.Generator) -> list[str]:
        told = generation.column("letters").tolist()
        items = enumerate(zip(generation.structures(), told, strict=True))
        return [f"item {id} has not {letters:g} letters" for id, (word, letters) in items if letters != len(word)]

    def recompute_similarities(self, generation: Generation, edges: Edges) -> np.ndarray:
        words, recipe = list(generation.structures()), self.recipe(generation.manifest.recipe)
        pairs = zip(edges.source.tolist(), edges.target.tolist(), strict=True)
        return np.array([similarity(trigrams(words[a], recipe), trigrams(words[b], recipe)) for a, b in pairs])
