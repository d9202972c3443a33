"""`graphkin query`: filter and sort a whole collection, and write the items that pass."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from graphkin.cli import options

if TYPE_CHECKING:
    from graphkin.export import ItemFormat

_FORMATS = (".csv", ".parquet", ".sdf")


@click.command()
@options.source_generation
@options.conditions
@click.option("--name", metavar="TEXT", help="How a name begins.")
@options.substructure
@click.option("--similar", metavar="STRUCTURE", help="A SMILES, or what STRUCTURE is of `graphkin search`.")
@click.option("--min-similarity", type=float, metavar="X", help="Smallest similarity to it, above 0 to 1.")
@click.option("--sort", metavar="COLUMN", help="id, similarity or any column.  [default: similarity if asked, else id]")
@click.option("--descending", is_flag=True, help="The largest first.")
@click.option("--column", "columns", metavar="NAME", multiple=True, help="Column to write, once for each.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="The first so many.  [default: all]")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    required=True,
    help="File to write: .csv, .parquet or .sdf.",
)
def query(
    store_location: str,
    collection: str,
    generation: str | None,
    conditions: tuple[str, ...],
    name: str | None,
    substructure: tuple[str, str] | None,
    similar: str | None,
    min_similarity: float | None,
    sort: str | None,
    descending: bool,
    columns: tuple[str, ...],
    limit: int | None,
    output: Path,
) -> None:
    """Write the items that pass all conditions, in order, to a file, as `graphkin export items` does.

    A condition is a property, as exports call it, or names; one of >= <= = and ~, which is for a part of a text; and
    a number or a text. Texts and names are compared in any case. Items that lack a property pass no condition on it,
    and come last where they are sorted by it.

    A substructure is a SMARTS or, which is not the same, a molecule; RDKit says which molecules have it. The first time
    all of them are described, which takes a while; that is kept on this machine.
    """
    from graphkin.cli.conditions import parse_filter, parse_substructure, require_search_similarity
    from graphkin.cli.output import atomic_file
    from graphkin.collection.open_collection import OpenCollection
    from graphkin.collection.ports import local_ports
    from graphkin.export import export_items
    from graphkin.ingest.progress_bars import terminal_progress
    from graphkin.protocol.errors import require
    from graphkin.protocol.filters import Sort
    from graphkin.protocol.requests import QueryFields, SimilarSource
    from graphkin.protocol.validation import translate_validation_errors
    from graphkin.store import open_generation

    require(output.suffix in _FORMATS, "file of items", str(output), f"a name that ends with {', '.join(_FORMATS)}")
    if (similar is None) != (min_similarity is None):
        raise click.UsageError("--similar and --min-similarity go together")
    if descending and sort is None:
        raise click.UsageError("--descending is of --sort")
    with open_generation(store_location, collection, generation) as reader:
        require_search_similarity(min_similarity)
        with translate_validation_errors():
            request = QueryFields(
                filters=[parse_filter(reader.manifest, condition) for condition in conditions],
                name=name,
                substructure=parse_substructure(substructure),
                similar=None if similar is None else SimilarSource(structure=similar, min_similarity=min_similarity),
                sort=None if sort is None else Sort(by=sort, descending=descending),
            )
        open_collection = OpenCollection(reader, partial(local_ports, stage=terminal_progress().stage))
        selection, comparison = open_collection.query(request), open_collection.comparison(request)
        format = cast("ItemFormat", output.suffix[1:])
        blocks = export_items(reader, format, selection.first(limit).ids, comparison, columns or None)
        with atomic_file(output) as file:
            file.writelines(blocks)
    click.echo(f"{len(selection.ids):,} of {reader.size:,} items pass", err=True)
