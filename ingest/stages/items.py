"""The stages that merge records of the same item, and number the distinct items in the order of their first records.

A part is a range of records that one task has parsed. A group is a set of records that can have equal digests.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphkin.ingest.differences import Differences
from graphkin.ingest.duplicates import Repeats
from graphkin.ingest.items import ColumnFormat, Properties, assign_item_ids, collect_names, rebase_offsets
from graphkin.ingest.source_columns import column_order, source_columns
from graphkin.ingest.stages.job import Job
from graphkin.protocol.manifest import ColumnValues, DifferingValues
from graphkin.similarity.popcount import row_popcounts
from graphkin.store.identity import BLOCK_SIZE, BlockHasher
from graphkin.store.lake.parts import add_ids, write_array, write_table
from graphkin.store.records import Int64

_NAMES = pa.list_(pa.string())
_COMPARED = ("properties", "smiles", "structure")
_LATER = pa.schema([(name, pa.int32()) for name in ("part", "row", "first_part", "first_row")])
_FIRSTS = pa.schema([("part", pa.int32()), ("row", pa.int32()), ("names", _NAMES)])


def distinct(parts: int, job: Job, group: int) -> dict[str, Any]:
    """Find the first record of each item in a group, and the names of all its records.

    First records are scattered to the parts that parsed them, and so are later records.
    """
    firsts, later = _FIRSTS.empty_table(), _LATER.empty_table()
    tables = list(job.gather("parse", parts, group))
    if tables:
        items = pa.concat_tables(tables)  # sorted by part, then by row, which is the order of the input
        item_of, first = assign_item_ids(items["digest"])
        names = collect_names(items["name"], item_of, len(first))
        firsts = items.select(["part", "row"]).take(pa.array(first)).append_column("names", names)
        later = _later(items.select(["part", "row"]), first[item_of])
    job.scatter("later", group, later, np.asarray(later["part"]), parts)
    job.scatter("distinct", group, firsts, np.asarray(firsts["part"]), parts)
    return {}


def _later(items: pa.Table, first: Int64) -> pa.Table:
    """Return the records that are not the first of their item (`_LATER`).

    Args:
        items: (N,) part and row of each record.
        first: (N,) index of the first record of the item of each record.
    """
    rows = np.flatnonzero(first != np.arange(len(items)))
    first_items = items.take(pa.array(first[rows])).rename_columns(["first_part", "first_row"])
    later_items = items.take(pa.array(rows))
    return pa.table([*later_items.columns, *first_items.columns], schema=_LATER)


def repeat(groups: int, parts: int, job: Job, part: int) -> dict[str, Any]:
    """Scatter the later records of one part, with their properties, to the parts with the first records."""
    later = pa.concat_tables([_LATER.empty_table(), *job.gather("later", groups, part)])
    parsed = job.read("parsed", part) if len(later) else None
    if parsed is None:
        job.scatter("repeat", part, later, np.empty(0, np.int64), parts)
        return {}
    described = parsed.select([name for name in _COMPARED if name in parsed.column_names])
    records = described.take(later["row"].combine_chunks())
    for name in ("part", "row", "first_row"):
        records = records.append_column(name, later[name])
    job.scatter("repeat", part, records, np.asarray(later["first_part"]), parts)
    return {}


def _differences(parts: int, job: Job, part: int, parsed: pa.Table) -> Differences:
    """Compare later records of all parts with the first records of their items, which are in this part."""
    differences = Differences()
    for records in job.gather("repeat", parts, part):
        first_values = source_columns(
            parsed["properties"].take(records["first_row"].combine_chunks()), job.kind.computed_columns
        )
        positions = np.asarray(records["part"], np.int64) << 32 | np.asarray(records["row"], np.int64)
        differences.add(
            records, source_columns(records["properties"], job.kind.computed_columns), first_values, positions
        )
    return differences


def _merge_duplicates(
    parts: int, job: Job, part: int, parsed: pa.Table, items: pa.Table, first_rows: Int64
) -> tuple[pa.Table, Differences]:
    """Return the items of this part with the merged values of their records in all parts, and the differing values.

    Args:
        parts: Number of parts.
        job: The job.
        part: Number of this part.
        parsed: The records of this part.
        items: (D,) first records of the items.
        first_rows: (D,) ascending rows of the items in `parsed`.
    """
    differences = Differences()
    later = list(job.gather("repeat", parts, part))
    if not later:
        return items, differences
    repeats = pa.concat_tables(later).sort_by([("part", "ascending"), ("row", "ascending")])
    columns = [name for name in _COMPARED if name in items.column_names]
    records = pa.concat_tables([items.select(columns), repeats.select(columns)])
    item_of = np.concatenate([np.arange(len(items)), np.searchsorted(first_rows, np.asarray(repeats["first_row"]))])
    order = column_order(pa.chunked_array([*parsed["properties"].chunks, *repeats["properties"].chunks]))
    repeated = Repeats.from_records(records, item_of, order)
    places = [np.full(len(items), part), np.asarray(repeats["part"], np.int64)]
    rows = [first_rows, np.asarray(repeats["row"], np.int64)]
    positions = np.concatenate(places) << 32 | np.concatenate(rows)
    repeated.add_differences(differences, positions[repeated.rows], job.kind.computed_columns)
    return repeated.merge_into(items, repeated.items, job.options.duplicates), differences


def keep(groups: int, parts: int, job: Job, part: int) -> dict[str, Any]:
    """Write the items whose first records are in one part, and return counts, column formats and differing values."""
    firsts = pa.concat_tables([_FIRSTS.empty_table(), *job.gather("distinct", groups, part)]).sort_by("row")
    parsed = job.read("parsed", part)
    items = parsed.take(firsts["row"].combine_chunks()).drop_columns(["name"])
    if job.options.duplicates == "first":
        differences = _differences(parts, job, part, parsed)
    else:
        items, differences = _merge_duplicates(parts, job, part, parsed, items, np.asarray(firsts["row"]))
    job.write("kept", part, items.append_column("names", firsts["names"]))
    properties = Properties.from_items(job.kind.computed_columns, items)
    columns = properties.columns
    return {
        "kept": len(items),
        "names": pc.sum(pc.list_value_length(firsts["names"])).as_py() or 0,
        "properties": {
            name: [columns[name].model_dump(), column_format.shortest]
            for name, column_format in properties.source.items()
        },
        "differences": differences.state(),
    }


def merge_properties(job: Job, parts: list[dict[str, Any]]) -> Properties:
    """Return the properties of all items, from the results of `keep`."""
    merged = Properties(job.kind.computed_columns)
    for part in parts:
        column_formats = {
            name: ColumnFormat.from_values(ColumnValues(**values), shortest=shortest)
            for name, (values, shortest) in part["properties"].items()
        }
        merged &= Properties(job.kind.computed_columns, column_formats)
    return merged


def merge_differing(parts: list[dict[str, Any]]) -> DifferingValues:
    """Return the differing values of all items, from the results of `keep`."""
    merged = Differences()
    for part in parts:
        merged.merge(part["differences"])
    return merged.differing()


def render(starts: Int64, properties: Properties, job: Job, number: int) -> dict[str, Any]:
    """Write the items of one part of the export, and hash them.

    Args:
        starts: First item id of each part of the records, and the number of items.
        properties: Properties of all items.
        job: The job.
        number: Number of the part of the export.
    """
    rows = job.sizes.rows
    begin, end = number * rows, min((number + 1) * rows, int(starts[-1]))
    pieces = []
    for part in range(len(starts) - 1):
        first, stop = max(begin, int(starts[part])), min(end, int(starts[part + 1]))
        if first < stop:
            pieces.append(job.read("kept", part).slice(first - int(starts[part]), stop - first))
    items = pa.concat_tables(pieces).combine_chunks()
    table = properties.table(items, items["names"].combine_chunks())
    hasher = BlockHasher()
    for batch in table.to_batches(max_chunksize=BLOCK_SIZE):
        hasher.update(rebase_offsets(batch))
    parts = {"items": [write_table(job.export_folder, job.run, "items", number, add_ids(table, begin)).model_dump()]}
    described = items.drop_columns(["names", "properties"])
    words = job.kind.descriptors(described, job.recipe).words
    if words.shape[1]:
        parts["fingerprints"] = [write_array(job.export_folder, job.run, "fingerprints", number, words).model_dump()]
    job.write("described", number, described)
    popcounts = row_popcounts(words)
    return {
        "parts": parts,
        "blocks": [block.hex() for block in hasher.blocks],
        "popcounts": np.bincount(popcounts).tolist(),
    }
