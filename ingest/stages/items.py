"""Described items to the item table: equal ones collapse into the first, and what is left is numbered as it comes."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphkin.ingest.items import Properties, Written, collapse, names_of, rebased
from graphkin.ingest.stages.job import Job
from graphkin.store.identity import BLOCK, BlockTree
from graphkin.store.lake.parts import with_ids, write_array, write_table
from graphkin.store.records import Int64

_NAMES = pa.list_(pa.string())
_FIRSTS = pa.schema([("part", pa.int32()), ("row", pa.int32()), ("names", _NAMES)])


def distinct(parts: int, job: Job, group: int) -> dict[str, Any]:
    """Of equal items the first, with the names of all; scattered back to the parts that it was parsed in."""
    firsts = _FIRSTS.empty_table()
    told = list(job.gather("parse", parts, group))
    if told:
        items = pa.concat_tables(told)  # by part, then by row, which is the order of their appearance
        item_of, first = collapse(items["digest"])
        names = names_of(items["name"], item_of, len(first))
        firsts = items.select(["part", "row"]).take(pa.array(first)).append_column("names", names)
    job.scatter("distinct", group, firsts, np.asarray(firsts["part"]), parts)
    return {}


def keep(groups: int, job: Job, part: int) -> dict[str, Any]:
    """What stays of a part, and how its properties are written."""
    firsts = pa.concat_tables([_FIRSTS.empty_table(), *job.gather("distinct", groups, part)]).sort_by("row")
    kept = job.read("parsed", part).take(firsts["row"].combine_chunks()).drop_columns(["name"])
    job.write("kept", part, kept.append_column("names", firsts["names"]))
    given = Properties.of(job.kind.computed, kept).given
    return {
        "kept": len(kept),
        "names": pc.sum(pc.list_value_length(firsts["names"])).as_py() or 0,
        "properties": {name: [how.numeric, how.shortest] for name, how in given.items()},
    }


def properties_of(job: Job, said: list[dict[str, Any]]) -> Properties:
    """Of all items, by what was said of each part."""
    whole = Properties(job.kind.computed)
    for each in said:
        whole &= Properties(job.kind.computed, {name: Written(*how) for name, how in each["properties"].items()})
    return whole


def render(starts: Int64, properties: Properties, job: Job, number: int) -> dict[str, Any]:
    """Write the items of one part of the lake, and hash them. `starts`: the first id of each parsed part."""
    rows = job.sizes.rows
    begin, end = number * rows, min((number + 1) * rows, int(starts[-1]))
    pieces = []
    for part in range(len(starts) - 1):
        first, stop = max(begin, int(starts[part])), min(end, int(starts[part + 1]))
        if first < stop:
            pieces.append(job.read("kept", part).slice(first - int(starts[part]), stop - first))
    kept = pa.concat_tables(pieces).combine_chunks()
    table = properties.table(kept, kept["names"].combine_chunks())
    tree = BlockTree()
    for batch in table.to_batches(max_chunksize=BLOCK):
        tree.update(rebased(batch))
    parts = {"items": [write_table(job.place, "items", number, with_ids(table, begin)).model_dump()]}
    described = kept.drop_columns(["names", "properties"])
    words = job.kind.descriptors(described, job.recipe).words
    if words.shape[1]:
        parts["fingerprints"] = [write_array(job.place, "fingerprints", number, words).model_dump()]
    job.write("described", number, described)
    popcounts = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
    return {
        "parts": parts,
        "blocks": [block.hex() for block in tree.blocks],
        "popcounts": np.bincount(popcounts).tolist(),
    }
