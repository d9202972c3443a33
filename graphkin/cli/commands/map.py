"""`graphkin map`: write the coordinates of all items in a two-dimensional map."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from graphkin.cli import options
from graphkin.cli.help import command, option
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.values import ClusterMethod

if TYPE_CHECKING:
    import pyarrow as pa

    from graphkin.collection.layout import Map
    from graphkin.store.base import Generation

_ROWS = 65_536  # rows per block of output


@command(
    "map",
    examples=[
        ("Write the map of a collection", "graphkin map --store s --collection m --output map.csv"),
        (
            "Add a property and the clusters",
            "graphkin map --store s --collection m --property molwt --method butina --output map.csv",
        ),
    ],
)
@options.source_generation
@option(
    "--property",
    "name",
    metavar="NAME",
    panel="Query",
    help="Numeric property to write as value, by its name in exports.",
)
@options.clustering(required=False)
@options.output
@options.as_json
def map(
    store_location: str,
    collection: str,
    generation: str | None,
    name: str | None,
    method: ClusterMethod | None,
    threshold: float | None,
    workers: int | None,
    output: Path,
    as_json: bool,
) -> None:
    """Write the coordinates of all items in a two-dimensional map.

    The columns are id, x and y (from 0 to 1, y downward), value (of --property), cluster (numbered as by `graphkin
    cluster`), smiles (graphs: structure) and names.

    The most similar items are close to each other, and items without neighbors are at the bottom. The map of a
    generation is always the same, and a machine computes it once.
    """
    from graphkin.cli.output import atomic_file, progress, report_file, require_json_apart
    from graphkin.collection.open_collection import OpenCollection
    from graphkin.collection.ports import local_ports
    from graphkin.export.cells import csv_lines
    from graphkin.protocol.requests import MapQuery
    from graphkin.protocol.validation import translate_validation_errors
    from graphkin.store import open_generation

    if method is None and threshold is not None:
        raise InvalidInput("--threshold needs --method", given=threshold, hint="add `--method butina`")
    require_json_apart(output, as_json)
    with translate_validation_errors():
        request = MapQuery(property=name, method=method, threshold=threshold)
    with open_generation(store_location, collection, generation) as reader:
        open_collection = OpenCollection(reader, partial(local_ports, threads=workers, stage=progress().stage))
        tables = _tables(reader, open_collection.map(request))
        with atomic_file(output) as file:
            file.writelines(csv_lines(tables, plain=(reader.manifest.structure,)))
    report_file(output, as_json, f"{reader.size:,} items", generation=reader.id, items=reader.size)


def _tables(reader: "Generation", item_map: "Map") -> "Iterator[pa.Table]":
    """Yield the rows of a map in blocks, with the structures and names of the items."""
    import numpy as np
    import pyarrow as pa

    for start in range(0, reader.size, _ROWS):
        stop = min(start + _ROWS, reader.size)
        table = pa.Table.from_batches([item_map.rows(slice(start, stop))])
        items = reader.take(np.arange(start, stop, dtype=np.int32), [reader.manifest.structure, "names"])
        for column in (reader.manifest.structure, "names"):
            table = table.append_column(column, items[column])
        yield table
