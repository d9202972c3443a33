"""Copy a published generation into another store, using only the methods of the port."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from graphkin.protocol.errors import NotFound, StoreFormat
from graphkin.protocol.manifest import Manifest
from graphkin.store.base import Collection, Draft, Generation, Store
from graphkin.store.columns import item_schema

Stage = Callable[[str, int | None, str], AbstractContextManager[Callable[[int], object]]]
"""A context manager that reports the progress of a stage.

The arguments are the name, the total (None if unknown) and the unit. It yields a function that advances the progress.
"""

_BLOCK = 4096  # items


@contextmanager
def no_progress(name: str, total: int | None, unit: str) -> Iterator[Callable[[int], object]]:  # noqa: ARG001
    """Report no progress."""
    yield lambda _: None


def copy_generation(source: Generation, target: Store, stage: Stage = no_progress) -> Manifest:
    """Publish a generation in another store, with the same collection and id, and make it current there.

    If the generation is current in the target already, nothing is written. If the target has it but another generation
    is current, only the items are sent: publishing the same content again makes the generation current.

    Returns:
        The manifest in the target.

    Raises:
        StoreFormat: The items differ from those that the generation id stands for. Nothing is published.
        GraphkinError: Any error of `Store.draft` or `Draft.publish`. Nothing is published.
    """
    listed = _find_collection(target, source.collection)
    if listed is not None and listed.current == source.id:
        with target.open(source.collection, source.id) as reader:
            return reader.manifest
    with target.draft(source.collection, source.manifest.kind) as draft:
        if _has_generation(target, source):
            _copy_items(source, draft, stage)
        else:
            write_generation(source, draft, stage)
        return draft.publish(source.manifest.provenance)


def write_generation(source: Generation, draft: Draft, stage: Stage = no_progress) -> None:
    """Write the content of a generation into a draft. The index is included only if it covers all items.

    Raises:
        StoreFormat: The items differ from those that the generation id stands for.
    """
    _copy_items(source, draft, stage)
    _copy_rejections(source, draft, stage)
    _copy_fingerprints(source, draft, stage)
    _copy_links_and_index(source, draft, stage)
    _copy_edges(source, draft, stage)


def _find_collection(store: Store, collection: str) -> Collection | None:
    try:
        return store.collection(collection)
    except NotFound:
        return None


def _has_generation(store: Store, source: Generation) -> bool:
    listed = _find_collection(store, source.collection)
    return listed is not None and source.id in listed.generations


def _copy_items(source: Generation, draft: Draft, stage: Stage) -> None:
    if source.identity() != source.id:
        raise StoreFormat(
            f"generation {source.id[:12]} of {source.collection!r} is damaged: its items differ "
            "from those it was published with",
            expected="the items that its id was computed from",
            hint="run `graphkin verify` for details, then restore a backup",
        )
    with stage("items", source.size, "items") as advance:
        for items in source.columns(item_schema(source.manifest).names):
            draft.append_items(items)
            advance(items.num_rows)


def _copy_rejections(source: Generation, draft: Draft, stage: Stage) -> None:
    with stage("rejections", source.manifest.counts.rejected, "records") as advance:
        for batch in source.rejections():
            draft.append_rejections(batch)
            advance(batch.num_rows)


def _copy_fingerprints(source: Generation, draft: Draft, stage: Stage) -> None:
    words = source.fingerprints().words
    with stage("fingerprints", len(words), "items") as advance:
        for start in range(0, len(words), _BLOCK):
            block = words[start : start + _BLOCK]
            draft.append_fingerprints(block)
            advance(len(block))
    dropped = source.dropped()
    if dropped is not None:
        draft.write_dropped(dropped)


def _copy_links_and_index(source: Generation, draft: Draft, stage: Stage) -> None:
    links = source.links()
    if links is not None:
        with stage("links", len(links.indices) // 2, "links") as advance:
            draft.write_links(links)
            advance(len(links.indices) // 2)
    if source.indexed_count == source.size:
        draft.write_index(source.index())


def _copy_edges(source: Generation, draft: Draft, stage: Stage) -> None:
    with stage("edges", source.manifest.edges, "edges") as advance:
        for edges in source.edges():
            draft.append_edges(edges)
            advance(len(edges))
    forest = source.forest()
    with stage("spanning forest", len(forest), "edges") as advance:
        draft.write_forest(forest)
        advance(len(forest))
