"""`graphkin cluster`: cluster a collection, and write one row per item."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from graphkin.cli import options
from graphkin.protocol.values import ClusterMethod

if TYPE_CHECKING:
    import pyarrow as pa

    from graphkin.collection.clusters.partition import Clusters
    from graphkin.store.base import Generation

_ROWS = 65_536  # rows per block of output


@click.command()
@options.source_generation
@options.clustering(required=True)
@options.output
def cluster(
    store_location: str,
    collection: str,
    generation: str | None,
    method: ClusterMethod,
    threshold: float | None,
    workers: int | None,
    output: Path,
) -> None:
    """Write all items, the largest cluster first: columns cluster, id, smiles (of graphs: structure), names.

    Each cluster begins with its centre: the item that Taylor and Butina's is taken around, the medoid of single
    linkage, the first molecule of a scaffold. Taylor and Butina's neighbours are all similar items, whatever the cap
    of the hierarchy.
    """
    from graphkin.cli.conditions import parse_clustering
    from graphkin.cli.output import atomic_file
    from graphkin.collection.open_collection import OpenCollection
    from graphkin.collection.ports import local_ports
    from graphkin.export.cells import csv_lines
    from graphkin.ingest.progress_bars import terminal_progress
    from graphkin.store import open_generation

    with open_generation(store_location, collection, generation) as reader:
        open_collection = OpenCollection(reader, partial(local_ports, threads=workers, stage=terminal_progress().stage))
        clusters = open_collection.clusters(parse_clustering(method, threshold)).clusters
        structure = reader.manifest.structure
        with atomic_file(output) as file:
            file.writelines(csv_lines(_tables(reader, clusters, ["id", structure, "names"]), plain=(structure,)))
    sizes = clusters.sizes
    click.echo(
        f"{len(sizes):,} clusters of {reader.size:,} items, the largest of {sizes[0]:,}; {(sizes == 1).sum():,} of one",
        err=True,
    )


def _tables(reader: "Generation", clusters: "Clusters", columns: list[str]) -> "Iterator[pa.Table]":
    import pyarrow as pa

    for start in range(0, len(clusters.order), _ROWS):
        ids = clusters.order[start : start + _ROWS]
        items = reader.take(ids, columns)
        numbers = pa.array(clusters.label[ids].astype("int64") + 1)
        yield pa.table({"cluster": numbers, **{name: items[name] for name in columns}})
