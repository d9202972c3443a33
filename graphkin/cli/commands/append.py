"""`graphkin append`: add items to a collection."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphkin.cli import options
from graphkin.cli.help import command, option

if TYPE_CHECKING:
    from graphkin.similarity.devices import Device


@command(
    examples=[
        ("Add the molecules of a file", "graphkin append new.smi --store s --collection m"),
        ("Add a table from standard input", "graphkin append - --format csv --store s --collection m < new.csv"),
    ]
)
@options.ingest_run
@options.device
@options.store
@option(
    "--max-size",
    type=click.IntRange(1, 100_000),
    panel="Input",
    help="Largest item in atoms or nodes. Larger ones are rejected. [default: as in graphkin ingest]",
)
@option(
    "--format",
    "format",
    type=click.Choice(["smi", "csv", "tsv", "sdf", "parquet", "xlsx", "tu", "graphml", "jsonl", "fps", "npy"]),
    panel="Input",
    help="Format of the input. Standard input (-) needs it. [default: by file name]",
)
@options.table_columns
@option(
    "--vector-column",
    metavar="COLUMN",
    panel="Input",
    help="Column with the vectors. [default: vector, in any case]",
)
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
    """Add items to a collection.

    FILE holds items of the collection's kind, in the formats of `graphkin ingest`. The new generation equals an ingest
    of all files at once, and has the same id. The recipe stays the same.

    Only the new items are compared, and the new generation shares the files of the previous one. Items that exist
    already get additional names. If the files add neither items nor names, the collection does not change, and
    `graphkin info` shows the run.

    Collections of nodes and collections made with the window rule cannot grow. Neo4j stores the new generation as a
    whole.
    """
    from graphkin.ingest import forking

    forking.start_fork_server(forking.MOLECULES)  # The fork server imports modules while this process imports others.
    from graphkin.cli.output import count_records, print_manifest, progress, summarize
    from graphkin.ingest.append import append as run
    from graphkin.ingest.options import IngestOptions
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
        result = run(store, collection, run_options["files"], ingest_options, progress())
    if run_options["as_json"]:
        numbers = {"items": result.items, "named": result.named}
        counts = result.counts.model_dump(include={"read", "duplicates", "rejected"})
        print_manifest(result.manifest, appended={**numbers, **counts})
        return
    named = f"{result.named:,} older ones with more names"
    click.echo(f"{result.items:,} new items, {named} ({count_records(result.counts)})")
    click.echo(summarize(collection, result.manifest))
