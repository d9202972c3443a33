"""`graphkin export`: write edges, items, links, fingerprints or a whole generation to files."""

import re
import shlex
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphkin.cli import options
from graphkin.cli.help import group, option
from graphkin.cli.options import Command
from graphkin.protocol.errors import InvalidInput

if TYPE_CHECKING:
    from graphkin.protocol.manifest import Manifest
    from graphkin.protocol.values import Exported


def _id_range(command: Command) -> Command:
    """Add --start and --stop: a range of ids."""
    start = option("--start", type=click.IntRange(0), default=0, metavar="ID", panel="Query", help="First id.")
    stop = option(
        "--stop", type=click.IntRange(0), metavar="ID", panel="Query", help="Id after the last one. [default: all]"
    )
    return start(stop(command))


def _format(*formats: str) -> Any:
    return option("--format", "format", required=True, type=click.Choice(formats), panel="Output", help="File format.")


_output = options.output_file("File to write, or - for standard output.")


def _write(
    store_location: str,
    collection: str,
    generation: str | None,
    output: Path,
    content: "Exported",
    format: str,
    **selection: Any,
) -> "Manifest":
    """Write an export to a file, and return the manifest of the generation."""
    from graphkin.cli.output import atomic_file, progress
    from graphkin.collection.exporting import export as export_generation
    from graphkin.collection.open_collection import OpenCollection
    from graphkin.collection.ports import local_ports
    from graphkin.store import open_generation

    with open_generation(store_location, collection, generation) as reader:
        open_collection = OpenCollection(reader, partial(local_ports, stage=progress().stage))
        open_collection.prepare_columns(*(selection.get("columns") or ()))
        blocks = export_generation(reader, content, format, **selection)
        with atomic_file(output) as file:
            file.writelines(blocks)
        return reader.manifest


@group(
    examples=[
        ("Write the edges as CSV", "graphkin export edges --store s --collection m --format csv --output edges.csv"),
        ("Write the items as an SD file", "graphkin export items --store s --collection m --format sdf --output m.sdf"),
        ("Write everything as Parquet", "graphkin export lake --store s --collection m --output lake"),
    ]
)
def export() -> None:
    """Write items, edges or a whole generation to files.

    A file appears when it is complete.
    """


@export.command(
    examples=[
        ("Write all edges as CSV", "graphkin export edges --store s --collection m --format csv --output edges.csv"),
        (
            "Write the edges with similarity 0.7 or more as GraphML",
            "graphkin export edges --store s --collection m --format graphml --min-similarity 0.7 --output m.graphml",
        ),
        (
            "Write every pair with similarity 0.5 or more, also those beyond the top-k limit",
            (
                "graphkin export edges --store s --collection m --format parquet --min-similarity 0.5 --complete "
                "--output pairs.parquet"
            ),
        ),
    ]
)
@options.source_generation
@_format("csv", "parquet", "graphml", "arrow")
@_output
@options.min_similarity
@options.complete
@_id_range
def edges(
    store_location: str,
    collection: str,
    generation: str | None,
    format: Any,
    output: Path,
    min_similarity: float | None,
    complete: bool,
    start: int,
    stop: int | None,
) -> None:
    """Write the edges of a collection to a file.

    The columns are source, target and similarity, with source < target. --start and --stop select edges by source.

    With --complete, a pair takes 24 bytes of memory.
    """
    from graphkin.cli.output import atomic_file, note_truncation, progress
    from graphkin.collection.open_collection import OpenCollection
    from graphkin.collection.ports import local_ports
    from graphkin.export import export_edges
    from graphkin.store import open_generation
    from graphkin.store.base import require_stored_threshold

    with open_generation(store_location, collection, generation) as reader:
        pairs = None
        if complete:
            open_collection = OpenCollection(reader, partial(local_ports, stage=progress().stage))
            pairs = open_collection.complete_edges(min_similarity, start, stop)
        else:
            require_stored_threshold(reader, min_similarity)
        blocks = export_edges(reader, format, min_similarity, start=start, stop=stop, complete=pairs)
        with atomic_file(output) as file:
            file.writelines(blocks)
        if not complete:
            note_truncation(reader.manifest)


@export.command(
    examples=[
        (
            "Write the links as CSV",
            "graphkin export links --store s --collection nodes --format csv --output links.csv",
        ),
    ]
)
@options.source_generation
@_format("csv", "parquet", "arrow")
@_output
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
    """Write the links between the nodes of a collection to a file.

    Only collections of nodes have links: the edges of the graph that was ingested. --start and --stop select links by
    the lower id.
    """
    _write(store_location, collection, generation, output, "links", format, start=start, stop=stop)


