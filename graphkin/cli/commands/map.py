"""`graphkin map`: write the coordinates of all items in a two-dimensional map."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from graphkin.cli import options
from graphkin.protocol.values import ClusterMethod

if TYPE_CHECKING:
    import pyarrow as pa

    from graphkin.collection.layout import Map
    from graphkin.store.base import Generation

_ROWS = 65_536  # rows per block of output


@click.command("map")
@options.source_generation
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
    from graphkin.cli.output import atomic_file
    from graphkin.collection.open_collection import OpenCollection
    from graphkin.collection.ports import local_ports
    from graphkin.export.cells import csv_lines
    from graphkin.ingest.progress_bars import terminal_progress
    from graphkin.protocol.requests import MapQuery
    from graphkin.protocol.validation import translate_validation_errors
    from graphkin.store import open_generation

    if method is None and threshold is not None:
        raise click.UsageError("--threshold is of --method")
    with translate_validation_errors():
        request = MapQuery(property=name, method=method, threshold=threshold)
    with open_generation(store_location, collection, generation) as reader:
        open_collection = OpenCollection(reader, partial(local_ports, threads=workers, stage=terminal_progress().stage))
        tables = _tables(reader, open_collection.map(request))
        with atomic_file(output) as file:
            file.writelines(csv_lines(tables, plain=(reader.manifest.structure,)))


def _tables(reader: "Generation", layout: "Map") -> "Iterator[pa.Table]":
    import numpy as np
    import pyarrow as pa

    for start in range(0, reader.size, _ROWS):
        stop = min(start + _ROWS, reader.size)
        table = pa.Table.from_batches([layout.rows(slice(start, stop))])
        items = reader.take(np.arange(start, stop, dtype=np.int32), [reader.manifest.structure, "names"])
        for column in (reader.manifest.structure, "names"):
            table = table.append_column(column, items[column])
        yield table
