"""What commands and the library ask of a generation; with --json commands print the fields of the API's replies."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from pydantic import ValidationError

from graphkin.collection.cliffs import Cliffs
from graphkin.collection.clusters.kept import clusters, threshold_of
from graphkin.collection.clusters.partition import Clusters
from graphkin.collection.having import Having
from graphkin.collection.query import point_to_name, read_structure, the_one
from graphkin.collection.selection import Near, Selections
from graphkin.export.table import Comparison
from graphkin.ingest.progress import Progress
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.filters import Filter
from graphkin.protocol.manifest import Manifest
from graphkin.protocol.measure import Measure
from graphkin.protocol.policy import Policy
from graphkin.protocol.values import ClusterMethod
from graphkin.similarity.kind import Query, Search
from graphkin.similarity.kinds import kind_of, recipe_of
from graphkin.store.base import Generation, require_stored_threshold
from graphkin.store.columns import shown
from graphkin.store.records import Float32, Int32, shortest
from graphkin.store.sampling.base import Sampler

_SIGNS = {">=": "min", "<=": "max", "=": "equals", "~": "contains"}
_SIGN = re.compile("|".join(_SIGNS))
_SIGNED = re.compile(rf"\s*({_SIGN.pattern})\s*(.*)", re.DOTALL)


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


def filter_of(manifest: Manifest, condition: str) -> Filter:
    """What a condition such as `molwt>=300` says. Raises `InvalidInput` for one that says none.

    The property is the longest that is there, so that its name may hold such signs, too.
    """
    kinds = {title: column.kind for title, column in shown(manifest).items()}
    known = [each for each in (*kinds, "names") if condition.startswith(each)]
    named = [each for each in known if _SIGNED.match(condition.removeprefix(each))]
    property = max(named, key=len) if named else _SIGN.split(condition, maxsplit=1)[0].strip()
    said = _SIGNED.fullmatch(condition.removeprefix(property).lstrip())
    if said is None:
        raise InvalidInput(
            "not a condition", given=condition, expected="as in molwt>=300: a property, >= <= = or ~, and a value"
        )
    sign, value = said.groups()
    number = sign in (">=", "<=") or (sign == "=" and kinds.get(property) == "number")
    try:
        return Filter.model_validate({"property": property, _SIGNS[sign]: float(value) if number else value})
    except ValueError as error:
        raise InvalidInput("not a condition", given=condition, expected=f"a number after {sign}") from error


def having_of(
    generation: Generation,
    selections: Selections,
    substructure: tuple[str, str] | None,
    among: Callable[[], Int32],
    progress: Progress,
) -> Having | None:
    """Which of some items have a substructure, which is a text and how that is written. Raises as `Kind.pattern`."""
    if substructure is None:
        return None
    kind, ids = kind_of(generation), among()
    pattern = kind.pattern(recipe_of(generation), *substructure)
    with progress.stage("match", len(ids), "items") as advance:
        return selections.having(pattern).find(kind.substructures(generation), ids, os.cpu_count() or 1, advance)


def among_of(
    generation: Generation, conditions: Sequence[str], substructure: tuple[str, str] | None, progress: Progress
) -> Int32 | None:
    """The ids of the items that pass conditions and have a substructure; None for all, where nothing is asked."""
    if not conditions and substructure is None:
        return None
    filters, selections = [filter_of(generation.manifest, each) for each in conditions], Selections(generation)
    having = having_of(generation, selections, substructure, lambda: selections.selected(filters).ids, progress)
    return selections.selected(filters, having=having).ids


def clusters_of(
    generation: Generation, method: ClusterMethod, threshold: float | None, workers: int | None, progress: Progress
) -> Clusters:
    """All items in clusters, as `threshold_of` means them. Raises as that."""
    meant = threshold_of(generation, method, threshold)
    with progress.stage("clusters", generation.size, "items") as advance:
        return clusters(generation, method, meant, workers or os.cpu_count() or 1, advance)


def cliffs_table(found: Cliffs, manifest: Manifest, property: str, items_of: Callable[[Int32], pa.Table]) -> pa.Table:
    """A row for each pair: a, b, similarity, difference, sali, and of both ends their structure, names, property and
    its qualifier, if it has censored numbers, in columns that end with _a and _b. `items_of` reads items by their
    ids."""
    columns = shown(manifest)
    qualifiers = [
        title for title, each in columns.items() if each.is_qualifier and each.stored == columns[property].stored
    ]
    table = {name: pa.array(getattr(found, name)) for name in ("a", "b", "similarity", "difference", "sali")}
    distinct, place = np.unique(np.concatenate([found.a, found.b]), return_inverse=True)
    items = items_of(distinct)
    for end, rows in zip("ab", np.split(place, 2), strict=True):
        own = items.take(pa.array(rows))
        table |= {f"{name}_{end}": own[name] for name in (manifest.structure, "names", property, *qualifiers)}
    return pa.table(table)


def near_of(generation: Generation, structure: str, min_similarity: float) -> Near:
    """At least so similar to a structure. Raises as a search does."""
    require_search(min_similarity)
    return Near(
        cache(lambda: kind_of(generation).search(generation)),
        read_structure(recipe_of(generation), structure=structure),
        min_similarity,
    )


def comparison_of(near: Near) -> Comparison:
    """What exported items are compared with."""
    search, query = near.search(), near.query
    return Comparison(
        query.text, search.identical(query), lambda ids: search.similarities(query, ids).astype(np.float32)
    )


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
        try:
            canonical = read_structure(recipe_of(generation), smiles=smiles).text
        except InvalidInput as error:
            point_to_name(generation, error)
            raise
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
