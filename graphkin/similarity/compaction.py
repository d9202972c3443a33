"""Compaction: rewriting a generation that has grown by appends as a single fragment."""

from graphkin.protocol.manifest import Manifest
from graphkin.similarity.kinds import kind_named, recipe_of
from graphkin.store.base import Store
from graphkin.store.transfer import Stage, no_progress, write_generation


def compact(store: Store, collection: str, stage: Stage = no_progress) -> Manifest:
    """Rewrite the current generation, search index included, as a single ingest would have written it.

    The generation keeps its id, and its readers go on. If an error is raised, the stored generation stays unchanged.

    Raises:
        GraphkinError: Any error of `Store.draft` or `Draft.publish`.
    """
    kind = kind_named(store.collection(collection).kind)
    with (
        store.draft(collection, kind.name) as draft,
        store.open(collection) as generation,
    ):  # no other writer can publish in between
        if len(generation.manifest.fragments) < 2:
            return generation.manifest
        write_generation(generation, draft, stage)
        with stage("index", None, ""):
            recipe = recipe_of(generation)
            draft.write_index(kind.descriptors_of(generation, recipe, kind.digests(generation, recipe)).index())
        return draft.publish(generation.manifest.provenance)
