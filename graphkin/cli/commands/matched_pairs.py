"""`graphkin matched-pairs`: find exchanges of parts of molecules that change a property."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from graphkin.cli import options
from graphkin.cli.help import command, option
from graphkin.protocol.values import Change, TransformationOrder

if TYPE_CHECKING:
    import pyarrow as pa

    from graphkin.collection.open_collection import OpenCollection
    from graphkin.collection.sar.matched_pairs.applying import Applicable
    from graphkin.collection.sar.matched_pairs.ranking import Summary

_ROWS = 1000  # transformations per block of output


@command(
    "matched-pairs",
    examples=[
        (
            "Write the transformations with the most pairs, and the change of pIC50",
            "graphkin matched-pairs --store s --collection m --property pIC50 --output transformations.csv",
        ),
        (
            "Write the pairs behind the transformations with the largest change",
            "graphkin matched-pairs --store s --collection m --property pIC50 --by mean --limit 20 --pairs --output -",
        ),
        (
            "Write molecules in which an exchange may raise pIC50",
            "graphkin matched-pairs --store s --collection m --property pIC50 --id 7 --output ideas.csv",
        ),
    ],
)
@options.source_generation
@options.numeric_property
@option(
    "--min-count",
    type=click.IntRange(1),
    default=3,
    metavar="N",
    panel="Query",
    help="Smallest number of pairs in which both molecules have a value.",
)
@option(
    "--by",
    type=click.Choice(get_args(TransformationOrder)),
    default="count",
    panel="Query",
    help="Order: most pairs first, or largest mean difference first.",
)
@option("--id", type=int, panel="Query", help="Id of an item to change.")
@option("--smiles", metavar="SMILES", panel="Query", help="Structure of an item to change.")
@option("--name", "item_name", metavar="NAME", panel="Query", help="Name of an item to change, in any case.")
@option(
    "--change",
    type=click.Choice(get_args(Change)),
    default="raise",
    panel="Query",
    help="Write transformations that raise or that lower the property on average.",
)
@option(
    "--limit", type=click.IntRange(1), metavar="N", panel="Output", help="Number of transformations. [default: all]"
)
@option("--pairs", "has_pairs", is_flag=True, panel="Output", help="Write one row per pair of molecules.")
@options.workers
@options.output
@options.as_json
def matched_pairs(
    store_location: str,
    collection: str,
    generation: str | None,
    name: str,
    min_count: int,
    by: TransformationOrder,
    id: int | None,
    smiles: str | None,
    item_name: str | None,
    change: Change,
    limit: int | None,
    has_pairs: bool,
    workers: int | None,
    output: Path,
    as_json: bool,
) -> None:
    """Write matched molecular pairs and the change of a property with them.

    Two molecules are a matched pair if cuts of one to three single bonds outside rings leave them with the same parts
    but one, of at most 10 heavy atoms. The columns are from, to, count, mean and sd: the exchanged parts as SMILES, the
    number of pairs, and the mean and standard deviation of the difference. With --pairs they are from, to, a, b and
    difference, and for both molecules smiles, names and the property.

    With --id, --smiles or --name, only transformations of parts of this item are written, the largest mean change
    first, with one row for each molecule that they make of it: the columns product, and id if it is in the collection.

    The pairs of a generation are found once on a machine. Then only the molecules of an append are new work.
    """
    from graphkin.cli.output import atomic_file, note, progress, report_file, require_json_apart
    from graphkin.collection.open_collection import OpenCollection
    from graphkin.collection.ports import local_ports
    from graphkin.export.cells import csv_lines
    from graphkin.protocol.matched_pairs import AppliedFields, MatchedPairsFields
    from graphkin.protocol.validation import translate_validation_errors
    from graphkin.store import open_generation

    require_json_apart(output, as_json)
    with translate_validation_errors():
        ranking = MatchedPairsFields(property=name, min_count=min_count, by=by)
        applied = AppliedFields(property=name, min_count=min_count, change=change)
    with open_generation(store_location, collection, generation) as reader:
        opened = OpenCollection(reader, partial(local_ports, threads=workers, stage=progress().stage))
        if id is None and smiles is None and item_name is None:
            summary = opened.matched_pairs(ranking)
            total, summary = len(summary), summary.take(slice(limit))
            tables = _pair_tables(opened, summary, name) if has_pairs else _tables(summary)
        else:
            item = opened.item_id(id, smiles, item_name)
            transformations = opened.matched_pairs_of(item, applied)
            total, transformations = len(transformations.summary), transformations.part(0, limit)
            summary = transformations.summary
            if transformations.reason is not None:
                note(f"item {item} is not cut, because it has {transformations.reason}: it has no transformations")
            tables = _pair_tables(opened, summary, name) if has_pairs else _products(opened, item, transformations)
        with atomic_file(output) as file:
            file.writelines(csv_lines(tables, plain=("from", "to", "product", "smiles_a", "smiles_b")))
        uncut = sum(each.count for each in summary.transformations.uncut)
    text = f"{len(summary):,} of {total:,} transformations with at least {min_count} pairs"
    report_file(output, as_json, text, generation=reader.id, transformations=len(summary), total=total, uncut=uncut)
    for each in summary.transformations.uncut:
        note(f"{each.count:,} molecules are not cut: {each.reason}")


def _tables(summary: "Summary") -> "Iterator[pa.Table]":
    """Yield the transformations in blocks."""
    for part in _blocks(summary):
        yield part.table(0).drop_columns("pairs")


def _pair_tables(opened: "OpenCollection", summary: "Summary", property: str) -> "Iterator[pa.Table]":
    """Yield the pairs of the transformations in blocks."""
    import numpy as np
    import pyarrow as pa

    from graphkin.collection.cliffs import pair_columns

    for part in _blocks(summary):
        empty = np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0)
        listed = [part.pairs(row) for row in range(len(part))]
        a, b, difference = (np.concatenate(columns) for columns in zip(empty, *listed, strict=True))
        rows = pa.array(np.repeat(np.arange(len(part)), [len(first) for first, _, _ in listed]))
        ends = part.table(0).select(["from", "to"]).take(rows)
        columns = pair_columns(a, b, opened.generation.manifest, property, opened.items_of)
        yield pa.table({"from": ends["from"], "to": ends["to"], "a": a, "b": b, "difference": difference, **columns})


def _products(opened: "OpenCollection", item: int, transformations: "Applicable") -> "Iterator[pa.Table]":
    """Yield the molecules that transformations make of an item in blocks."""
    import numpy as np
    import pyarrow as pa

    for begin in range(0, max(1, len(transformations.summary)), _ROWS):
        part = transformations.part(begin, begin + _ROWS)
        products = opened.products(item, part)
        rows = pa.array(np.repeat(np.arange(len(products)), [len(each) for each in products]))
        table = part.summary.table(0).drop_columns("pairs").take(rows)
        molecules = [molecule for each in products for molecule in each]
        table = table.append_column("product", pa.array([smiles for smiles, _ in molecules], pa.string()))
        yield table.append_column("id", pa.array([id for _, id in molecules], pa.int32()))


def _blocks(summary: "Summary") -> "Iterator[Summary]":
    """Yield the transformations in blocks, at least one of them."""
    for begin in range(0, max(1, len(summary)), _ROWS):
        yield summary.take(slice(begin, begin + _ROWS))
