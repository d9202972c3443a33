"""`graphkin descriptors`: molecular descriptors of a collection, or of one structure."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from graphkin.cli import options
from graphkin.cli.help import command, option
from graphkin.protocol.errors import InvalidInput

if TYPE_CHECKING:
    from graphkin.collection.open_collection import OpenCollection


@command(
    examples=[
        (
            "Write the descriptors of all molecules",
            "graphkin descriptors --store s --collection m --output descriptors.csv",
        ),
        ("Print the descriptors of a new structure", "graphkin descriptors --store s --collection m --structure CCO"),
        (
            "Add pIC50, computed from a column IC50 in nM",
            "graphkin descriptors --store s --collection m --column pactivity.nM.IC50 --output sar.csv",
        ),
    ]
)
@options.source_generation
@option(
    "--structure",
    metavar="SMILES",
    panel="Query",
    help="Structure to describe, or - for standard input. It need not be in the collection.",
)
@options.conditions
@options.substructure
@option(
    "--column",
    "columns",
    metavar="NAME",
    multiple=True,
    panel="Output",
    help="Further column to write, such as an activity. Repeat it for several.",
)
@option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    panel="Output",
    help="CSV file to write, or - for standard output. Needed without --structure.",
)
@options.as_json
def descriptors(
    store_location: str,
    collection: str,
    generation: str | None,
    structure: str | None,
    conditions: tuple[str, ...],
    substructure: tuple[str, str] | None,
    columns: tuple[str, ...],
    output: Path | None,
    as_json: bool,
) -> None:
    """Write molecular descriptors of molecules, or print those of a structure.

    The columns are id, smiles, names, those of --column, and the descriptors: molecular weight, heavy atoms, rings,
    cLogP, TPSA, H-bond donors and acceptors, rotatable bonds, QED, Fsp3 and formal charge, as RDKit computes them. All
    of them begin with `descriptor.`, so they are never confused with columns of your files.

    `graphkin query`, `graphkin cliffs`, `graphkin map` and `graphkin export items` accept these names, too. They also
    accept activities on a logarithmic scale: pactivity.nM.IC50 is the negative logarithm of the column IC50, read in
    nM, so 100 nM becomes 7. The units are M, mM, uM, nM and pM.

    The descriptors of a collection are computed once, and kept on this machine. After an append, only those of the new
    molecules and of up to 4,095 others are computed again.
    """
    from graphkin.cli.output import progress
    from graphkin.collection.open_collection import OpenCollection
    from graphkin.collection.ports import local_ports
    from graphkin.store import open_generation

    if (structure is None) == (output is None) or (structure is not None and (conditions or substructure or columns)):
        raise InvalidInput(
            "choose between the molecules of the collection and one structure",
            given="--structure with options of the collection" if structure is not None else "neither",
            expected="either --output, or --structure alone",
            hint="add --output FILE for the collection, or --structure SMILES for one structure",
        )
    with open_generation(store_location, collection, generation) as reader:
        open_collection = OpenCollection(reader, partial(local_ports, stage=progress().stage))
        if output is None:
            _print_structure(open_collection, str(structure), as_json)
        else:
            _write_items(open_collection, conditions, substructure, columns, output, as_json)


def _print_structure(collection: "OpenCollection", structure: str, as_json: bool) -> None:
    from graphkin.cli.conditions import read_argument
    from graphkin.cli.output import print_json, print_table
    from graphkin.protocol.descriptors import DESCRIPTORS
    from graphkin.protocol.requests import StructureFields

    request = StructureFields(smiles=read_argument(structure))
    query, id, values = collection.structure_descriptors(request)
    if as_json:
        print_json({"smiles": query.text, "id": id, "descriptors": values})
        return
    rows = ((each.name, each.label, _text(values[each.name]), each.unit or "") for each in DESCRIPTORS.values())
    print_table({"name": "left", "descriptor": "left", "value": "right", "unit": "left"}, rows)


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def _write_items(
    collection: "OpenCollection",
    conditions: tuple[str, ...],
    substructure: tuple[str, str] | None,
    columns: tuple[str, ...],
    output: Path,
    as_json: bool,
) -> None:
    from graphkin.cli.conditions import parse_query
    from graphkin.cli.output import atomic_file, report_file, require_json_apart
    from graphkin.collection.exporting import export
    from graphkin.collection.structures import require_molecules
    from graphkin.protocol.descriptors import DESCRIPTORS

    require_json_apart(output, as_json)
    reader = collection.generation
    require_molecules(reader.manifest, "molecular descriptors")
    query = parse_query(reader.manifest, conditions, substructure)
    collection.descriptors()
    ids = None if query is None else collection.query(query).ids
    titles = ["id", "smiles", "names", *columns, *DESCRIPTORS]
    blocks = export(reader, "items", "csv", columns=titles, ids=ids)
    with atomic_file(output) as file:
        file.writelines(blocks)
    count = reader.size if ids is None else len(ids)
    report_file(
        output, as_json, f"descriptors of {count:,} of {reader.size:,} molecules", generation=reader.id, items=count
    )
