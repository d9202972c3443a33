"""What an ingest says of the generation that it publishes."""

from collections.abc import Sequence
from importlib.metadata import version

import numpy as np

from graphkin.ingest.items import ItemTable, RestItems, types_of, written_of
from graphkin.ingest.progress import Clock
from graphkin.ingest.readers import Source
from graphkin.ingest.tally import Tally
from graphkin.protocol.manifest import Counts, Manifest, Provenance, Removal
from graphkin.similarity.kind import Descriptors
from graphkin.similarity.kinds import kind_of_recipe
from graphkin.similarity.recipe import Recipe
from graphkin.store.identity import links_digest
from graphkin.store.records import Int32

_NOTHING = Counts(read=0, kept=0, duplicates=0, rejected=0)


def provenance_of(
    recipe: Recipe,
    sources: Sequence[Source],
    table: ItemTable,
    descriptors: Descriptors,
    tally: Tally,
    dropped: Int32,
    clock: Clock,
    base: Provenance | None = None,
) -> Provenance:
    """Of the items of these descriptors, which come from what was read and, before that, from what `base` says."""
    kind = kind_of_recipe(recipe)
    removed = [] if base is None else base.removed
    before = _NOTHING if base is None else base.counts
    read, rejected = before.read + table.read, before.rejected + table.rejected
    return Provenance(
        kind=kind.name,
        structure=kind.structure,
        recipe=recipe.model_dump(mode="json"),
        versions={**kind.versions(recipe), **_versions()},
        libraries=sorted(kind.versions(recipe)),
        inputs=[*([] if base is None else base.inputs), *(each for source in sources for each in source.inputs())],
        counts=Counts(
            read=read,
            kept=len(descriptors),
            duplicates=read - rejected - len(descriptors) - sum(each.items for each in removed),
            rejected=rejected,
        ),
        removed=removed,
        edges=tally.edges,
        dropped=_pairs(dropped),
        properties=dict(table.property_types),
        written=table.written,
        links=None if descriptors.links is None else links_digest(descriptors.links),
        histograms=tally.histograms(),
        times=clock.times,
    )


def provenance_without(
    base: Manifest, removal: Removal, items: RestItems, tally: Tally, dropped: Int32, clock: Clock
) -> Provenance:
    """Of what is left of a generation. What was read and rejected is told as it was."""
    changes = {
        "versions": {**base.versions, **_versions()},
        "counts": base.counts.model_copy(update={"kept": base.counts.kept - removal.items}),
        "removed": [*base.removed, removal],
        "edges": tally.edges,
        "dropped": _pairs(dropped),
        "properties": types_of(items.properties),
        "written": written_of(items.properties),
        "histograms": tally.histograms(),
        "times": clock.times,
    }
    return base.provenance.model_copy(update=changes)


def _pairs(dropped: Int32) -> int:
    return int(dropped.sum(dtype=np.int64)) // 2


def _versions() -> dict[str, str]:
    return {name: version(name) for name in ("graphkin", "numpy", "numba", "pyarrow")}
