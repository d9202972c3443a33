"""`graphkin query`: filter and sort a whole collection, and write the items that pass."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from graphkin.cli import options
from graphkin.cli.help import command, option
from graphkin.protocol.errors import InvalidInput

if TYPE_CHECKING:
    from graphkin.export import ItemFormat

_FORMATS = (".csv", ".parquet", ".sdf")


@command(
    examples=[
        (
            "Write the molecules that meet two conditions",
            "graphkin query --store s --collection m --filter 'molwt>=300' --filter 'rings<=3' --output hits.csv",
        ),
        (
            "Print the 10 heaviest molecules with a benzene ring",
            (
                "graphkin query --store s --collection m --substructure c1ccccc1 --sort molwt --descending --limit 10 "
                "--output -"
            ),
        ),
        (
            "Read the structure from standard input",
            "echo CCO | graphkin query --store s --collection m --similar - --min-similarity 0.5 --output hits.sdf",
        ),
    ]
)
@options.source_generation
@options.conditions
@option("--name", metavar="TEXT", panel="Conditions", help="Beginning of a name.")
@options.substructure
@options.scaffold
@option(
    "--similar",
    metavar="STRUCTURE",
    panel="Similarity",
    help="Structure to compare with, as in `graphkin search`. Needs --min-similarity.",
)
@option("--min-similarity", type=float, metavar="X", panel="Similarity", help="Smallest similarity, above 0 to 1.")
@option(
    "--sort",
    metavar="COLUMN",
    panel="Output",
    help="Column to sort by: id, similarity or a property. [default: similarity with --similar, else id]",
)
@option("--descending", is_flag=True, panel="Output", help="Sort the largest values first.")
@options.columns
@option("--limit", type=click.IntRange(1), metavar="N", panel="Output", help="Number of items to write. [default: all]")
@option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    required=True,
    panel="Output",
    help="File to write: .csv, .parquet or .sdf, or - for CSV on standard output.",
)
@options.as_json
def query(
    store_location: str,
    collection: str,
    generation: str | None,
    conditions: tuple[str, ...],
    name: str | None,
    substructure: tuple[str, str] | None,
    scaffold: str | None,
    similar: str | None,
    min_similarity: float | None,
    sort: str | None,
    descending: bool,
    columns: tuple[str, ...],
    limit: int | None,
    output: Path,
    as_json: bool,
) -> None:
    """Filter and sort a collection, and write the items to a file.

    The columns are those of `graphkin export items`. - stands for standard input as the value of --similar,
    --substructure or --substructure-smiles.

    A condition is a property or names, a comparison (>= <= = or ~, which means contains) and a value. Upper and lower
    case are equal. Items that lack the property do not meet the condition, and are sorted last.

    RDKit matches substructures. The first search for a substructure prepares all molecules, and keeps the result on
    this machine.
    """
    from graphkin.cli.conditions import parse_filter, parse_substructure, read_argument, require_search_similarity
    from graphkin.cli.output import atomic_file, progress, report_file, require_json_apart
    from graphkin.collection.open_collection import OpenCollection
    from graphkin.collection.ports import local_ports
    from graphkin.collection.sar.descriptors import descriptor_values
    from graphkin.export import export_items
    from graphkin.protocol.filters import Sort
    from graphkin.protocol.requests import QueryFields, SimilarSource
    from graphkin.protocol.validation import translate_validation_errors
    from graphkin.store import open_generation

    suffix = ".csv" if str(output) == "-" else output.suffix
    if suffix not in _FORMATS:
        raise InvalidInput(
            "invalid name of --output",
            given=str(output),
            expected=f"- or a name that ends with {', '.join(_FORMATS)}",
            hint="the end of the name selects the format, as in `--output hits.csv`",
        )
    require_json_apart(output, as_json)
    if (similar is None) != (min_similarity is None):
        missing = "--min-similarity" if min_similarity is None else "--similar"
        raise InvalidInput("--similar and --min-similarity belong together", hint=f"add {missing}")
    if descending and sort is None:
        raise InvalidInput("--descending needs --sort", hint="add `--sort COLUMN`")
    similar = read_argument(similar)
    substructure = None if substructure is None else (str(read_argument(substructure[0])), substructure[1])
    with open_generation(store_location, collection, generation) as reader:
        require_search_similarity(min_similarity)
        with translate_validation_errors():
            request = QueryFields(
                filters=[parse_filter(reader.manifest, condition) for condition in conditions],
                name=name,
                substructure=parse_substructure(substructure),
                scaffold=scaffold,
                similar=None if similar is None else SimilarSource(structure=similar, min_similarity=min_similarity),
                sort=None if sort is None else Sort(by=sort, descending=descending),
            )
        open_collection = OpenCollection(reader, partial(local_ports, stage=progress().stage))
        selection, comparison = open_collection.query(request), open_collection.comparison(request)
        format = cast("ItemFormat", suffix[1:])
        open_collection.prepare_columns(*columns)
        hits = selection.first(limit).ids
        blocks = export_items(reader, format, hits, comparison, columns or None, descriptor=descriptor_values(reader))
        with atomic_file(output) as file:
            file.writelines(blocks)
    text = f"{len(selection.ids):,} of {reader.size:,} items meet the conditions"
    report_file(output, as_json, text, generation=reader.id, items=reader.size, hits=len(selection.ids))
