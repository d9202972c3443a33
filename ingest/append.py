"""A collection that grows, exactly: the stages of an ingest, of what is new alone."""

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from graphkin.ingest.collect import collector
from graphkin.ingest.items import Older, Properties
from graphkin.ingest.older import OlderLists
from graphkin.ingest.options import IngestOptions
from graphkin.ingest.progress import Clock, Progress, compiling
from graphkin.ingest.provenance import provenance_of
from graphkin.ingest.reading import opened, parsed
from graphkin.ingest.tally import Tally
from graphkin.ingest.warmup import compile_kernels
from graphkin.ingest.workspace import Workspace
from graphkin.ingest.writing import write_items
from graphkin.protocol.errors import Conflict
from graphkin.protocol.manifest import Manifest
from graphkin.similarity.kind import Kind
from graphkin.similarity.kinds import kind_of
from graphkin.similarity.recipe import Recipe
from graphkin.store.base import Generation, Store
from graphkin.store.records import Int32


@dataclass(frozen=True)
class Appended:
    """The generation that is current now, how many items came, and how many older ones got more names. Where nothing
    came it is the one that was current before."""

    manifest: Manifest
    items: int
    named: int


def append(
    store: Store,
    collection: str,
    files: Sequence[str],
    options: IngestOptions | None = None,
    progress: Progress | None = None,
) -> Appended:
    """Publish a generation of the current one's items and those of files: the same as of one ingest of the older files,
    then these, by the collection's recipe.

    Raises what `ingest` raises, `NotFound` for no such collection, and `Conflict` for one that does not grow: by the
    window rule, of nodes, or described by other versions of the libraries.
    """
    options = options or IngestOptions()
    clock = Clock(progress or Progress())
    with ExitStack() as stack:
        draft = stack.enter_context(store.growth(collection))
        base = draft.base
        kind = kind_of(base)
        recipe = kind.recipe(base.manifest.recipe)
        _require_growing(base, kind, recipe)
        sources = [stack.enter_context(closing(source)) for source in opened(files, kind, recipe, options)]
        with clock.stage("compile"), compiling(clock.progress):
            compile_kernels(kind.specimen(recipe), recipe.top_k)
        workspace = Workspace(draft.workspace)
        workspace.prepare()
        with clock.stage("older items", base.size, kind.plural):
            digests = kind.digests(base, recipe)
        table = parsed(kind, sources, recipe, options, draft, workspace, clock, _older(base, kind, digests))
        with clock.stage("items"):
            newer, items = table.finish(partial(kind.descriptors, recipe=recipe))
            if not len(newer) and not table.added_names.num_rows:
                workspace.remove()
                return Appended(base.manifest, 0, 0)
            write_items(items, newer.words, draft)
            draft.append_names(table.added_names)
            descriptors = kind.descriptors_of(base, recipe, digests).followed_by(newer)
        lists = OlderLists(
            base.graph(), _dropped(base), descriptors.tie, recipe.top_k, descriptors.similarities, options.workers
        )
        with clock.stage("join", len(descriptors), kind.plural) as advance:
            made_from = (recipe.model_dump_json().encode(), base.id.encode(), *newer.content)
            collected = collector(descriptors.tie, recipe.top_k, workspace, *made_from, older=lists)
            for pairs in descriptors.newer_pairs(base.size, collected.begin, options.workers, advance):
                collected.add(pairs)
        with clock.stage("cap"):
            changes = collected.changes(lists)
        with clock.stage("write"):
            draft.remove_edges(changes.removed)
            tally = Tally.of_rest(len(descriptors), base, changes.removed)
            for edges in changes.added:
                draft.append_edges(edges)
                tally.add(edges)
            draft.write_dropped(changes.dropped)
            draft.write_forest(tally.forest.edges())
        provenance = provenance_of(
            recipe, sources, table, descriptors, tally, changes.dropped, clock, base=base.manifest
        )
        manifest = draft.publish(provenance)
        workspace.remove()
        return Appended(manifest, len(newer), table.added_names.num_rows)


def _require_growing(base: Generation, kind: Kind[Recipe], recipe: Recipe) -> None:
    if recipe.candidates != "exact":
        raise Conflict(
            "a collection by the window rule does not grow",
            given=base.collection,
            expected="candidates exact",
            hint="a new item changes who is compared with whom far from itself: ingest all files again",
        )
    built_with = {name: base.manifest.versions[name] for name in base.manifest.libraries}
    if kind.versions(recipe) != built_with:
        raise Conflict(
            "other libraries describe items here than those that built the collection",
            given=_listed(kind.versions(recipe)),
            expected=_listed(built_with),
            hint="install those, or ingest the collection again",
        )


def _listed(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items()) or "none"


def _older(base: Generation, kind: Kind[Recipe], digests: bytes) -> Older:
    def names(ids: Int32) -> pa.ListArray:
        return base.take(ids, ["names"])["names"]

    properties = Properties.stored(kind.computed, base.manifest.properties, base.manifest.written)
    return Older(digests, properties, names, lambda: base.fingerprints().words)


def _dropped(base: Generation) -> Int32:
    """Those of an exact join are always counted, but for a store that was told none."""
    dropped = base.dropped()
    if dropped is None:
        raise Conflict("the pairs lost to the cap of this collection were not counted", given=base.collection)
    return dropped
