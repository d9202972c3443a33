"""Provenance: the part of a manifest that describes how a generation was built."""

from collections.abc import Sequence
from functools import cache
from importlib.metadata import version

import numpy as np

from graphkin.ingest.differences import combine_differing
from graphkin.ingest.items import ItemTable, Properties, RemainingItems
from graphkin.ingest.progress import Clock
from graphkin.ingest.readers import Source
from graphkin.ingest.tally import Tally
from graphkin.protocol.manifest import Counts, DifferingValues, Histogram, Input, Manifest, Provenance, Removal
from graphkin.protocol.values import Duplicates
from graphkin.similarity.kind import Descriptors
from graphkin.similarity.kinds import kind_of_recipe
from graphkin.similarity.recipe import Recipe
from graphkin.store.identity import links_digest
from graphkin.store.records import Int32, Links


def ingest_provenance(
    recipe: Recipe,
    sources: Sequence[Source],
    table: ItemTable,
    descriptors: Descriptors,
    tally: Tally,
    dropped: Int32,
    clock: Clock,
    base: Provenance | None = None,
) -> Provenance:
    """Return the provenance of a generation that an ingest or an append builds.

    Args:
        recipe: The recipe.
        sources: The files that were read.
        table: The item table of these files.
        descriptors: Descriptors of all items of the generation.
        tally: Statistics of its edges.
        dropped: (N,) number of truncated pairs of each item.
        clock: Times of the stages.
        base: Provenance of the generation to which an append adds the files.
    """
    before = record_counts(0, 0, 0) if base is None else base.counts
    removed = [] if base is None else base.removed
    return provenance(
        recipe,
        inputs=[*([] if base is None else base.inputs), *(each for source in sources for each in source.inputs())],
        counts=record_counts(before.read + table.read, before.rejected + table.rejected, len(descriptors), removed),
        removed=removed,
        properties=table.properties,
        duplicates=table.duplicates,
        differing=table.differing if base is None else combine_differing(base.differing, table.differing),
        links=descriptors.links,
        edges=tally.edges,
        dropped=_pair_count(dropped),
        histograms=tally.histograms(),
        clock=clock,
    )


def repeat_provenance(base: Manifest, sources: Sequence[Source], table: ItemTable, clock: Clock) -> Provenance:
    """Return the provenance of an append that adds no item, because all its records repeat items of `base`."""
    inputs = [*base.inputs, *(each for source in sources for each in source.inputs())]
    read, rejected = base.counts.read + table.read, base.counts.rejected + table.rejected
    repeats = {
        "inputs": inputs,
        "counts": record_counts(read, rejected, base.counts.kept, base.removed),
        "differing": combine_differing(base.differing, table.differing),
        "times": clock.times,
    }
    return base.provenance.model_copy(update=repeats)


def removal_provenance(
    base: Manifest, recipe: Recipe, removal: Removal, items: RemainingItems, tally: Tally, dropped: Int32, clock: Clock
) -> Provenance:
    """Return the provenance of a generation after a removal.

    The numbers of read and of rejected records stay those of `base`.
    """
    return provenance(
        recipe,
        inputs=base.inputs,
        counts=base.counts.model_copy(update={"kept": base.counts.kept - removal.items}),
        removed=[*base.removed, removal],
        properties=items.properties,
        duplicates=base.duplicates,
        differing=base.differing,
        edges=tally.edges,
        dropped=_pair_count(dropped),
        histograms=tally.histograms(),
        clock=clock,
    )


def _pair_count(dropped: Int32) -> int:
    """Return the number of truncated pairs. Each of them is counted at both ends."""
    return int(dropped.sum(dtype=np.int64)) // 2


def record_counts(read: int, rejected: int, kept: int, removed: Sequence[Removal] = ()) -> Counts:
    """Return the counts of records. A record that is not kept, not rejected and not removed is a duplicate."""
    duplicates = read - rejected - kept - sum(each.items for each in removed)
    return Counts(read=read, kept=kept, duplicates=duplicates, rejected=rejected)


def provenance(
    recipe: Recipe,
    *,
    inputs: Sequence[Input],
    counts: Counts,
    properties: Properties,
    edges: int,
    dropped: int,
    histograms: dict[str, Histogram],
    clock: Clock,
    duplicates: Duplicates,
    differing: DifferingValues,
    removed: Sequence[Removal] = (),
    links: Links | None = None,
) -> Provenance:
    """Return a provenance with these values, and with the versions of the libraries."""
    kind = kind_of_recipe(recipe)
    return Provenance(
        kind=kind.name,
        structure=kind.structure_column,
        recipe=recipe.model_dump(mode="json"),
        versions=versions(recipe),
        libraries=sorted(kind.versions(recipe)),
        inputs=inputs,
        counts=counts,
        removed=[*removed],
        edges=edges,
        dropped=dropped,
        properties=properties.types,
        written=properties.written,
        columns=properties.columns,
        qualifiers=properties.qualifiers,
        duplicates=duplicates,
        differing=differing,
        links=None if links is None else links_digest(links),
        histograms=histograms,
        times=clock.times,
    )


def versions(recipe: Recipe) -> dict[str, str]:
    """Return the versions of all libraries that an ingest with this recipe uses."""
    return {**kind_of_recipe(recipe).versions(recipe), **_own_versions()}


@cache
def _own_versions() -> dict[str, str]:
    """Return the versions of the libraries that every ingest uses. Each task checks them, so they are read once."""
    return {name: version(name) for name in ("graphkin", "numpy", "numba", "pyarrow")}
