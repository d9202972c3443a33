"""A generation that has grown written anew as one fragment."""

from graphkin.protocol.manifest import Manifest
from graphkin.similarity.kinds import kind_named, recipe_of
from graphkin.store.base import Store
from graphkin.store.transfer import Stage, silent, write_generation


def compact(store: Store, collection: str, stage: Stage = silent) -> Manifest:
    """The current generation as one ingest would have written it, its index too. It keeps its id and its readers.

    Raises what `Store.draft` and `Draft.publish` raise; the generation stays as it was then.
    """
    kind = kind_named(store.collection(collection).kind)
    with store.draft(collection, kind.name) as draft, store.open(collection) as generation:  # none is published between
        if len(generation.manifest.fragments) < 2:
            return generation.manifest
        write_generation(generation, draft, stage)
        with stage("index", None, ""):
            recipe = recipe_of(generation)
            draft.write_index(kind.descriptors_of(generation, recipe, kind.digests(generation, recipe)).index())
        return draft.publish(generation.manifest.provenance)
