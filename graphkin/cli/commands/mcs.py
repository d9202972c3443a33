"""`graphkin mcs`: find the maximum common substructure (MCS) of each cluster."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from graphkin.cli import options
from graphkin.protocol.values import ClusterMethod

if TYPE_CHECKING:
    import pyarrow as pa

    from graphkin.collection.clusters.partition import Clustering
    from graphkin.collection.open_collection import OpenCollection


@click.command()
@options.source_generation
@options.clustering(required=True)
@click.option("--clusters", type=click.IntRange(1), default=10, metavar="N", help="Of so many clusters, the largest.")
@options.output
def mcs(
    store_location: str,
    collection: str,
    generation: str | None,
    method: ClusterMethod,
    threshold: float | None,
    workers: int | None,
    clusters: int,
    output: Path,
) -> None:
    """Write the maximum common substructure (MCS) of each cluster, the largest cluster first: columns
    cluster, as `graphkin cluster` numbers them, size, smarts, smiles, atoms and complete.

    smarts: as RDKit finds it in each of them; smiles: cut from the cluster's centre, with * where more hangs on it
    there; both empty where they share nothing. Of a cluster with more than 100 members its centre and 99 others are
    compared, evenly by their place. Each search stops after 2 s; complete is false where there may be a larger one.
    """
    from graphkin.cli.conditions import parse_clustering
    from graphkin.cli.output import atomic_file
    from graphkin.collection.open_collection import OpenCollection
    from graphkin.collection.ports import local_ports
    from graphkin.export.cells import csv_lines
    from graphkin.ingest.progress_bars import terminal_progress
    from graphkin.store import open_generation

    progress = terminal_progress()
    with open_generation(store_location, collection, generation) as reader:
        open_collection = OpenCollection(reader, partial(local_ports, threads=workers, stage=progress.stage))
        clustering = open_collection.clusters(parse_clustering(method, threshold))
        count = min(clusters, len(clustering.clusters.centre))
        with progress.stage("substructures", count, "clusters") as advance, atomic_file(output) as file:
            for line in csv_lines(_rows(open_collection, clustering, count), plain=("smarts", "smiles")):
                file.write(line)
                advance(1)


def _rows(open_collection: "OpenCollection", clustering: "Clustering", count: int) -> "Iterator[pa.Table]":
    """Yield a table for each cluster, with one row."""
    import pyarrow as pa

    for number in range(1, count + 1):
        mcs = open_collection.mcs(number, clustering)
        columns = {"cluster": [mcs.cluster], "size": [mcs.size]}
        texts = {name: pa.array([getattr(mcs.substructure, name)], pa.string()) for name in ("smarts", "smiles")}
        yield pa.table({**columns, **texts, "atoms": [mcs.substructure.atoms], "complete": [mcs.substructure.complete]})
