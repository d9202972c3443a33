"""`graphkin cliffs`: similar items that differ much in a property."""

from pathlib import Path
from typing import Literal

import click

from graphkin import options


@click.command()
@options.reading
@click.option("--property", "name", required=True, metavar="NAME", help="Property with numbers, such as an activity.")
@click.option(
    "--by",
    type=click.Choice(["sali", "difference"]),
    default="sali",
    help="What is steep: the difference over 1 - similarity, or the difference alone.",
)
@options.min_similarity
@click.option("--min-difference", type=float, default=0.0, metavar="X", help="Smallest difference.")
@click.option("--limit", type=click.IntRange(1), default=1000, metavar="N", help="Pairs to write, the steepest.")
@options.output
def cliffs(
    store_location: str,
    collection: str,
    generation: str | None,
    name: str,
    by: Literal["sali", "difference"],
    min_similarity: float | None,
    min_difference: float,
    limit: int,
    output: Path,
) -> None:
    """Write the steepest pairs of the stored hierarchy: columns a, b, similarity, difference, sali, and of both ends
    smiles (of graphs: structure), names and the property.
    """
    import pyarrow as pa

    from graphkin.export.cells import csv_lines
    from graphkin.output import whole_file
    from graphkin.similarity.cliffs import cliffs as find
    from graphkin.store import open_generation
    from graphkin.store.columns import numbers, titles

    with open_generation(store_location, collection, generation) as opened:
        found = find(opened, name, by, min_similarity, min_difference, limit)
        structure = opened.manifest.structure
        title = titles(opened.manifest.properties)[name]
        pairs = {each: pa.array(getattr(found, each)) for each in ("a", "b", "similarity", "difference", "sali")}
        for end in ("a", "b"):
            ids = getattr(found, end)
            items = opened.take(ids, [structure, "names", title])
            pairs |= {f"{structure}_{end}": items[structure], f"names_{end}": items["names"]}
            pairs[f"{name}_{end}"] = numbers(items[title])
        with whole_file(output) as file:
            file.writelines(csv_lines([pa.table(pairs)], plain=(f"{structure}_a", f"{structure}_b")))
    click.echo(f"{len(found.a):,} of {found.total:,} pairs that differ in {name}", err=True)
