"""What commands and the library ask of a generation; with --json commands print the fields of the API's replies."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from pydantic import ValidationError

from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.measure import Measure
from graphkin.protocol.policy import Policy
from graphkin.similarity.kind import Query, Search
from graphkin.similarity.kinds import recipe_of
from graphkin.similarity.query import read_structure, the_one
from graphkin.store.base import Generation, require_stored_threshold
from graphkin.store.records import Float32, Int32, shortest
from graphkin.store.sampling.base import Sampler


def neighbors_of(generation: Generation, id: int, min_similarity: float | None, limit: int) -> dict[str, Any]:
    """As GET items/{id}/neighbors, without pages. Raises `NotFound`, and `InvalidInput` for a threshold below τ."""
    require_stored_threshold(generation, min_similarity)
    found = generation.neighbors(id, min_similarity, limit=limit)
    (item,) = generation.items([id])
    return {
        "generation": generation.id,
        "item": item,
        "neighbors": _similar(generation, found.ids, found.similarity),
        "total": found.total,
        "capped": None if item["dropped"] is None else item["dropped"] != 0,
    }


def hits_of(
    generation: Generation, search: Search, query: Query, min_similarity: float | None, limit: int
) -> dict[str, Any]:
    """As POST search. Raises `InvalidInput` for a similarity that is none."""
    require_search(min_similarity)
    found = search.search(query, min_similarity, limit)
    return {
        "generation": generation.id,
        "query": {"smiles": query.smiles, "id": search.identical(query)},
        "hits": _similar(generation, found.ids, found.similarity),
        "total": found.total,
    }


def require_search(min_similarity: float | None) -> None:
    """Raises `InvalidInput` for a similarity that is none."""
    if min_similarity is not None and not 0 < min_similarity <= 1:
        raise InvalidInput("no such similarity", given=min_similarity, expected="above 0, at most 1")


def positives_of(
    generation: Generation, sampler: Sampler, anchor: int, policy: Policy, seed: int, epoch: int
) -> dict[str, Any]:
    """As GET items/{id}/positives."""
    drawn = sampler.explain(anchor, policy, seed, epoch)
    items = generation.items([positive.id for positive in drawn])
    return {
        "generation": generation.id,
        "anchor": anchor,
        "policy": policy.model_dump(),
        "seed": seed,
        "epoch": epoch,
        "isolated": not drawn,
        "positives": [
            {
                "item": item,
                "similarity": None if positive.similarity is None else shortest(np.array([positive.similarity]))[0],
                "direct": positive.direct,
                "visits": positive.visits,
                "path": list(positive.path),
            }
            for item, positive in zip(items, drawn, strict=True)
        ],
    }


def policy_of(name: str, **parameters: Any) -> Policy:
    """The policy with defaults for parameters that are None. Raises `InvalidInput` naming the one that is wrong."""
    with refusing():
        return Policy.of(name, **parameters)


@contextmanager
def refusing() -> Iterator[None]:
    """What a model refuses is an `InvalidInput` naming what is wrong first."""
    try:
        yield
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = "".join(f"{each}: " for each in [".".join(map(str, first["loc"]))] if each)
        raise InvalidInput(f"{where}{first['msg'].removeprefix('Value error, ')}", given=first["input"]) from error


def item_of(generation: Generation, id: int | None, smiles: str | None, name: str | None) -> int:
    """The id of the item that is asked for in one of these ways. Raises as `the_one`, and for an unreadable SMILES."""
    require_one_way(id, smiles, name)
    if id is not None:
        return id
    if smiles is not None:
        canonical = read_structure(recipe_of(generation), smiles=smiles).text
        return the_one(generation.find("smiles", canonical), generation.collection, smiles=smiles)
    sought = name or ""
    found = generation.named(sought)
    return the_one(found, generation.collection, name=name, like=[] if found else generation.names_like(sought))


def require_one_way(id: int | None, smiles: str | None, name: str | None) -> None:
    """Raises `InvalidInput` unless an item is asked for by exactly one of these."""
    given = [way for way, value in (("id", id), ("smiles", smiles), ("name", name)) if value is not None]
    if len(given) != 1:
        said = " and ".join(given) or "none"
        raise InvalidInput("an item is asked for in one way", given=said, expected="exactly one of id, smiles, name")


def measure_of(tversky: tuple[float, float] | None, counts: bool) -> Measure:
    """The one that options name. Raises `InvalidInput` for both, and for weights that are none."""
    if tversky and counts:
        raise InvalidInput("a search is by one measure", given="--tversky and --counts", expected="one of them")
    if tversky is None:
        return Measure(name="counts")
    alpha, beta = tversky
    with refusing():
        return Measure(name="tversky", alpha=alpha, beta=beta)


def _similar(generation: Generation, ids: Int32, similarity: Float32) -> list[dict[str, Any]]:
    return [
        {"item": item, "similarity": text}
        for item, text in zip(generation.items(ids), shortest(similarity), strict=True)
    ]
