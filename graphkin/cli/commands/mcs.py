"""`graphkin mcs`: find the maximum common substructure (MCS) of each cluster."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from graphkin.cli import options
from graphkin.cli.help import command, option
from graphkin.protocol.values import ClusterMethod

if TYPE_CHECKING:
    import pyarrow as pa

    from graphkin.collection.clusters.partition import Clustering
    from graphkin.collection.open_collection import OpenCollection


@command(
    examples=[
        (
            "Write the substructures of the 10 largest clusters",
            "graphkin mcs --store s --collection m --method butina --output mcs.csv",
        ),
    ]
)
@options.source_generation
@options.clustering(required=True)
@option(
    "--clusters",
    type=click.IntRange(1),
    default=10,
    metavar="N",
    panel="Clustering",
    help="Number of clusters, the largest ones.",
)
@options.output
@options.as_json
def mcs(
    store_location: str,
    collection: str,
    generation: str | None,
    method: ClusterMethod,
    threshold: float | None,
    workers: int | None,
    clusters: int,
    output: Path,
    as_json: bool,
) -> None:
    """Write the maximum common substructure (MCS) of each cluster.

    The columns are cluster (numbered as by `graphkin cluster`), size, smarts, smiles, atoms and complete. The largest
    cluster comes first.

    smarts matches all members in RDKit. smiles is cut from the center of the cluster, with * where the center has
    further atoms. Both are empty if the members have nothing in common. In a cluster of more than 100 members, the
    center and 99 others are compared. Each search stops after 2 s; complete is false if a larger MCS may exist.
    """
    from graphkin.cli.conditions import parse_clustering
    from graphkin.cli.output import atomic_file, progress, report_file, require_json_apart
    from graphkin.collection.open_collection import OpenCollection
    from graphkin.collection.ports import local_ports
    from graphkin.export.cells import csv_lines
    from graphkin.store import open_generation

    require_json_apart(output, as_json)
    stage = progress().stage
    with open_generation(store_location, collection, generation) as reader:
        open_collection = OpenCollection(reader, partial(local_ports, threads=workers, stage=stage))
        clustering = open_collection.clusters(parse_clustering(method, threshold))
        count = min(clusters, len(clustering.clusters.centre))
        with stage("substructures", count, "clusters") as advance, atomic_file(output) as file:
            for line in csv_lines(_rows(open_collection, clustering, count), plain=("smarts", "smiles")):
                file.write(line)
                advance(1)
    report_file(output, as_json, f"{count:,} clusters", generation=reader.id, clusters=count)


def _rows(open_collection: "OpenCollection", clustering: "Clustering", count: int) -> "Iterator[pa.Table]":
    """Yield a table for each cluster, with one row."""
    import pyarrow as pa

    for number in range(1, count + 1):
        mcs = open_collection.mcs(number, clustering)
        columns = {"cluster": [mcs.cluster], "size": [mcs.size]}
        texts = {name: pa.array([getattr(mcs.substructure, name)], pa.string()) for name in ("smarts", "smiles")}
        yield pa.table({**columns, **texts, "atoms": [mcs.substructure.atoms], "complete": [mcs.substructure.complete]})
