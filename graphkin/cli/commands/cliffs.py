"""`graphkin cliffs`: find similar items that differ in a property."""

from functools import partial
from pathlib import Path
from typing import Any, get_args

import click

from graphkin.cli import options
from graphkin.cli.help import command, option
from graphkin.protocol.values import By


@command(
    examples=[
        (
            "Write the pairs with the largest difference in pIC50",
            "graphkin cliffs --store s --collection m --property pIC50 --output cliffs.csv",
        ),
        (
            "Rank by SALI, and print 20 pairs",
            "graphkin cliffs --store s --collection m --property pIC50 --by sali --limit 20 --output -",
        ),
    ]
)
@options.source_generation
@options.numeric_property
@option(
    "--by",
    type=click.Choice(get_args(By)),
    default="difference",
    panel="Query",
    help="Rank by the difference, or by SALI: the difference divided by 1 - similarity.",
)
@option(
    "--min-similarity",
    type=float,
    metavar="X",
    panel="Similarity",
    help="Smallest similarity. [default: 0.7, or the stored threshold if that is larger]",
)
@options.complete
@option("--max-similarity", type=float, default=1.0, metavar="X", panel="Similarity", help="Largest similarity.")
@option("--min-difference", type=float, default=0.0, metavar="X", panel="Query", help="Smallest difference.")
@option(
    "--exclude-identical/--include-identical",
    default=True,
    panel="Query",
    help="Exclude or include pairs with identical fingerprints. Their SALI is infinite.",
)
@options.conditions
@options.substructure
@option("--limit", type=click.IntRange(1), default=1000, metavar="N", panel="Output", help="Number of pairs to write.")
@options.output
@options.as_json
def cliffs(
    store_location: str,
    collection: str,
    generation: str | None,
    name: str,
    conditions: tuple[str, ...],
    substructure: tuple[str, str] | None,
    complete: bool,
    limit: int,
    output: Path,
    as_json: bool,
    **ranking_options: Any,
) -> None:
    """Write activity cliffs: similar items that differ in a property.

    An activity cliff is a pair of stored neighbors, or with --complete of any items that are similar enough. The pairs
    with the largest difference come first. The columns are a, b, similarity, difference, sali, and for both items
    smiles (graphs: structure), names and the property.

    Both items meet the conditions, which are those of `graphkin query`. Pairs with identical fingerprints are counted;
    `--min-similarity 1 --include-identical` writes only these pairs.
    """
    from graphkin.cli.conditions import parse_query
    from graphkin.cli.output import atomic_file, note, note_truncation, progress, report_file, require_json_apart
    from graphkin.collection.cliffs import cliffs_table
    from graphkin.collection.open_collection import OpenCollection
    from graphkin.collection.ports import local_ports
    from graphkin.export.cells import csv_lines
    from graphkin.protocol.requests import CliffRanking
    from graphkin.protocol.validation import translate_validation_errors
    from graphkin.store import open_generation

    require_json_apart(output, as_json)
    with translate_validation_errors():
        ranking = CliffRanking(property=name, **ranking_options)
    with open_generation(store_location, collection, generation) as reader:
        conditions_query = parse_query(reader.manifest, conditions, substructure)
        open_collection = OpenCollection(reader, partial(local_ports, stage=progress().stage))
        pairs = open_collection.cliffs(ranking, limit, conditions_query, complete)
        structure = reader.manifest.structure
        table = cliffs_table(pairs, reader.manifest, name, open_collection.items_of)
        with atomic_file(output) as file:
            file.writelines(csv_lines([table], plain=(f"{structure}_a", f"{structure}_b")))
        if not complete:
            note_truncation(reader.manifest)
    text = f"{len(pairs.a):,} of {pairs.total:,} pairs that differ in {name}"
    counts = {"pairs": len(pairs.a), "total": pairs.total, "identical": pairs.identical}
    report_file(output, as_json, text, generation=reader.id, **counts)
    if pairs.identical and ranking.exclude_identical:
        note(
            f"{pairs.identical:,} pairs with identical fingerprints differ too: "
            "--min-similarity 1 --include-identical writes them"
        )
