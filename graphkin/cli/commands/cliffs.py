"""`graphkin cliffs`: find similar items that differ in a property."""

from functools import partial
from pathlib import Path
from typing import Any, get_args

import click

from graphkin.cli import options
from graphkin.protocol.values import By


@click.command()
@options.source_generation
@click.option(
    "--property", "name", required=True, metavar="NAME", help="Property with numbers, as exports call it: an activity."
)
@click.option(
    "--by",
    type=click.Choice(get_args(By)),
    default="difference",
    help="Rank by the difference, or by SALI, the difference over 1 - similarity.",
)
@click.option(
    "--min-similarity",
    type=float,
    metavar="X",
    help="Smallest similarity.  [default: 0.7, or the stored threshold if that is larger]",
)
@click.option("--max-similarity", type=float, default=1.0, metavar="X", help="Largest similarity.")
@click.option("--min-difference", type=float, default=0.0, metavar="X", help="Smallest difference.")
@click.option(
    "--exclude-identical/--include-identical",
    default=True,
    help="Whether to leave out pairs with identical fingerprints, whose SALI is infinite.",
)
@options.conditions
@options.substructure
@click.option("--limit", type=click.IntRange(1), default=1000, metavar="N", help="Pairs to write.")
@options.output
def cliffs(
    store_location: str,
    collection: str,
    generation: str | None,
    name: str,
    conditions: tuple[str, ...],
    substructure: tuple[str, str] | None,
    limit: int,
    output: Path,
    **ranking_options: Any,
) -> None:
    """Write activity cliffs: pairs of stored neighbors that differ in a property, the largest difference first.

    Columns: a, b, similarity, difference, sali, and of both ends smiles (of graphs: structure), names and the property.
    Both ends of a pair pass all conditions and have a substructure, which are as of `graphkin query`. Pairs with
    identical fingerprints are counted; `--min-similarity 1 --include-identical` writes them alone.
    """
    from graphkin.cli.conditions import parse_query
    from graphkin.cli.output import atomic_file, note_truncation
    from graphkin.collection.cliffs import cliffs_table
    from graphkin.collection.open_collection import OpenCollection
    from graphkin.collection.ports import local_ports
    from graphkin.export.cells import csv_lines
    from graphkin.ingest.progress_bars import terminal_progress
    from graphkin.protocol.requests import CliffRanking
    from graphkin.protocol.validation import translate_validation_errors
    from graphkin.store import open_generation

    with translate_validation_errors():
        ranking = CliffRanking(property=name, **ranking_options)
    with open_generation(store_location, collection, generation) as reader:
        conditions_query = parse_query(reader.manifest, conditions, substructure)
        open_collection = OpenCollection(reader, partial(local_ports, stage=terminal_progress().stage))
        pairs = open_collection.cliffs(ranking, limit, conditions_query)
        structure = reader.manifest.structure
        table = cliffs_table(pairs, reader.manifest, name, open_collection.items_of)
        with atomic_file(output) as file:
            file.writelines(csv_lines([table], plain=(f"{structure}_a", f"{structure}_b")))
        note_truncation(reader.manifest)
    click.echo(f"{len(pairs.a):,} of {pairs.total:,} pairs that differ in {name}", err=True)
    if pairs.identical and ranking.exclude_identical:
        click.echo(
            f"{pairs.identical:,} pairs with identical fingerprints differ too: "
            "--min-similarity 1 --include-identical writes them",
            err=True,
        )
