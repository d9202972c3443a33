"""Generations of an older format, written anew in the format of today."""

from typing import NamedTuple

from graphkin.protocol.manifest import NEWEST_FORMAT
from graphkin.store.base import Store
from graphkin.store.transfer import Stage, copy_generation, silent, write_generation


class Migrated(NamedTuple):
    """A generation had the id `before` and has the id `after`."""

    collection: str
    before: str
    after: str


def migrate(store: Store, stage: Stage = silent) -> list[Migrated]:
    """Write every generation of an older format anew, with the id that its items have today, and delete the older one;
    the same ones stay current. Where it is cut off, the same call goes on.

    Raises as `write_generation` and `Store.draft` do: the generation at hand is as it was then.
    """
    done = []
    for collection in store.collections():
        current = collection.current
        for generation in collection.generations:
            if store.manifest(collection.name, generation).format == NEWEST_FORMAT:
                continue
            with store.open(collection.name, generation) as older, store.draft(collection.name, collection.kind) as new:
                write_generation(older, new, stage)
                after = new.publish(older.manifest.provenance).generation
            done.append(Migrated(collection.name, generation, after))
            current = after if generation == current else current
            with store.open(collection.name, current) as meant:
                copy_generation(meant, store, stage)
            store.delete(collection.name, generation)
    return done
