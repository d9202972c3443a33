"""`graphkin cliffs`: similar items that differ much in a property."""

from functools import partial
from pathlib import Path
from typing import get_args

import click

from graphkin import options
from graphkin.protocol.values import By


@click.command()
@options.reading
@click.option(
    "--property", "name", required=True, metavar="NAME", help="Property with numbers, as exports call it: an activity."
)
@click.option(
    "--by",
    type=click.Choice(get_args(By)),
    default="sali",
    help="What is steep: the difference over 1 - similarity, or the difference alone.",
)
@options.min_similarity
@click.option("--min-difference", type=float, default=0.0, metavar="X", help="Smallest difference.")
@options.conditions
@options.substructure
@click.option("--limit", type=click.IntRange(1), default=1000, metavar="N", help="Pairs to write, the steepest.")
@options.output
def cliffs(
    store_location: str,
    collection: str,
    generation: str | None,
    name: str,
    by: By,
    min_similarity: float | None,
    min_difference: float,
    conditions: tuple[str, ...],
    substructure: tuple[str, str] | None,
    limit: int,
    output: Path,
) -> None:
    """Write the steepest pairs of the stored hierarchy: columns a, b, similarity, difference, sali, and of both ends
    smiles (of graphs: structure), names and the property. Of pairs whose both ends pass all conditions and have a
    substructure, which are as of `graphkin query`.
    """
    from graphkin.answers import among_of, cliffs_table
    from graphkin.export import read_items
    from graphkin.export.cells import csv_lines
    from graphkin.output import whole_file
    from graphkin.progress import terminal_progress
    from graphkin.similarity.cliffs import cliffs as find
    from graphkin.store import open_generation

    with open_generation(store_location, collection, generation) as opened:
        among = among_of(opened, conditions, substructure, terminal_progress())
        found = find(opened, name, by, min_similarity, min_difference, limit, among)
        structure = opened.manifest.structure
        table = cliffs_table(found, structure, name, partial(read_items, opened))
        with whole_file(output) as file:
            file.writelines(csv_lines([table], plain=(f"{structure}_a", f"{structure}_b")))
    click.echo(f"{len(found.a):,} of {found.total:,} pairs that differ in {name}", err=True)
