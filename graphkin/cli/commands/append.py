"""`graphkin append`: add items to a collection."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphkin.cli import options

if TYPE_CHECKING:
    from graphkin.similarity.devices import Device


@click.command()
@options.ingest_run
@options.device
@options.store
@click.option(
    "--max-size",
    type=click.IntRange(1, 100_000),
    help="Larger items, in atoms or nodes, are rejected.  [default: as the ingest of such items]",
)
@click.option(
    "--format",
    "format",
    type=click.Choice(["smi", "csv", "tsv", "sdf", "parquet", "tu", "graphml", "jsonl", "fps", "npy"]),
    help='Format of the input; needed for standard input ("-").  [default: by file name]',
)
@options.table_columns
@click.option("--vector-column", metavar="COLUMN", help="Column with the vectors.  [default: vector, in any case]")
@options.names
def append(
    max_size: int | None,
    device: "Device",
    format: str | None,
    table_options: dict[str, Any],
    vector_column: str | None,
    names_files: tuple[str, ...],
    store_location: str,
    run_options: dict[str, Any],
) -> None:
    """Add the items of FILE... to a collection and publish the generation that one ingest of the older files and these
    would give, the same id included.

    The recipe is the collection's. Only what is new is compared, and the new generation shares the files of the one
    before, so both the time and the room are about those of what is added. Items that are there already get the names
    that are new. Files that bring neither items nor names leave the collection as it is: its manifest does not count
    them, and `graphkin info` shows them as the latest run that changed nothing.
    Collections by the window rule, and of nodes, do not grow. In Neo4j generations share nothing: the new one is
    written there as a whole, beside the one before.
    """
    from graphkin.ingest import forking

    forking.start_fork_server(forking.MOLECULES)  # it imports modules while this process imports others
    from graphkin.cli.output import count_records, summarize, summary_json
    from graphkin.ingest.append import append as run
    from graphkin.ingest.options import IngestOptions
    from graphkin.ingest.progress_bars import terminal_progress
    from graphkin.ingest.recipes import read_options
    from graphkin.similarity.kinds import kind_named
    from graphkin.store import open_store

    collection, workers = run_options["collection"], run_options["workers"]
    with open_store(store_location) as store:
        items = kind_named(store.collection(collection).kind).plural
        ingest_options = IngestOptions(
            read=read_options(
                items,
                table_options.pop("structure_column"),
                vector_column=vector_column,
                format=format,
                **table_options,
            ),
            max_size=max_size,
            names=names_files,
            device=device,
            max_rejected=run_options["max_rejected"],
            rejections_file=run_options["rejections_file"] or Path(f"{collection}.rejections.csv"),
            **({"workers": workers} if workers else {}),
        )
        result = run(store, collection, run_options["files"], ingest_options, terminal_progress())
    if run_options["as_json"]:
        numbers = {"items": result.items, "named": result.named}
        counts = result.counts.model_dump(include={"read", "duplicates", "rejected"})
        click.echo(summary_json(result.manifest, appended={**numbers, **counts}))
        return
    named = f"{result.named:,} older ones with more names"
    click.echo(f"{result.items:,} new items, {named} ({count_records(result.counts)})")
    click.echo(summarize(collection, result.manifest))
