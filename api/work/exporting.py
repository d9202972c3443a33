"""Tasks `export` and `export_rgroups`: write a generation, a selection of it, or the R groups of a series as a file."""

from collections.abc import Generator
from functools import partial
from typing import Any

import numpy as np

from graphkin.api.work.queries import unpack_query
from graphkin.collection.exporting import export as export_generation
from graphkin.collection.sar.descriptors import descriptor_values
from graphkin.collection.sar.rgroups import rgroups_table, series_items
from graphkin.depiction.rgroup_files import RGroupFormat
from graphkin.depiction.rgroup_files import export_rgroups as write_rgroups
from graphkin.export import read_items
from graphkin.export.table import Comparison
from graphkin.protocol.values import Exported
from graphkin.similarity.kinds import kind_of
from graphkin.store import open_cached
from graphkin.store.base import Generation
from graphkin.store.records import Float32, Int32


def export(
    store: str,
    collection: str,
    generation: str,
    what: Exported,
    format: str,
    min_similarity: float | None = None,
    ids: list[int] | None = None,
    compared_with: dict[str, Any] | None = None,
    columns: list[str] | None = None,
    start: int = 0,
    stop: int | None = None,
) -> Generator[bytes, None, None]:
    """Yield the bytes of an export file.

    Args:
        store: Location of the store.
        collection: Name of the collection.
        generation: Id of the generation.
        what: Part of the generation that is exported.
        format: File format.
        min_similarity: Lowest similarity of exported edges.
        ids: Ids of the exported items, in order; None for all.
        compared_with: Query packed by `pack_query`, whose similarity to each item is exported too; None for no query.
        columns: Exported columns; None for all.
        start: First id.
        stop: Id after the last one; None for the end.

    Raises:
        GraphkinError: The errors of `graphkin.export`, before the first bytes.
    """
    source = open_cached(store, collection, generation)
    comparison = None if compared_with is None else _comparison(source, compared_with)
    selection = None if ids is None else np.array(ids, np.int32)
    yield from export_generation(
        source,
        what,
        format,
        columns=columns,
        min_similarity=min_similarity,
        ids=selection,
        comparison=comparison,
        start=start,
        stop=stop,
    )


def export_rgroups(
    store: str,
    collection: str,
    generation: str,
    format: RGroupFormat,
    property: str | None,
    ids: list[int],
    cores: list[str],
    groups: dict[str, list[str]],
    unmatched: list[int],
) -> Generator[bytes, None, None]:
    """Yield the bytes of a file with the R groups of a series.

    Args:
        store: Location of the store.
        collection: Name of the collection.
        generation: Id of the generation.
        format: File format.
        property: Numeric property whose column comes before the core; None for none.
        ids: Ids of the molecules with the core.
        cores: Core of each of them.
        groups: R groups of each of them, by position.
        unmatched: Ids of the molecules without the core.

    Raises:
        GraphkinError: The errors of `graphkin.export`, before the first bytes.
    """
    source = open_cached(store, collection, generation)
    read = partial(read_items, source, np.array([*ids, *unmatched], np.int32), descriptor=descriptor_values(source))
    table = rgroups_table(cores, groups, series_items(read, property), property)
    yield from write_rgroups(table, [*groups], property, format)


def _comparison(generation: Generation, packed_query: dict[str, Any]) -> Comparison:
    query = unpack_query(packed_query)
    search = kind_of(generation).search(generation)

    def similarity(ids: Int32) -> Float32:
        return search.similarities(query, ids).astype(np.float32)

    return Comparison(query.text, search.find_identical(query), similarity)
