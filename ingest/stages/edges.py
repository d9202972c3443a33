"""The stages that merge the pairs of the comparison tasks into shards of the graph and into one spanning forest.

A shard holds the edges of a range of items, its owners.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from graphkin.ingest.forest import SpanningForest
from graphkin.ingest.stages.job import Job
from graphkin.ingest.tally import similarity_bin_edges
from graphkin.ingest.top_k import KeptPartners
from graphkin.store import csr
from graphkin.store.lake.parts import FOREST_ROWS, edge_table, write_array, write_table
from graphkin.store.records import Edges, Graph

_FORESTS_PER_TASK = 8


def best(tasks: int, shards: int, job: Job, shard: int) -> dict[str, Any]:
    """Select the partners that each owner in a shard keeps, and scatter these edges to the shards of both ends.

    Args:
        tasks: Number of the tasks that compared items.
        shards: Number of shards.
        job: Settings of all tasks.
        shard: Number of the shard.
    """
    tables = list(job.gather("kept-pairs", tasks, shard))
    rows = {name: np.empty(0, dtype) for name, dtype in (("row", "i4"), ("column", "i4"), ("similarity", "f4"))}
    if tables:
        table = pa.concat_tables(tables)
        columns = (np.asarray(table[name]) for name in ("owner", "partner", "similarity", "pair_hash"))
        partners = KeptPartners(*columns).best(job.top_k)
        similarity = partners.similarity.astype(np.float32)
        rows = {
            "row": np.concatenate([partners.owner, partners.partner]),
            "column": np.concatenate([partners.partner, partners.owner]),
            "similarity": np.concatenate([similarity, similarity]),
        }
    job.scatter("kept-edges", shard, pa.table(rows), rows["row"] // job.sizes.owners, shards)
    return {}


def shard(tasks: int, shards: int, items: int, job: Job, number: int) -> dict[str, Any]:
    """Write one shard of the graph, and return its files, counts and histograms.

    Args:
        tasks: Number of the tasks that compared items.
        shards: Number of shards.
        items: Number of items.
        job: Settings of all tasks.
        number: Number of the shard.
    """
    first = number * job.sizes.owners
    owners = min(job.sizes.owners, items - first)
    graph = _graph(job, shards, first, owners, number)
    edges = csr.shard_edges(graph, first)
    pairs = np.zeros(owners, np.int32)
    for table in job.gather("found-pairs", tasks, number):
        np.add.at(pairs, np.asarray(table["id"]) - first, np.asarray(table["pairs"]))
    dropped = pairs - np.diff(graph.indptr).astype(np.int32)
    export_folder = job.export_folder
    parts = {
        "edges": write_table(export_folder, job.run, "edges", number, edge_table(edges)),
        "indptr": write_array(export_folder, job.run, "indptr", number, graph.indptr),
        "indices": write_array(export_folder, job.run, "indices", number, graph.indices),
        "similarity": write_array(export_folder, job.run, "similarity", number, graph.similarity),
        "dropped": write_array(export_folder, job.run, "dropped", number, dropped),
    }
    job.write_arrays(_forests(0), number, **vars(edges))
    return {
        "parts": {group: [part.model_dump()] for group, part in parts.items()},
        "edges": len(edges),
        "dropped": int(dropped.sum(dtype=np.int64)),
        "degrees": np.bincount(np.diff(graph.indptr)).tolist(),
        "similar": np.histogram(edges.similarity, bins=similarity_bin_edges(job.recipe.threshold))[0].tolist(),
    }


def _graph(job: Job, shards: int, first: int, owners: int, number: int) -> Graph:
    """Return the graph of one shard. A pair that both ends keep is one edge."""
    no_rows = pa.table({"row": np.empty(0, "i4"), "column": np.empty(0, "i4"), "similarity": np.empty(0, "f4")})
    table = pa.concat_tables([no_rows, *job.gather("kept-edges", shards, number)])
    row, column, similarity = (np.asarray(table[name]) for name in ("row", "column", "similarity"))
    order = np.argsort(row.astype(np.int64) << 32 | column)
    row, column, similarity = row[order], column[order], similarity[order]
    is_first = np.append(True, (row[1:] != row[:-1]) | (column[1:] != column[:-1]))[: len(row)]
    indptr = np.zeros(owners + 1, np.int64)
    np.cumsum(np.bincount(row[is_first] - first, minlength=owners), out=indptr[1:])
    return Graph(indptr, column[is_first], similarity[is_first])


def merge(level: int, forests: int, items: int, job: Job, number: int) -> dict[str, Any]:
    """Make one forest of the next level from the edges of some shards (level 0), or from some forests of a level.

    An edge that is not in the forest of some edges is not in the forest of any superset of them.

    Args:
        level: Level of the edges or forests to merge.
        forests: Number of shards or forests of this level.
        items: Number of items.
        job: Settings of all tasks.
        number: Number of the merged forest.
    """
    numbers = range(number * _FORESTS_PER_TASK, min((number + 1) * _FORESTS_PER_TASK, forests))
    forest = SpanningForest(items)
    for forest_number in numbers:
        forest.add(Edges(**job.read_arrays(_forests(level), forest_number)))
    job.write_arrays(_forests(level + 1), number, **vars(forest.edges()))
    return {}


def merged_count(forests: int) -> int:
    """Return the number of forests after one level of merging."""
    return -(-forests // _FORESTS_PER_TASK)


def write_forest(level: int, job: Job, task: int) -> dict[str, Any]:
    """Write the final forest in the layout of the Parquet export."""
    forest = Edges(**job.read_arrays(_forests(level), task))
    parts = [
        write_table(
            job.export_folder, job.run, "forest", number, edge_table(forest.take(slice(start, start + FOREST_ROWS)))
        )
        for number, start in enumerate(range(0, len(forest), FOREST_ROWS))
    ]
    return {"parts": {"forest": [part.model_dump() for part in parts]}}


def _forests(level: int) -> str:
    return f"forest-{level}"
