"""Exact search in a generation of graphs or of nodes, by the Weisfeiler-Lehman kernel."""

from importlib.metadata import version

import numpy as np

from graphkin.protocol.errors import Conflict, InvalidInput
from graphkin.protocol.parameters import parameter
from graphkin.similarity.describer import Rejected
from graphkin.similarity.graphs.describer import read_structure
from graphkin.similarity.graphs.index import SubtreeIndex
from graphkin.similarity.graphs.recipe import WEISFEILER_LEHMAN, StructureRecipe
from graphkin.similarity.graphs.recomputation import load_features
from graphkin.similarity.graphs.wl import Features, normalize
from graphkin.similarity.hits import Hits
from graphkin.similarity.kind import Query, Search
from graphkin.similarity.stored_index import load_index, load_or_compute_index
from graphkin.store.base import Generation, as_float32
from graphkin.store.records import Float64, Int32, Int64


class GraphSearch(Search):
    """Search by the Weisfeiler-Lehman kernel in a generation of graphs or of nodes.

    Raises:
        Conflict: The kernel of the recipe is another one.
    """

    def __init__(self, generation: Generation, recipe: StructureRecipe) -> None:
        self._generation = generation
        self._recipe = recipe
        if self._recipe.kernel not in WEISFEILER_LEHMAN:
            raise Conflict(
                "a collection of this kernel cannot be searched",
                given=f"kernel {self._recipe.kernel}",
                expected=f"kernel {' or '.join(WEISFEILER_LEHMAN)}",
                hint=f"ingest the graphs again with {parameter('--kernel', 'wl')}",
            )
        self._index = self._load_index(generation)

    def _load_index(self, generation: Generation) -> SubtreeIndex:
        def is_valid(index: SubtreeIndex) -> bool:
            return index.is_valid_for(generation.size)

        def compute() -> SubtreeIndex:
            return SubtreeIndex.from_features(load_features(generation, self._recipe))

        is_complete = generation.indexed_count == generation.size
        stored = load_index(generation, SubtreeIndex, is_valid) if is_complete else None
        key = f"{self._recipe.model_dump_json(include={'labels', 'weights', 'iterations'})} {version('graphkin')}"
        return stored or load_or_compute_index(generation, key, SubtreeIndex, is_valid, compute)

    def search(self, query: Query, min_similarity: float | None, limit: int) -> Hits:
        similarity = self.similarities(query).astype(np.float32)
        mask = similarity > 0
        if min_similarity is None:
            return Hits(np.flatnonzero(mask).astype(np.int32), similarity[mask]).best(limit)
        mask &= similarity >= as_float32(min_similarity)
        hits = Hits(np.flatnonzero(mask).astype(np.int32), similarity[mask])
        return hits.best(limit, total=len(hits.ids))

    def find_identical(self, query: Query) -> int | None:
        equal = self.search(query, 1.0, self._generation.size).ids
        structures = zip(equal.tolist(), self._generation.structures(equal), strict=True)
        return next((id for id, text in structures if text == query.text), None)

    def similarities(self, reference: int | Query, others: Int32 | Int64 | slice = slice(None)) -> Float64:
        query = reference if isinstance(reference, Query) else self._read(reference)
        features = Features(*query.arrays)
        return normalize(self._index.products(features), self._index.square, features.square[0])[others]

    def _read(self, id: int) -> Query:
        (text,) = self._generation.structures(np.array([id], np.int32))
        return read_graph(self._recipe, text)


def read_graph(recipe: StructureRecipe, text: str) -> Query:
    """Read a query graph as JSON, with its center if the recipe requires one.

    Raises:
        InvalidInput: The text cannot be read; the message is the reason.
    """
    try:
        structure = read_structure(text, recipe)
    except Rejected as reason:
        excerpt = text[:200].encode(errors="backslashreplace").decode()
        attributes = "".join(f', "{name}": [3, ...]' for name in recipe.compared_attributes)
        center = ', "centre": 0' if recipe.centered else ""
        expected = f'{{"edges": [[0, 1], ...]{attributes}{center}}}'
        raise InvalidInput(
            f"this is not a graph: {reason}",
            given=excerpt,
            expected=expected,
            hint="write the graph as in the example, nodes counted from 0",
        ) from reason
    features = Features.from_structures([structure], recipe)
    return Query(structure.text, (features.indptr, features.subtree, features.count))
