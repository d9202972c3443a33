"""Checks of the published generation that an append or a removal changes."""

from graphkin.protocol.errors import Conflict
from graphkin.similarity.kind import Kind
from graphkin.similarity.recipe import Recipe
from graphkin.store.base import Generation, require_independent
from graphkin.store.records import Int32


def require_changeable(base: Generation, kind: Kind[Recipe], recipe: Recipe) -> None:
    """Check that items can be appended to, or removed from, a generation without a change of its other items.

    Raises:
        Conflict: The items depend on each other, or other library versions described them.
    """
    require_independent(base)
    if recipe.candidates != "exact":
        raise Conflict(
            "a collection with window candidates can be neither appended to nor reduced",
            given="candidates window",
            expected="candidates exact",
            hint="ingest all files again: a new item changes which other items are compared",
        )
    built_with = {name: base.manifest.versions[name] for name in base.manifest.libraries}
    if kind.versions(recipe) != built_with:
        raise Conflict(
            "the installed libraries describe items differently from those that built the collection",
            given=_format_versions(kind.versions(recipe)),
            expected=_format_versions(built_with),
            hint="install the expected versions, or ingest the collection again",
        )


def _format_versions(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items()) or "none"


def truncated_counts(base: Generation) -> Int32:
    """Return the number of truncated pairs of each item, (N,) int32.

    Exact joins always count truncated pairs, but a store can hold a generation that was written without the counts.

    Raises:
        Conflict: The generation holds no counts.
    """
    dropped = base.dropped()
    if dropped is None:
        raise Conflict(
            "the pairs that the top-k limit of this collection truncated were not counted",
            given=base.collection,
            expected="a collection with a count of truncated pairs",
            hint="ingest the files again",
        )
    return dropped
