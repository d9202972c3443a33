"""All generations of one store in another: backups, and what is restored of them."""

from collections.abc import Iterator
from dataclasses import dataclass

from graphkin.protocol.errors import Deleted
from graphkin.store.base import Collection, Store
from graphkin.store.keys import Keys
from graphkin.store.transfer import Stage, copy_generation, silent


@dataclass(frozen=True)
class Copied:
    """(collection, generation) pairs: `new` in the target, `kept` there before, `gone` from the source meanwhile."""

    new: list[tuple[str, str]]
    kept: list[tuple[str, str]]
    gone: list[tuple[str, str]]


def copy_all(source: Store, target: Store, stage: Stage = silent) -> Copied:
    """Publish all generations of a store in another that lacks them, with their ids, each whole or not at all; of each
    collection the same one becomes current. None is deleted from the target. Keys of the API come first, so that what
    they guard is never open to all.

    The source may be read and written meanwhile: what was published when this began is copied, but for what is deleted
    before its turn. Raises as `Store.take_over` and `copy_generation` do.
    """
    _copy_keys(source.keys(), target.keys())
    found = Copied([], [], [])
    there = {each.name: each for each in target.collections()}
    for collection in source.collections():
        held = there.get(collection.name)
        for generation in _current_last(collection):
            pair = (collection.name, generation)
            known = held is not None and generation in held.generations
            current = held is not None and generation == held.current
            if known and (current or generation != collection.current):
                found.kept.append(pair)
                continue
            try:
                _copy(source, target, *pair, stage)
            except Deleted:
                found.gone.append(pair)
                continue
            (found.kept if known else found.new).append(pair)
    return found


def _copy_keys(source: Keys, target: Keys) -> None:
    """Those that the target lacks; what is revoked in one of them is revoked in the target."""
    there = {key.id: key for key in target.all()}
    for key in source.all():
        if key.id not in there:
            target.add(key)
        elif key.revoked_at is not None:
            target.revoke(key.id, key.revoked_at)


def _current_last(collection: Collection) -> Iterator[str]:
    """The generations, oldest first, but the current one: what is published last is current."""
    yield from (each for each in collection.generations if each != collection.current)
    yield collection.current


def _copy(source: Store, target: Store, collection: str, generation: str, stage: Stage) -> None:
    with stage(f"{collection} {generation[:12]}", None, "B") as advance:
        taken = target.take_over(source, collection, generation, advance)
    if not taken:
        with source.open(collection, generation) as opened:
            copy_generation(opened, target, stage)
    kept = source.rerun(collection, generation)
    if kept is not None:
        target.keep_rerun(collection, generation, kept.rerun, kept.rejections.to_batches())


def prune(store: Store, keep: int, collection: str | None = None) -> list[tuple[str, str]]:
    """Delete all generations of a collection, by default of each, but the newest `keep` ≥ 1 and the current one.

    Gives those that were deleted. Raises `NotFound` for no such collection.
    """
    chosen = store.collections() if collection is None else [store.collection(collection)]
    deleted = []
    for each in chosen:
        for generation in each.generations[:-keep]:
            if generation == each.current:
                continue
            store.delete(each.name, generation)
            deleted.append((each.name, generation))
    return deleted
