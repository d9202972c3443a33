"""`graphkin scaffolds`: write the scaffolds of a series as a tree."""

from functools import partial
from pathlib import Path
from typing import Any

import click

from graphkin.cli import options
from graphkin.cli.help import command, option


@command(
    examples=[
        (
            "Write the scaffolds of two or more molecules, with their mean pIC50",
            "graphkin scaffolds --store s --collection m --property pIC50 --min-count 2 --output scaffolds.csv",
        ),
        (
            "Print the scaffolds one ring system larger than pyridine",
            "graphkin scaffolds --store s --collection m --parent c1ccncc1 --levels 1 --output -",
        ),
        (
            "Write the scaffolds of the molecules with an amide",
            "graphkin scaffolds --store s --collection m --substructure 'C(=O)N' --output amides.csv",
        ),
    ]
)
@options.source_generation
@options.series
@option(
    "--property",
    "property",
    metavar="NAME",
    panel="Query",
    help="Numeric property, such as an activity, by its name in exports. It is summarized for each scaffold.",
)
@option("--parent", metavar="SMILES", panel="Query", help="Write only the scaffolds below this one.")
@option(
    "--levels", type=click.IntRange(1), metavar="N", panel="Query", help="Number of levels to write. [default: all]"
)
@option(
    "--min-count",
    type=click.IntRange(1),
    default=1,
    metavar="N",
    panel="Query",
    help="Smallest number of molecules in the branch of a scaffold.",
)
@options.output
@options.as_json
def scaffolds(
    store_location: str,
    collection: str,
    generation: str | None,
    series: dict[str, Any],
    property: str | None,
    parent: str | None,
    levels: int | None,
    min_count: int,
    workers: int | None,
    output: Path,
    as_json: bool,
) -> None:
    """Write the Bemis-Murcko scaffolds of a series as a tree.

    The series is a cluster, the molecules with a scaffold, or items by id. --filter and --substructure select among
    them, or among all molecules.

    A scaffold is the rings of a molecule and the linkers between them. Its parent is the scaffold that remains after
    one ring system and its linker are removed; if several can be removed, the parent has the most rings, then the
    shortest linkers. The scaffold of molecules without rings is empty.

    The columns are scaffold, parent, depth, children, items (molecules with exactly this scaffold) and branch_items
    (molecules with this scaffold or one below it), and with --property min, max, mean and values of both. Each scaffold
    is followed by the scaffolds below it, and the largest branch comes first.
    """
    from graphkin.cli.conditions import parse_series
    from graphkin.cli.output import atomic_file, progress, report_file, require_json_apart
    from graphkin.collection.open_collection import OpenCollection
    from graphkin.collection.ports import local_ports
    from graphkin.export.cells import csv_lines
    from graphkin.protocol.scaffold_tree import ScaffoldTreeFields
    from graphkin.protocol.validation import translate_validation_errors
    from graphkin.store import open_generation

    require_json_apart(output, as_json)
    with open_generation(store_location, collection, generation) as reader:
        part = {"property": property, "parent": parent, "levels": levels, "min_count": min_count}
        with translate_validation_errors():
            request = ScaffoldTreeFields.model_validate({**dict(parse_series(reader.manifest, **series)), **part})
        open_collection = OpenCollection(reader, partial(local_ports, threads=workers, stage=progress().stage))
        counts = open_collection.scaffold_tree(request)
        with atomic_file(output) as file:
            file.writelines(csv_lines([counts.table()], plain=("scaffold", "parent")))
    total = len(counts.order)
    text = f"{total:,} scaffolds of {counts.series:,} molecules"
    report_file(output, as_json, text, generation=reader.id, scaffolds=total, molecules=counts.series)
