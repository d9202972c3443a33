"""Compaction: rewriting a generation that consists of several fragments as a single fragment."""

from graphkin.protocol.manifest import Manifest
from graphkin.similarity.kinds import kind_named, recipe_of
from graphkin.store.base import Store
from graphkin.store.transfer import Stage, no_progress, write_generation


def compact(store: Store, collection: str, stage: Stage = no_progress) -> Manifest:
    """Rewrite the current generation of a collection, with its search index, as one ingest would have written it.

    Each append adds a fragment, a set of files, to a generation. The rewritten generation has one fragment and keeps
    its id. Open readers are not disturbed. If an error is raised, the stored generation stays unchanged.

    Args:
        store: The store of the collection.
        collection: Name of the collection.
        stage: Reports the progress of each stage.

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
            draft.write_index(kind.load_descriptors(generation, recipe, kind.digests(generation, recipe)).index())
        return draft.publish(generation.manifest.provenance)
