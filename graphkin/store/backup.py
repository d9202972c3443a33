"""Copy all generations of a store, for backup and restore, and delete old generations."""

from collections.abc import Iterator
from dataclasses import dataclass

from graphkin.protocol.errors import Deleted, NotFound
from graphkin.protocol.generations import expand_id
from graphkin.store.base import Collection, Store
from graphkin.store.keys import Keys
from graphkin.store.transfer import Stage, copy_generation, no_progress


@dataclass(frozen=True)
class CopyResult:
    """The result of `copy_all`, as (collection, generation) pairs.

    Attributes:
        new: Generations that the target lacked.
        present: Generations that the target already had.
        deleted: Generations that were deleted from the source during the copy.
    """

    new: list[tuple[str, str]]
    present: list[tuple[str, str]]
    deleted: list[tuple[str, str]]


def copy_all(source: Store, target: Store, stage: Stage = no_progress) -> CopyResult:
    """Copy every generation of `source` that `target` lacks.

    Ids stay the same. Each generation is published completely or not at all. For each collection, the current
    generation of the source becomes current in the target. Nothing is deleted from the target. API keys are copied
    first, so that the data that they protect is never open to everyone.

    The source may be read and written during the copy. The copy contains the generations that were published when it
    started, except those that are deleted before they are copied. Raises the same errors as `Store.copy_from` and
    `copy_generation`.
    """
    _copy_keys(source.keys(), target.keys())
    result = CopyResult([], [], [])
    target_collections = {candidate.name: candidate for candidate in target.collections()}
    for collection in source.collections():
        target_collection = target_collections.get(collection.name)
        for generation in _current_last(collection):
            pair = (collection.name, generation)
            is_present = target_collection is not None and generation in target_collection.generations
            is_current = target_collection is not None and generation == target_collection.current
            if is_present and (is_current or generation != collection.current):
                result.present.append(pair)
                continue
            try:
                _copy(source, target, *pair, stage)
            except Deleted:
                result.deleted.append(pair)
                continue
            (result.present if is_present else result.new).append(pair)
    return result


def _copy_keys(source: Keys, target: Keys) -> None:
    """Copy the keys that the target lacks, and revoke in the target the keys that are revoked in the source."""
    target_keys = {key.id: key for key in target.all()}
    for key in source.all():
        if key.id not in target_keys:
            target.add(key)
        elif key.revoked_at is not None:
            target.revoke(key.id, key.revoked_at)


def _current_last(collection: Collection) -> Iterator[str]:
    """Iterate over the generations, oldest first, but the current one last, because the last publication is current."""
    yield from (generation for generation in collection.generations if generation != collection.current)
    yield collection.current


def _copy(source: Store, target: Store, collection: str, generation: str, stage: Stage) -> None:
    with stage(f"{collection} {generation[:12]}", None, "B") as advance:
        is_copied = target.copy_from(source, collection, generation, advance)
    if not is_copied:  # the stores have different file formats
        with source.open(collection, generation) as reader:
            copy_generation(reader, target, stage)
    record = source.rerun(collection, generation)
    if record is not None:
        target.keep_rerun(collection, generation, record.rerun, record.rejections.to_batches())


def delete(store: Store, collection: str, generation: str | None = None) -> None:
    """Delete one generation of a collection, by default all of them, and so the collection.

    Args:
        store: The store.
        collection: Name of the collection.
        generation: Id of the generation, or a prefix of the id.

    Raises:
        NotFound: There is no such collection or generation. The error lists the generations.
        Deleted: The generation was deleted before.
        InvalidInput: Several ids begin with the prefix.
        StoreBusy: The store deletes under the writer lock, and a writer holds it.
    """
    if generation is None:
        entry = store.collection(collection)
        for id in sorted(entry.generations, key=lambda each: each == entry.current):  # the current one last
            store.delete(collection, id)
        return
    entries = {entry.name: entry for entry in store.collections()}
    known = entries[collection].generations if collection in entries else ()
    try:
        store.delete(collection, expand_id(generation, known))
    except Deleted:
        raise
    except NotFound as error:
        expected = f"one of {', '.join(store.collection(collection).generations)}"
        hint = "choose one of the accepted generations"
        raise NotFound(error.detail, given=generation, expected=expected, hint=hint) from None


def prune(store: Store, keep: int, collection: str | None = None) -> list[tuple[str, str]]:
    """Delete the old generations of one collection, by default of every collection.

    The newest `keep` (at least 1) generations and the current one remain.

    Returns:
        The deleted (collection, generation) pairs.

    Raises:
        NotFound: There is no such collection.
    """
    collections = store.collections() if collection is None else [store.collection(collection)]
    deletions = []
    for entry in collections:
        for generation in entry.generations[:-keep]:
            if generation == entry.current:
                continue
            store.delete(entry.name, generation)
            deletions.append((entry.name, generation))
    return deletions
