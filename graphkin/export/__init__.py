"""Exports: a generation streamed out in the formats that other programs open, or read as one Arrow table.

What is asked for is checked at once; what a format returns then yields bytes in bounded memory. Text is UTF-8.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
import pyarrow as pa

from graphkin.export.table import Comparison, ItemTable
from graphkin.protocol.errors import Conflict, InvalidInput, NotFound
from graphkin.store.base import Generation, id_range, rounded
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
"""what -> format -> media type: the combinations that are offered."""


def media_type(what: str, format: str) -> str:
    """The media type of an export. Raises `InvalidInput` naming what is offered."""
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
    """The items `start` to `stop` - 1 (default: all) in id order, or the ones with the given ids in the given order.

    Columns (in SD files data items): id, smiles (of graphs: structure, as JSON), names, inchikey if the recipe asked
    for it, similarity if they are compared, then the properties by name; one that is called like a column before it
    gets `property.` in front. Names are a list in Parquet and Arrow, one a line in SD files, else joined by `; `. CSV
    lines end with a line feed; text and headers that a spreadsheet would run get a ' in front, structures do not. With
    `columns` only those called so, in this order all the same; SD files have molecules and titles in any case.
    Raises `InvalidInput` for a format that is not offered, a column that there is not, and a range beyond the items;
    `NotFound` for an id out of range, and `Conflict` for an SD file of a collection without molecules.
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
    return write(items.schema(table), items.typed(table))


def read_items(
    generation: Generation,
    ids: Int32 | None = None,
    columns: Sequence[str] | None = None,
    start: int = 0,
    stop: int | None = None,
) -> pa.Table:
    """What `export_items` writes as Arrow, as one table. Raises as it does."""
    from graphkin.export import items

    table = _item_table(generation, ids, None, columns, start, stop)
    return pa.Table.from_batches(items.typed(table), items.schema(table))


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
    """The edges with similarity ≥ `min_similarity` (default: all), source < target, ordered by source then target.

    With `ids` only those with both ends among them; with `start` and `stop` those with start ≤ source < stop, but not
    as GraphML. Similarities in text are the shortest float32 text. Arrow and Parquet have
    `Manifest.pairs` as JSON in the metadata `graphkin.pairs`. GraphML holds the items too (those of `ids`), with
    their columns as in `export_items`, and what they are compared with, unless it is one of them: as node `query`,
    joined to each that reaches `min_similarity` (default: the stored threshold).
    Raises `InvalidInput` for a format that is not offered, or that has no place for a comparison or a range, and for a
    range beyond the items; `NotFound` for an id out of range.
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

    selected = edges.between(generation.edges(min_similarity, ids), sources)
    if format == "graphml":
        threshold = rounded(generation.manifest.threshold if min_similarity is None else min_similarity)
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
    """What `export_edges` writes as Arrow, as one table. Raises as it does."""
    from graphkin.export import edges

    selected = edges.between(generation.edges(min_similarity), id_range(generation, start, stop))
    return pa.Table.from_batches(edges.batches(selected), EDGE_SCHEMA)


def export_links(
    generation: Generation, format: LinkFormat, ids: Int32 | None = None, start: int = 0, stop: int | None = None
) -> Iterator[bytes]:
    """The links of the big graph whose nodes the items are, source < target, ordered by source then target.

    With `ids` only those with both ends among them; with `start` and `stop` those with start ≤ source < stop. Raises
    `Conflict` where the items are no such nodes, `InvalidInput` for a format that is not offered and for a range beyond
    the items, and `NotFound` for an id out of range.
    """
    media_type("links", format)
    _require(generation, ids)
    sources, found = id_range(generation, start, stop), generation.links()
    if found is None:
        raise Conflict(
            f"the items of collection {generation.collection!r} are no nodes of a big graph",
            given=f"{generation.manifest.kind}, links",
            expected="a collection made by `graphkin ingest nodes`",
        )
    from graphkin.export import columnar, links

    batches = links.batches(found, sources, ids)
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
    """The packed fingerprints of items `start` to `stop` - 1 (default: all) in id order, or of the ones with the given
    ids in the given order; `type` is what they are, None where items have none.

    FPS is chemfp's format: in each line the bits in hexadecimal, byte 0 first, the least significant bit of each byte
    first, then the item's first name that fits in a line, else its SMILES, else its id. There is no date, so that one
    generation gives the same bytes every time. NPY is an array (n, bytes) of uint8 with the same bytes.
    Raises `Conflict` where items have no fingerprints, `InvalidInput` for a format that is not offered and for a range
    beyond the items, and `NotFound` for an id out of range.
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

    chosen = fingerprints.Chosen(generation, type, among if ids is None else ids)
    return fingerprints.fps(chosen) if format == "fps" else fingerprints.npy(chosen)


def _require(generation: Generation, ids: Int32 | None) -> None:
    if ids is not None and len(outside := ids[(ids < 0) | (ids >= generation.size)]):
        id = int(outside[0])
        raise NotFound(f"no item {id}", given=id, expected=f"an id from 0 to {generation.size - 1}")
