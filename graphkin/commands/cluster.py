"""`graphkin cluster`: a whole collection in clusters."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from graphkin import options
from graphkin.protocol.values import ClusterMethod

if TYPE_CHECKING:
    import pyarrow as pa

    from graphkin.similarity.clusters.partition import Clusters
    from graphkin.store.base import Generation

_ROWS = 65_536  # of a piece that is written at once


@click.command()
@options.reading
@click.option(
    "--method",
    type=click.Choice(get_args(ClusterMethod)),
    required=True,
    help="Taylor and Butina's; molecules by Bemis and Murcko's scaffolds; or single linkage in the stored hierarchy.",
)
@click.option(
    "--threshold",
    type=float,
    help="Smallest similarity of neighbours, for butina and single; with single the stored threshold or more.  "
    "[default: 0.7; single: the smallest at which the largest cluster holds a tenth of all items]",
)
@click.option("--workers", type=click.IntRange(min=1), help="Processes and threads.  [default: all cores]")
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
    from graphkin.export.cells import csv_lines
    from graphkin.output import whole_file
    from graphkin.store import open_generation

    with open_generation(store_location, collection, generation) as opened:
        found = _clusters(opened, method, threshold, workers or os.cpu_count() or 1)
        structure = opened.manifest.structure
        with whole_file(output) as file:
            file.writelines(csv_lines(_tables(opened, found, ["id", structure, "names"]), plain=(structure,)))
    sizes = found.sizes
    click.echo(
        f"{len(sizes):,} clusters of {opened.size:,} items, the largest of {sizes[0]:,}; {(sizes == 1).sum():,} of one",
        err=True,
    )


def _clusters(opened: "Generation", method: ClusterMethod, threshold: float | None, workers: int) -> "Clusters":
    from graphkin.ingest.progress import Clock
    from graphkin.progress import terminal_progress
    from graphkin.similarity.clusters.kept import clusters, threshold_of

    meant = threshold_of(opened, method, threshold)
    with Clock(terminal_progress()).stage("clusters", opened.size, "items") as advance:
        return clusters(opened, method, meant, workers, advance)


def _tables(opened: "Generation", clusters: "Clusters", columns: list[str]) -> "Iterator[pa.Table]":
    import pyarrow as pa

    for start in range(0, len(clusters.order), _ROWS):
        ids = clusters.order[start : start + _ROWS]
        items = opened.take(ids, columns)
        numbers = pa.array(clusters.label[ids].astype("int64") + 1)
        yield pa.table({"cluster": numbers, **{name: items[name] for name in columns}})
