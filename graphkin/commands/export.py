"""`graphkin export`: take edges or items home."""

from pathlib import Path
from typing import Any

import click

from graphkin import options


@click.command()
@click.argument("what", type=click.Choice(["edges", "items"]))
@options.reading
@click.option(
    "--format",
    "format",
    required=True,
    type=click.Choice(["csv", "parquet", "graphml", "sdf", "arrow"]),
    help="edges: csv, parquet, graphml, arrow; items: csv, parquet, sdf, arrow.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="File to write; - for standard output.",
)
@options.min_similarity
def export(
    what: str,
    store_folder: str,
    collection: str,
    generation: str | None,
    format: Any,
    output: Path,
    min_similarity: float | None,
) -> None:
    """Write the edges or the items of a generation to a file.

    The file appears whole or not at all.
    """
    from api.export import export_edges, export_items
    from graphkin.output import whole_file
    from store import open_store
    from store.base import require_stored_threshold

    if what == "items" and min_similarity is not None:
        raise click.UsageError("--min-similarity applies to edges")
    with open_store(store_folder) as store, store.open(collection, generation) as opened:
        require_stored_threshold(opened, min_similarity)
        blocks = export_items(opened, format) if what == "items" else export_edges(opened, format, min_similarity)
        with whole_file(output) as file:
            for block in blocks:
                file.write(block)