@export.command(
    examples=[
        ("Write all items as CSV", "graphkin export items --store s --collection m --format csv --output items.csv"),
        (
            "Write two columns as Parquet",
            (
                "graphkin export items --store s --collection m --format parquet --column id --column smiles "
                "--output items.parquet"
            ),
        ),
    ]
)
@options.source_generation
@_format("csv", "parquet", "sdf", "arrow")
@_output
@options.columns
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
    """Write the items of a collection to a file."""
    place = (store_location, collection, generation)
    _write(*place, output, "items", format, columns=columns or None, start=start, stop=stop)


@export.command(
    examples=[
        (
            "Write the fingerprints for chemfp",
            "graphkin export fingerprints --store s --collection m --format fps --output m.fps",
        ),
    ]
)
@options.source_generation
@_format("fps", "npy")
@_output
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
    """Write the fingerprints of a collection to a file.

    The order is that of the ids. fps is the format of chemfp: each line has the bits in hexadecimal, and the first name
    of the item, or its SMILES, or its id. npy is an array of bytes with one row per item. In both formats byte 0 and
    the least significant bit of each byte come first.
    """
    _write(store_location, collection, generation, output, "fingerprints", format, start=start, stop=stop)


@export.command(
    "neo4j-admin",
    examples=[
        (
            "Write the files of a new Neo4j database",
            "graphkin export neo4j-admin --store s --collection m --output bulk",
        ),
    ],
)
@options.source_generation
@option(
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FOLDER",
    panel="Output",
    help="New or empty folder to write.",
)
@option(
    "--engine",
    type=click.Choice(["local", "tasks", "spark"]),
    default="local",
    panel="Execution",
    help="local: this process; tasks: processes of this machine; spark: Spark, whose executors need access to STORE "
    "and FOLDER.",
)
@options.workers
@options.master
@options.as_json
def neo4j_admin(
    store_location: str,
    collection: str,
    generation: str | None,
    output: Path,
    engine: str,
    workers: int | None,
    master: str | None,
    as_json: bool,
) -> None:
    """Write the files for `neo4j-admin database import`.

    The command prints the `neo4j-admin` command that imports them into a new database. The database must never have
    been started. For a running database, use `graphkin load`.
    """
    from graphkin.cli.output import atomic_folder, print_json, progress
    from graphkin.store import is_file_based, open_generation
    from graphkin.store.neo4j.bulk import serial_runner, write_import

    options.require_engine_options(engine, workers, master)
    if workers is not None and engine == "local":
        raise InvalidInput("--workers needs --engine tasks", given=workers, hint="add `--engine tasks`")
    if engine != "local" and not is_file_based(store_location):
        raise InvalidInput(
            f"--engine {engine} cannot read a Neo4j server",
            given=store_location,
            expected="a folder or a lake",
            hint="remove --engine",
        )
    stage = progress().stage
    with ExitStack() as stack:
        reader = stack.enter_context(open_generation(store_location, collection, generation))
        folder = stack.enter_context(atomic_folder(output))
        run_tasks = serial_runner(reader, stage)
        if engine != "local":
            from graphkin.cli.runners import open_runner
            from graphkin.ingest.stages.bulk import task_runner

            # The fork server imports the module of the tasks once, before it forks worker processes.
            executor = stack.enter_context(open_runner(engine, workers, master, task_runner.__module__))
            run_tasks = task_runner(executor, store_location, reader, stage)
        command = write_import(reader, folder, run_tasks)
    if as_json:
        print_json({"output": str(output), "generation": reader.id, "command": command})
        return
    click.echo(f"cd {shlex.quote(str(output.resolve()))}")
    click.echo(re.sub(r" ('?--)", r" \\\n  \1", shlex.join(command)))


@export.command(
    examples=[
        ("Write a collection as a lake", "graphkin export lake --store s --collection m --output lake"),
        ("Load it into another store", "graphkin load --lake lake --to other"),
    ]
)
@options.source_generation
@option("--output", required=True, metavar="URL", panel="Output", help="New or empty folder, or URL, to write.")
@options.as_json
def lake(store_location: str, collection: str, generation: str | None, output: str, as_json: bool) -> None:
    """Write a generation as a lake of Parquet and NumPy files.

    A lake is a Parquet export of a whole generation, which DuckDB, Polars and Spark can read. The target is a folder,
    or a URL of S3, GCS, HDFS or another file system of fsspec. manifest.json is written last.

    `graphkin load --lake` loads it into a store. Commands that read a store accept a lake (its folder, or a URL such as
    s3://...) as --store.
    """
    from graphkin.cli.output import print_manifest, progress
    from graphkin.protocol.generations import short_id
    from graphkin.store import open_generation, open_lake
    from graphkin.store.transfer import copy_generation

    with (
        open_generation(store_location, collection, generation) as reader,
        open_lake(output, create=True) as target,
    ):
        manifest = copy_generation(reader, target, progress().stage)
    if as_json:
        print_manifest(manifest)
        return
    click.echo(f"{output} holds {collection} generation {short_id(manifest.generation)}")
