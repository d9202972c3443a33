"""`graphkin map`: where the items of a collection lie on a map of it."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from graphkin.cli import options
from graphkin.protocol.values import ClusterMethod

if TYPE_CHECKING:
    import pyarrow as pa

    from graphkin.collection.layout import Layout
    from graphkin.store.base import Generation
    from graphkin.store.records import Float64, Int32

_ROWS = 65_536  # of a piece that is written at once


@click.command("map")
@options.reading
@click.option("--property", "name", metavar="NAME", help="Property with numbers, as exports call it, to write.")
@options.clustering(required=False)
@options.output
def map(
    store_location: str,
    collection: str,
    generation: str | None,
    name: str | None,
    method: ClusterMethod | None,
    threshold: float | None,
    workers: int | None,
    output: Path,
) -> None:
    """Write where each item lies on a map of the collection: columns id, x, y, from 0 to 1 and y downwards, value, of
    the property, cluster, as `graphkin cluster` numbers them, smiles (of graphs: structure) and names.

    Items that are most similar are neighbours, those without any lie below. The same generation has the same map. It is
    computed once on a machine.
    """
    from graphkin.cli.conditions import clustering_of
    from graphkin.cli.output import whole_file
    from graphkin.collection.opened import OpenCollection
    from graphkin.export.cells import csv_lines
    from graphkin.ingest.progress_bars import terminal_progress
    from graphkin.similarity.columns import numeric
    from graphkin.store import open_generation

    if method is None and threshold is not None:
        raise click.UsageError("--threshold is of --method")
    with open_generation(store_location, collection, generation) as opened:
        values = None if name is None else numeric(opened, name)
        open_collection = OpenCollection(opened, workers, stage=terminal_progress().stage)
        label = None if method is None else open_collection.clusters(clustering_of(method, threshold)).label
        found = open_collection.layout()
        structure = opened.manifest.structure
        with whole_file(output) as file:
            file.writelines(csv_lines(_tables(opened, found, values, label), plain=(structure,)))


def _tables(
    opened: "Generation", found: "Layout", values: "Float64 | None", label: "Int32 | None"
) -> "Iterator[pa.Table]":
    import numpy as np
    import pyarrow as pa

    from graphkin.collection.layout import rows

    for start in range(0, opened.size, _ROWS):
        stop = min(start + _ROWS, opened.size)
        table = pa.Table.from_batches([rows(found, values, label, slice(start, stop))])
        items = opened.take(np.arange(start, stop, dtype=np.int32), [opened.manifest.structure, "names"])
        for column in (opened.manifest.structure, "names"):
            table = table.append_column(column, items[column])
        yield table
