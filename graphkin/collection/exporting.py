"""Exports of a generation, by their content and format."""

from collections.abc import Iterator, Sequence
from typing import cast

from graphkin.collection.sar.descriptors import descriptor_values
from graphkin.export import (
    EdgeFormat,
    FingerprintFormat,
    ItemFormat,
    LinkFormat,
    export_edges,
    export_fingerprints,
    export_items,
    export_links,
)
from graphkin.export.table import Comparison
from graphkin.protocol.values import Exported
from graphkin.similarity.kinds import kind_of, recipe_of
from graphkin.store.base import Generation, require_stored_threshold
from graphkin.store.records import Int32


def export(
    source: Generation,
    content: Exported,
    format: str,
    *,
    columns: Sequence[str] | None = None,
    min_similarity: float | None = None,
    ids: Int32 | None = None,
    comparison: Comparison | None = None,
    start: int = 0,
    stop: int | None = None,
) -> Iterator[bytes]:
    """Return the bytes of an export.

    Args:
        source: The generation.
        content: Part of the generation that is exported.
        format: File format.
        columns: Exported columns of items; None for all.
        min_similarity: Lowest similarity of exported edges; None for all.
        ids: Ids of the exported items, in order; None for all.
        comparison: A structure whose similarity to each item is exported, too.
        start: First id.
        stop: Id after the last one; None for the end.

    Raises:
        GraphkinError: The errors of `graphkin.export`, before the first bytes.
    """
    match content:
        case "items":
            selection = ids, comparison, columns, start, stop
            return export_items(source, cast(ItemFormat, format), *selection, descriptor_values(source))
        case "edges":
            require_stored_threshold(source, min_similarity)
            return export_edges(source, cast(EdgeFormat, format), min_similarity, ids, comparison, start, stop)
        case "links":
            return export_links(source, cast(LinkFormat, format), ids, start, stop)
        case "fingerprints":
            type = kind_of(source).fingerprint(recipe_of(source))
            return export_fingerprints(source, cast(FingerprintFormat, format), type, ids, start, stop)
