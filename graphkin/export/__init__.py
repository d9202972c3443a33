"""Exports: a generation as a stream in standard file formats, or as one Arrow table.

Arguments are checked when a function is called. The returned iterator then yields bytes in bounded memory. Text is
UTF-8.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
import pyarrow as pa

from graphkin.export.table import Comparison, ItemTable
from graphkin.protocol.errors import Conflict, InvalidInput, NotFound
from graphkin.store.base import Generation, as_float32, id_range
from graphkin.store.records import EDGE_SCHEMA, LINK_SCHEMA, FingerprintType, Int32

ItemFormat = Literal["csv", "parquet", "sdf", "arrow"]
EdgeFormat = Literal["csv", "parquet", "graphml", "arrow"]
LinkFormat = Literal["csv", "parquet", "arrow"]
FingerprintFormat = Literal["fps", "npy"]

_TABULAR = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "arrow": "application/vnd.apache.arrow.stream",
}
MEDIA_TYPES = {
    "items": {**_TABULAR, "sdf": "chemical/x-mdl-sdfile"},
    "edges": {**_TABULAR, "graphml": "application/graphml+xml"},
    "links": _TABULAR,
    "fingerprints": {"fps": "text/plain; charset=utf-8", "npy": "application/octet-stream"},
}
"""Supported exports: content -> format -> media type."""


def media_type(what: str, format: str) -> str:
    """Return the media type of an export.

    Raises:
        InvalidInput: The content or the format is not supported. The error lists those that are.
    """
    if what not in MEDIA_TYPES:
        raise InvalidInput("no such export", given=what, expected=f"one of {', '.join(MEDIA_TYPES)}")
    if format not in MEDIA_TYPES[what]:
        offered = f"one of {', '.join(MEDIA_TYPES[what])}"
        raise InvalidInput(f"{what} are not exported in this format", given=format, expected=offered)
    return MEDIA_TYPES[what][format]


def export_items(
    generation: Generation,
    format: ItemFormat,
    ids: Int32 | None = None,
    comparison: Comparison | None = None,
    columns: Sequence[str] | None = None,
    start: int = 0,
    stop: int | None = None,
) -> Iterator[bytes]:
    """Export items.

    The columns (in SD files: the data items) are id, smiles (for graphs: structure, as JSON), names, inchikey if the
    recipe computes it, similarity if there is a comparison, then the properties by name. A property with the name of an
    earlier column gets the prefix `property.`. Names are a list in Parquet and Arrow, one per line in SD files, and
    joined by `; ` in CSV. CSV lines end with a line feed. Text and headers in CSV that a spreadsheet would run as a
    formula get a leading apostrophe; structures do not.

    Args:
        generation: The generation to export.
        format: File format.
        ids: Export only these items, in this order; by default all, in id order.
        comparison: Add the similarity of each item with this structure.
        columns: Export only these columns, in the order above. SD files keep molecules and titles.
        start: First id to export.
        stop: Id after the last one to export; by default the number of items.

    Raises:
        InvalidInput: The format is not supported, there is no such column, or the range exceeds the items.
        NotFound: An id is out of range.
        Conflict: The format is SD and the collection does not hold molecules.
    """
    media_type("items", format)
    table = _item_table(generation, ids, comparison, columns, start, stop)
    if format == "sdf":
        from graphkin.export import sdf

        if generation.manifest.structure != "smiles":
            raise Conflict(
                f"collection {generation.collection!r} holds no molecules",
                given=format,
                expected="one of csv, parquet, arrow",
            )
        return sdf.items(table)
    from graphkin.export import columnar, items

    if format == "csv":
        return items.csv_lines(table)
    write = columnar.parquet if format == "parquet" else columnar.arrow
    return write(items.schema(table), items.batches(table))


def read_items(
    generation: Generation,
    ids: Int32 | None = None,
    columns: Sequence[str] | None = None,
    start: int = 0,
    stop: int | None = None,
) -> pa.Table:
    """Return the content of `export_items` in Arrow format as one table; the arguments and errors are the same."""
    from graphkin.export import items

    table = _item_table(generation, ids, None, columns, start, stop)
    return pa.Table.from_batches(items.batches(table), items.schema(table))


def _item_table(
    generation: Generation,
    ids: Int32 | None,
    comparison: Comparison | None,
    columns: Sequence[str] | None,
    start: int,
    stop: int | None,
) -> ItemTable:
    _require(generation, ids)
    among = id_range(generation, start, stop)
    return ItemTable(generation, ids, comparison, columns, among.start, among.stop)


def export_edges(
    generation: Generation,
    format: EdgeFormat,
    min_similarity: float | None = None,
    ids: Int32 | None = None,
    comparison: Comparison | None = None,
    start: int = 0,
    stop: int | None = None,
) -> Iterator[bytes]:
    """Export edges with source < target, ordered by source, then target.

    Similarities in text are the shortest decimal that rounds to the float32. Arrow and Parquet files hold
    `Manifest.pairs` as JSON in the metadata key `graphkin.pairs`. GraphML also contains the items (those of `ids`) with
    the columns of `export_items`. If the structure of `comparison` is not one of these items, it is the node `query`,
    which is joined to each item whose similarity reaches `min_similarity` (default: the stored threshold).

    Args:
        generation: The generation to export.
        format: File format.
        min_similarity: Lowest similarity of an edge; by default all edges.
        ids: Export only edges with both ends in `ids`.
        comparison: A structure to include; GraphML only.
        start: Lowest source; not for GraphML.
        stop: Source after the last one; by default the number of items.

    Raises:
        InvalidInput: The format is not supported or cannot hold a comparison or a range, or the range exceeds the
            items.
        NotFound: An id is out of range.
    """
    media_type("edges", format)
    if comparison is not None and format != "graphml":
        raise InvalidInput(
            "no edge can name the structure to compare with, for it has no id",
            given=format,
            expected="graphml",
            hint="export items in this format: they get a column similarity",
        )
    _require(generation, ids)
    sources = id_range(generation, start, stop)
    if format == "graphml" and len(sources) < generation.size:
        raise InvalidInput(
            "GraphML holds a graph, not a range of its edges",
            given=f"{start} to {sources.stop}",
            expected="a range in csv, parquet or arrow",
            hint="name the ids of items: their edges are exported in any format",
        )
    from graphkin.export import columnar, edges, graphml

    selected = edges.filter_sources(generation.edges(min_similarity, ids), sources)
    if format == "graphml":
        threshold = as_float32(generation.manifest.threshold if min_similarity is None else min_similarity)
        table = ItemTable(generation, None if ids is None else np.unique(ids), comparison)
        return graphml.document(table, selected, threshold)
    if format == "csv":
        return edges.csv_lines(selected)
    write = columnar.parquet if format == "parquet" else columnar.arrow
    schema = EDGE_SCHEMA.with_metadata({"graphkin.pairs": json.dumps(generation.manifest.pairs)})
    return write(schema, edges.batches(selected))


def read_edges(
    generation: Generation, min_similarity: float | None = None, start: int = 0, stop: int | None = None
) -> pa.Table:
    """Return the content of `export_edges` in Arrow format as one table; the arguments and errors are the same."""
    from graphkin.export import edges

    selected = edges.filter_sources(generation.edges(min_similarity), id_range(generation, start, stop))
    return pa.Table.from_batches(edges.batches(selected), EDGE_SCHEMA)


def export_links(
    generation: Generation, format: LinkFormat, ids: Int32 | None = None, start: int = 0, stop: int | None = None
) -> Iterator[bytes]:
    """Export the edges of the big graph whose nodes the items are: source < target, ordered by source, then target.

    Args:
        generation: The generation to export.
        format: File format.
        ids: Export only edges with both ends in `ids`.
        start: Lowest source.
        stop: Source after the last one; by default the number of items.

    Raises:
        Conflict: The items are not nodes of a big graph.
        InvalidInput: The format is not supported, or the range exceeds the items.
        NotFound: An id is out of range.
    """
    media_type("links", format)
    _require(generation, ids)
    sources, graph = id_range(generation, start, stop), generation.links()
    if graph is None:
        raise Conflict(
            f"the items of collection {generation.collection!r} are no nodes of a big graph",
            given=f"{generation.manifest.kind}, links",
            expected="a collection made by `graphkin ingest nodes`",
        )
    from graphkin.export import columnar, links

    batches = links.batches(graph, sources, ids)
    if format == "csv":
        return links.csv_lines(batches)
    return (columnar.parquet if format == "parquet" else columnar.arrow)(LINK_SCHEMA, batches)


def export_fingerprints(
    generation: Generation,
    format: FingerprintFormat,
    type: FingerprintType | None,
    ids: Int32 | None = None,
    start: int = 0,
    stop: int | None = None,
) -> Iterator[bytes]:
    """Export packed fingerprints.

    FPS is the format of chemfp. A line holds the bits in hexadecimal (byte 0 first, the least significant bit of each
    byte first) and an identifier: the first name of the item that fits in a line, else its SMILES, else its id. The
    header has no date, so that a generation always yields the same bytes. NPY holds an array (n, bytes) of uint8 with
    the same bytes.

    Args:
        generation: The generation to export.
        format: File format.
        type: Type of the fingerprints; None if the items have none.
        ids: Export only these items, in this order; by default all, in id order.
        start: First id to export.
        stop: Id after the last one to export; by default the number of items.

    Raises:
        Conflict: The items have no fingerprints.
        InvalidInput: The format is not supported, or the range exceeds the items.
        NotFound: An id is out of range.
    """
    media_type("fingerprints", format)
    _require(generation, ids)
    among = id_range(generation, start, stop)
    if type is None:
        raise Conflict(
            f"the items of collection {generation.collection!r} have no fingerprints",
            given=f"{generation.manifest.kind}, fingerprints",
            expected="a collection whose items are compared by fingerprints",
        )
    from graphkin.export import fingerprints

    selection = fingerprints.FingerprintSelection(generation, type, among if ids is None else ids)
    return fingerprints.fps(selection) if format == "fps" else fingerprints.npy(selection)


def _require(generation: Generation, ids: Int32 | None) -> None:
    """Check that all ids are those of items."""
    if ids is not None and len(outside := ids[(ids < 0) | (ids >= generation.size)]):
        id = int(outside[0])
        raise NotFound(f"no item {id}", given=id, expected=f"an id from 0 to {generation.size - 1}")
