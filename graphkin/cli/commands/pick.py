"""`graphkin pick`: pick a diverse subset of a collection."""

from functools import partial
from pathlib import Path
from typing import get_args

import click

from graphkin.cli import options
from graphkin.protocol.values import Picking


@click.command()
@options.source_generation
@options.conditions
@options.substructure
@click.option("--count", type=click.IntRange(1), required=True, metavar="N", help="Items to pick.")
@click.option(
    "--method",
    type=click.Choice(get_args(Picking)),
    default="maxmin",
    help="Each the least similar to those before it; or any that is not near one before it, at most N of them.",
)
@click.option("--threshold", type=float, default=0.7, help="Of sphere: the similarity that is near.")
@options.output
def pick(
    store_location: str,
    collection: str,
    generation: str | None,
    conditions: tuple[str, ...],
    substructure: tuple[str, str] | None,
    count: int,
    method: Picking,
    threshold: float,
    output: Path,
) -> None:
    """Write a diverse subset, in the order in which it is picked: columns id, smiles (of graphs: structure), names, and
    nearest, the similarity to the most similar item picked before.

    All items are compared, exactly, or all that pass all conditions and have a substructure, which are as of `graphkin
    query`. The same items give the same subset, and of a larger count one that begins so.
    """
    import pyarrow as pa

    from graphkin.cli.conditions import parse_query
    from graphkin.cli.output import atomic_file
    from graphkin.collection.open_collection import OpenCollection
    from graphkin.collection.ports import local_ports
    from graphkin.export.cells import csv_lines
    from graphkin.ingest.progress_bars import terminal_progress
    from graphkin.protocol.requests import PickFields
    from graphkin.protocol.validation import translate_validation_errors
    from graphkin.store import open_generation

    with open_generation(store_location, collection, generation) as reader:
        source = parse_query(reader.manifest, conditions, substructure)
        with translate_validation_errors():
            request = PickFields.model_validate({"method": method, "threshold": threshold, "from": source})
        picks = OpenCollection(reader, partial(local_ports, stage=terminal_progress().stage)).pick(request, count)
        columns = ["id", reader.manifest.structure, "names"]
        items = reader.take(picks.ids, columns)
        table = pa.table({**{name: items[name] for name in columns}, "nearest": picks.nearest})
        with atomic_file(output) as file:
            file.writelines(csv_lines([table], plain=columns[:2]))
