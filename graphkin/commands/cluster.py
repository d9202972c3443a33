"""`graphkin cluster`: a whole collection in clusters."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from graphkin import options

if TYPE_CHECKING:
    import pyarrow as pa

    from graphkin.similarity.clusters.partition import Clusters
    from graphkin.store.base import Generation

_ROWS = 65_536  # of a piece that is written at once


@click.command()
@options.reading
@click.option(
    "--method",
    type=click.Choice(["butina", "scaffold", "single"]),
    required=True,
    help="Taylor and Butina's; molecules by Bemis and Murcko's scaffolds; or single linkage in the stored hierarchy.",
)
@click.option(
    "--threshold",
    type=float,
    default=0.7,
    help="Smallest similarity of neighbours, for butina and single; with single the stored threshold or more.",
)
@click.option("--workers", type=click.IntRange(min=1), help="Processes and threads.  [default: all cores]")
@options.output
def cluster(
    store_location: str,
    collection: str,
    generation: str | None,
    method: Literal["butina", "scaffold", "single"],
    threshold: float,
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


def _clusters(opened: "Generation", method: str, threshold: float, workers: int) -> "Clusters":
    from graphkin.ingest.progress import Clock
    from graphkin.progress import terminal_progress
    from graphkin.similarity.clusters.butina import butina
    from graphkin.similarity.clusters.linkage import single_linkage
    from graphkin.similarity.clusters.scaffolds import by_scaffold

    clock = Clock(terminal_progress())
    match method:
        case "single":
            return single_linkage(opened, threshold)
        case "scaffold":
            with clock.stage("scaffolds", opened.size, "items") as advance:
                return by_scaffold(opened, workers, advance)
        case _:
            with clock.stage("join", opened.size, "items") as advance:
                return butina(opened, threshold, workers, advance)


def _tables(opened: "Generation", clusters: "Clusters", columns: list[str]) -> "Iterator[pa.Table]":
    import pyarrow as pa

    members = clusters.members()
    for start in range(0, len(members), _ROWS):
        ids = members[start : start + _ROWS]
        items = opened.take(ids, columns)
        numbers = pa.array(clusters.label[ids].astype("int64") + 1)
        yield pa.table({"cluster": numbers, **{name: items[name] for name in columns}})
