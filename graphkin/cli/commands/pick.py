"""`graphkin pick`: pick a diverse subset of a collection."""

from functools import partial
from pathlib import Path
from typing import get_args

import click

from graphkin.cli import options
from graphkin.cli.help import command, option
from graphkin.protocol.values import Picking


@command(
    examples=[
        ("Pick 100 diverse molecules", "graphkin pick --store s --collection m --count 100 --output picks.csv"),
        (
            "Pick only light molecules",
            "graphkin pick --store s --collection m --filter 'molwt<=300' --count 100 --output picks.csv",
        ),
    ]
)
@options.source_generation
@options.conditions
@options.substructure
@option("--count", type=click.IntRange(1), required=True, metavar="N", panel="Query", help="Number of items to pick.")
@option(
    "--method",
    type=click.Choice(get_args(Picking)),
    default="maxmin",
    panel="Query",
    help="maxmin: pick the item that is least similar to the picked ones; sphere: pick items whose similarity to all "
    "picked ones is below --threshold.",
)
@option(
    "--threshold",
    type=float,
    default=0.7,
    panel="Query",
    help="Similarity that excludes an item in sphere.",
)
@options.output
@options.as_json
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
    as_json: bool,
) -> None:
    """Pick a diverse subset of a collection.

    The columns are id, smiles (graphs: structure), names and nearest: the similarity to the most similar item that was
    picked before. The rows are in the order of picking.

    The conditions are those of `graphkin query`. The comparison is exact, and the same items always give the same
    subset. A larger --count extends the subset.
    """
    import pyarrow as pa

    from graphkin.cli.conditions import parse_query
    from graphkin.cli.output import atomic_file, progress, report_file, require_json_apart
    from graphkin.collection.open_collection import OpenCollection
    from graphkin.collection.ports import local_ports
    from graphkin.export.cells import csv_lines
    from graphkin.protocol.requests import PickFields
    from graphkin.protocol.validation import translate_validation_errors
    from graphkin.store import open_generation

    require_json_apart(output, as_json)
    with open_generation(store_location, collection, generation) as reader:
        source = parse_query(reader.manifest, conditions, substructure)
        with translate_validation_errors():
            request = PickFields.model_validate({"method": method, "threshold": threshold, "from": source})
        picks = OpenCollection(reader, partial(local_ports, stage=progress().stage)).pick(request, count)
        columns = ["id", reader.manifest.structure, "names"]
        items = reader.take(picks.ids, columns)
        table = pa.table({**{name: items[name] for name in columns}, "nearest": picks.nearest})
        with atomic_file(output) as file:
            file.writelines(csv_lines([table], plain=columns[:2]))
    report_file(output, as_json, f"{len(picks.ids):,} items picked", generation=reader.id, items=len(picks.ids))
