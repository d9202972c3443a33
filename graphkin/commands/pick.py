"""`graphkin pick`: a diverse subset of a collection."""

from pathlib import Path
from typing import Literal

import click

from graphkin import options


@click.command()
@options.reading
@click.option("--count", type=click.IntRange(1), required=True, metavar="N", help="Items to pick.")
@click.option(
    "--method",
    type=click.Choice(["maxmin", "sphere"]),
    default="maxmin",
    help="Each the least similar to those before it; or any that is not near one before it, at most N of them.",
)
@click.option("--threshold", type=float, default=0.7, help="Of sphere: the similarity that is near.")
@options.output
def pick(
    store_location: str,
    collection: str,
    generation: str | None,
    count: int,
    method: Literal["maxmin", "sphere"],
    threshold: float,
    output: Path,
) -> None:
    """Write a diverse subset, in the order in which it is picked: columns id, smiles (of graphs: structure), names, and
    nearest, the similarity to the most similar item picked before.

    All items are compared, exactly. The same collection gives the same subset, and of more items one that begins so.
    """
    import pyarrow as pa

    from graphkin.export.cells import csv_lines
    from graphkin.ingest.progress import Clock
    from graphkin.output import whole_file
    from graphkin.progress import terminal_progress
    from graphkin.similarity.kinds import kind_of
    from graphkin.similarity.picking import max_min, sphere_exclusion
    from graphkin.store import open_generation

    clock = Clock(terminal_progress())
    with open_generation(store_location, collection, generation) as opened:
        search = kind_of(opened).search(opened)
        with clock.stage("pick", count, "items") as advance:
            if method == "maxmin":
                picked = max_min(opened, search, count, advance)
            else:
                picked = sphere_exclusion(opened, search, count, threshold, advance)
        columns = ["id", opened.manifest.structure, "names"]
        items = opened.take(picked.ids, columns)
        table = pa.table({**{name: items[name] for name in columns}, "nearest": picked.nearest})
        with whole_file(output) as file:
            file.writelines(csv_lines([table], plain=columns[:2]))
