"""Exports of a generation: files in standard formats, as streams of bytes, and Arrow tables.

Functions check their arguments when they are called. The iterators that they return need little memory, whatever the
size of the generation. Text is UTF-8.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
import pyarrow as pa

from graphkin.export.table import Comparison, ItemTable
from graphkin.protocol.errors import Conflict, InvalidInput, NotFound
from graphkin.store.base import Generation, as_float32, id_range
from graphkin.store.computed import DescriptorValues
from graphkin.store.records import EDGE_SCHEMA, LINK_SCHEMA, Edges, FingerprintType, Int32

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
"""Media types of all exports, by content and format."""


def media_type(content: str, format: str) -> str:
    """Return the media type of an export.

    Args:
        content: Content of the export: a key of `MEDIA_TYPES`, such as "edges".
        format: Format of the file, such as "csv".

    Raises:
        InvalidInput: The content or the format is not supported. The error lists the supported ones.
    """
    if content not in MEDIA_TYPES:
        raise InvalidInput(
            "there is no export of this content",
            given=content,
            expected=f"one of {', '.join(MEDIA_TYPES)}",
            hint="choose one of the accepted contents",
        )
    if format not in MEDIA_TYPES[content]:
        formats = f"one of {', '.join(MEDIA_TYPES[content])}"
        raise InvalidInput(
            f"{content} cannot be exported in this format",
            given=format,
            expected=formats,
            hint="choose one of the accepted formats",
        )
    return MEDIA_TYPES[content][format]


def export_items(
    generation: Generation,
    format: ItemFormat,
    ids: Int32 | None = None,
    comparison: Comparison | None = None,
    columns: Sequence[str] | None = None,
    start: int = 0,
    stop: int | None = None,
    descriptor: DescriptorValues | None = None,
) -> Iterator[bytes]:
    """Export items as a table or an SD file.

    The columns of a table, which are the data items of an SD file, have this order:

    1. id
    2. smiles (for graphs: structure, as JSON)
    3. names: a list in Parquet and Arrow, joined by `; ` in CSV, one name per line in SD files
    4. inchikey, if the recipe computes it
    5. similarity, if there is a comparison
    6. the properties, ordered by name. A property with the name of an earlier column gets the prefix `property.`.
    7. the computed columns that `columns` names: descriptors and activities

    Lines of CSV end with a line feed. Formulas in CSV get a leading apostrophe, so that spreadsheets do not run them;
    structures remain unchanged.

    Args:
        generation: The generation to export.
        format: File format.
        ids: Export only these items, in this order; default: all, in id order.
        comparison: Add the similarity of each item to this structure.
        columns: Export only these columns, in the order above. SD files always hold the molecules and their titles.
        start: First id to export.
        stop: Id to stop before; default: the number of items.
        descriptor: Returns the values of a molecular descriptor. Without it, no descriptor can be exported.

    Raises:
        InvalidInput: The format is not supported, a column does not exist, or the range exceeds the ids.
        NotFound: There is no item with one of `ids`.
        Conflict: The format is SD and the items are not molecules.
    """
    media_type("items", format)
    table = _item_table(generation, ids, comparison, columns, start, stop, descriptor)
    if format == "sdf":
        from graphkin.export import sdf

        if generation.manifest.structure != "smiles":
            raise Conflict(
                f"the items of collection {generation.collection!r} are not molecules, and SDF holds molecules",
                given=format,
                expected="one of csv, parquet, arrow",
                hint="export csv, parquet or arrow instead",
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
    descriptor: DescriptorValues | None = None,
) -> pa.Table:
    """Return items as one Arrow table, with the columns of `export_items`. Arguments and errors are the same."""
    from graphkin.export import items

    table = _item_table(generation, ids, None, columns, start, stop, descriptor)
    return pa.Table.from_batches(items.batches(table), items.schema(table))


def _item_table(
    generation: Generation,
    ids: Int32 | None,
    comparison: Comparison | None,
    columns: Sequence[str] | None,
    start: int,
    stop: int | None,
    descriptor: DescriptorValues | None,
) -> ItemTable:
    _require_ids(generation, ids)
    id_span = id_range(generation, start, stop)
    return ItemTable(generation, ids, comparison, columns, id_span.start, id_span.stop, descriptor)


def export_edges(
    generation: Generation,
    format: EdgeFormat,
    min_similarity: float | None = None,
    ids: Int32 | None = None,
    comparison: Comparison | None = None,
    start: int = 0,
    stop: int | None = None,
    complete: Edges | None = None,
) -> Iterator[bytes]:
    """Export edges with source < target, ordered by source, then target.

    Similarities in text formats are the shortest decimals that round to the float32. Arrow and Parquet files hold
    `Manifest.pairs` as JSON in the metadata key `graphkin.pairs`.

    GraphML also holds the items, or those of `ids`, with the columns of `export_items`. If the structure of
    `comparison` is not one of these items, GraphML holds it as the node `query`, with edges to all items whose
    similarity reaches `min_similarity` (default: the stored threshold).

    Args:
        generation: The generation to export.
        format: File format.
        min_similarity: Lowest similarity of an edge; default: all edges.
        ids: Export only edges with both ends among these ids.
        comparison: A structure to add to the graph. Only GraphML can hold one.
        start: Lowest source. GraphML requires 0.
        stop: Source to stop before; default: the number of items, which GraphML requires.
        complete: Edges to export instead of the stored ones, in the same order. `min_similarity` and `ids` do not
            select among them.

    Raises:
        InvalidInput: The format is not supported or cannot hold a comparison or a range, or the range exceeds the ids.
        NotFound: There is no item with one of `ids`.
    """
    media_type("edges", format)
    if comparison is not None and format != "graphml":
        raise InvalidInput(
            "edges to the query structure cannot be exported in this format, because the query structure has no id",
            given=format,
            expected="graphml",
            hint="export edges as graphml, or export items: they get a column similarity",
        )
    _require_ids(generation, ids)
    sources = id_range(generation, start, stop)
    if format == "graphml" and len(sources) < generation.size:
        raise InvalidInput(
            "GraphML holds a whole graph, not a range of its edges",
            given=f"{start} to {sources.stop}",
            expected="start and stop with csv, parquet or arrow",
            hint="leave start and stop out, choose another format, or select items by their ids",
        )
    from graphkin.export import columnar, edges, graphml

    blocks = generation.edges(min_similarity, ids) if complete is None else edges.split(complete)
    selected = edges.filter_sources(blocks, sources)
    if format == "graphml":
        threshold = as_float32(generation.manifest.threshold if min_similarity is None else min_similarity)
        table = ItemTable(generation, None if ids is None else np.unique(ids), comparison)
        return graphml.graphml_document(table, selected, threshold)
    if format == "csv":
        return edges.csv_lines(selected)
    write = columnar.parquet if format == "parquet" else columnar.arrow
    metadata = {"graphkin.pairs": json.dumps(generation.manifest.pairs)} if complete is None else {}
    return write(EDGE_SCHEMA.with_metadata(metadata), edges.batches(selected))


def read_edges(
    generation: Generation, min_similarity: float | None = None, start: int = 0, stop: int | None = None
) -> pa.Table:
    """Return edges as one Arrow table, with the columns of `export_edges`. Arguments and errors are the same."""
    from graphkin.export import edges

    selected = edges.filter_sources(generation.edges(min_similarity), id_range(generation, start, stop))
    return pa.Table.from_batches(edges.batches(selected), EDGE_SCHEMA)


def export_links(
    generation: Generation, format: LinkFormat, ids: Int32 | None = None, start: int = 0, stop: int | None = None
) -> Iterator[bytes]:
    """Export the links of a collection of nodes: the edges of the big graph that the nodes come from.

    Links have source < target and are ordered by source, then target.

    Args:
        generation: The generation to export.
        format: File format.
        ids: Export only links with both ends among these ids.
        start: Lowest source.
        stop: Source to stop before; default: the number of items.

    Raises:
        Conflict: The items are not nodes of a big graph.
        InvalidInput: The format is not supported, or the range exceeds the ids.
        NotFound: There is no item with one of `ids`.
    """
    media_type("links", format)
    _require_ids(generation, ids)
    sources, graph = id_range(generation, start, stop), generation.links()
    if graph is None:
        raise Conflict(
            f"the items of collection {generation.collection!r} are not nodes of a network, so they have no links",
            given=f"{generation.manifest.kind}, links",
            expected="a collection made by `graphkin ingest nodes`",
            hint="export edges instead: they join similar items",
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

    FPS is the text format of chemfp. Each line holds a fingerprint in hexadecimal, byte 0 first, and an identifier: the
    first name without tabs, line breaks and null characters, or the SMILES if there is no such name, or the id. The
    header has no date, so that the export of a generation always has the same bytes. NPY holds an array (n, bytes) of
    uint8. In both, the first bit of a byte is the least significant one.

    Args:
        generation: The generation to export.
        format: File format.
        type: Type of the fingerprints; None if the items have no fingerprints.
        ids: Export only these items, in this order; default: all, in id order.
        start: First id to export.
        stop: Id to stop before; default: the number of items.

    Raises:
        Conflict: The items have no fingerprints.
        InvalidInput: The format is not supported, or the range exceeds the ids.
        NotFound: There is no item with one of `ids`.
    """
    media_type("fingerprints", format)
    _require_ids(generation, ids)
    id_span = id_range(generation, start, stop)
    if type is None:
        raise Conflict(
            f"the items of collection {generation.collection!r} have no fingerprints",
            given=f"{generation.manifest.kind}, fingerprints",
            expected="a collection whose items are compared by fingerprints",
            hint="export items or edges instead",
        )
    from graphkin.export import fingerprints

    selection = fingerprints.FingerprintSelection(generation, type, id_span if ids is None else ids)
    return fingerprints.fps(selection) if format == "fps" else fingerprints.npy(selection)


def _require_ids(generation: Generation, ids: Int32 | None) -> None:
    """Raise `NotFound` unless all ids belong to items."""
    if ids is not None and len(outside := ids[(ids < 0) | (ids >= generation.size)]):
        id = int(outside[0])
        raise NotFound(
            f"there is no item {id}",
            given=id,
            expected=f"an id from 0 to {generation.size - 1}",
            hint="use an id of this generation: ids change from generation to generation",
        )
