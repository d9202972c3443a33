"""`graphkin export`: write edges, items, links, fingerprints or a whole generation to files."""

import re
import shlex
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from graphkin.cli import options
from graphkin.cli.options import Command


def _id_range(command: Command) -> Command:
    """Add --start and --stop: a range of ids."""
    start = click.option("--start", type=click.IntRange(0), default=0, metavar="ID", help="First id.")
    stop = click.option("--stop", type=click.IntRange(0), metavar="ID", help="Id to stop before.  [default: all]")
    return start(stop(command))


@click.group()
def export() -> None:
    """Write a generation, or its edges, items, links or fingerprints, to files.

    They appear whole or not at all.
    """


@export.command()
@options.source_generation
@click.option(
    "--format",
    "format",
    required=True,
    type=click.Choice(["csv", "parquet", "graphml", "arrow"]),
    help="Format of the file.",
)
@options.output
@options.min_similarity
@_id_range
def edges(
    store_location: str,
    collection: str,
    generation: str | None,
    format: Any,
    output: Path,
    min_similarity: float | None,
    start: int,
    stop: int | None,
) -> None:
    """Write the edges to a file, in a range those with their lower id in it."""
    from graphkin.cli.output import atomic_file, note_truncation
    from graphkin.export import export_edges
    from graphkin.store import open_generation
    from graphkin.store.base import require_stored_threshold

    with open_generation(store_location, collection, generation) as reader:
        require_stored_threshold(reader, min_similarity)
        blocks = export_edges(reader, format, min_similarity, start=start, stop=stop)
        with atomic_file(output) as file:
            file.writelines(blocks)
        note_truncation(reader.manifest)


@export.command()
@options.source_generation
@click.option(
    "--format",
    "format",
    required=True,
    type=click.Choice(["csv", "parquet", "arrow"]),
    help="Format of the file.",
)
@options.output
@_id_range
def links(
    store_location: str,
    collection: str,
    generation: str | None,
    format: Any,
    output: Path,
    start: int,
    stop: int | None,
) -> None:
    """Write the links of the big graph whose nodes the items are, in a range those with their lower id in it."""
    from graphkin.cli.output import atomic_file
    from graphkin.export import export_links
    from graphkin.store import open_generation

    with open_generation(store_location, collection, generation) as reader:
        blocks = export_links(reader, format, start=start, stop=stop)
        with atomic_file(output) as file:
            file.writelines(blocks)


@export.command()
@options.source_generation
@click.option(
    "--format",
    "format",
    required=True,
    type=click.Choice(["csv", "parquet", "sdf", "arrow"]),
    help="Format of the file.",
)
@options.output
@click.option(
    "--column", "columns", metavar="NAME", multiple=True, help="Column to write, once for each.  [default: all]"
)
@_id_range
def items(
    store_location: str,
    collection: str,
    generation: str | None,
    format: Any,
    output: Path,
    columns: tuple[str, ...],
    start: int,
    stop: int | None,
) -> None:
    """Write the items to a file."""
    from graphkin.cli.output import atomic_file
    from graphkin.export import export_items
    from graphkin.store import open_generation

    with open_generation(store_location, collection, generation) as reader:
        blocks = export_items(reader, format, columns=columns or None, start=start, stop=stop)
        with atomic_file(output) as file:
            file.writelines(blocks)


@export.command()
@options.source_generation
@click.option("--format", "format", required=True, type=click.Choice(["fps", "npy"]), help="Format of the file.")
@options.output
@_id_range
def fingerprints(
    store_location: str,
    collection: str,
    generation: str | None,
    format: Any,
    output: Path,
    start: int,
    stop: int | None,
) -> None:
    """Write the packed fingerprints to a file, in the order of ids, as `graphkin export items` writes the items.

    fps is chemfp's format: each line is the bits in hexadecimal and the item's first name, else its SMILES, else its
    id. npy is an array of bytes, a row for each item. In both, byte 0 comes first, and of each byte the least
    significant bit.
    """
    from graphkin.cli.output import atomic_file
    from graphkin.export import export_fingerprints
    from graphkin.similarity.kinds import kind_of, recipe_of
    from graphkin.store import open_generation

    with open_generation(store_location, collection, generation) as reader:
        type = kind_of(reader).fingerprint(recipe_of(reader))
        blocks = export_fingerprints(reader, format, type, start=start, stop=stop)
        with atomic_file(output) as file:
            file.writelines(blocks)


@export.command("neo4j-admin")
@options.source_generation
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FOLDER",
    help="Folder to write; new or empty.",
)
@click.option(
    "--engine",
    type=click.Choice(["local", "tasks", "spark"]),
    default="local",
    help="What writes: this process, several of this machine, or Spark, whose executors all reach STORE and FOLDER.",
)
@options.workers
@options.master
def neo4j_admin(
    store_location: str,
    collection: str,
    generation: str | None,
    output: Path,
    engine: str,
    workers: int | None,
    master: str | None,
) -> None:
    """Write the files that `neo4j-admin database import` makes a new Neo4j database of.

    Prints the command that does it. It works only where the database was never started; into a running one, use
    `graphkin load`.
    """
    from graphkin.cli.output import atomic_folder
    from graphkin.ingest.progress_bars import terminal_progress
    from graphkin.store import is_file_based, open_generation
    from graphkin.store.neo4j.bulk import serial_runner, write_import

    options.require_engine_options(engine, workers, master)
    if workers is not None and engine == "local":
        raise click.UsageError("--workers are of --engine tasks.")
    if engine != "local" and not is_file_based(store_location):
        raise click.UsageError(f"--engine {engine} reads a folder or a lake, not a Neo4j server.")
    stage = terminal_progress().stage
    with ExitStack() as stack:
        reader = stack.enter_context(open_generation(store_location, collection, generation))
        folder = stack.enter_context(atomic_folder(output))
        run_tasks = serial_runner(reader, stage)
        if engine != "local":
            from graphkin.cli.runners import open_runner
            from graphkin.ingest.stages.bulk import task_runner

            executor = stack.enter_context(open_runner(engine, workers, master, task_runner.__module__))
            run_tasks = task_runner(executor, store_location, reader, stage)
        command = write_import(reader, folder, run_tasks)
    click.echo(f"cd {shlex.quote(str(output.resolve()))}")
    click.echo(re.sub(r" ('?--)", r" \\\n  \1", shlex.join(command)))


@export.command()
@options.source_generation
@click.option("--output", required=True, metavar="URL", help="Where to write it; new or empty. A folder or a URL.")
def lake(store_location: str, collection: str, generation: str | None, output: str) -> None:
    """Write the whole generation as a lake: Parquet and NumPy files that DuckDB, Polars and Spark read too.

    It lies in a folder, or on S3, GCS, HDFS or whatever else fsspec knows, and has no manifest.json until it is whole.
    `graphkin load --lake` reads it back; --store takes its URL (file:///..., s3://...) wherever a store is read.
    """
    from graphkin.ingest.progress_bars import terminal_progress
    from graphkin.store import open_generation, open_lake
    from graphkin.store.transfer import copy_generation

    with (
        open_generation(store_location, collection, generation) as reader,
        open_lake(output, create=True) as target,
    ):
        manifest = copy_generation(reader, target, terminal_progress().stage)
    click.echo(f"{output} holds {collection} generation {manifest.generation}")
