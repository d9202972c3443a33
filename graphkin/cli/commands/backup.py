"""`graphkin backup` and `graphkin restore`: copy all generations of a store to a folder and back."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from graphkin.cli import options
from graphkin.cli.help import command, option
from graphkin.cli.output import print_json, progress
from graphkin.protocol.generations import short_id

if TYPE_CHECKING:
    from graphkin.store.backup import CopyResult


@command(
    examples=[
        ("Copy a store into a folder", "graphkin backup --store s --to backup"),
        ("Copy a Neo4j server into a folder", "graphkin backup --store neo4j://localhost --to backup"),
    ]
)
@options.store
@option(
    "--to",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    metavar="DIR",
    panel="Target",
    help="Folder of the backup, made if there is none.",
)
@options.as_json
def backup(store_location: str, folder: Path, as_json: bool) -> None:
    """Copy all generations of a store into a folder.

    The command copies generations that the folder lacks, and deletes none: use `graphkin prune` for that. The store may
    be served and written meanwhile. The folder is a store itself, which you can verify and serve.
    """
    from graphkin.store import open_store
    from graphkin.store.backup import copy_all

    with open_store(store_location) as source, open_store(folder, create=True) as target:
        _report("saved", copy_all(source, target, progress().stage), as_json)


@command(
    examples=[
        ("Restore a store from a backup", "graphkin restore --from backup --to s"),
        ("Restore a Neo4j server from a backup", "graphkin restore --from backup --to neo4j://localhost"),
    ]
)
@option(
    "--from",
    "folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    required=True,
    metavar="DIR",
    panel="Source",
    help="Folder of the backup.",
)
@option(
    "--to",
    "store_location",
    metavar="STORE",
    required=True,
    panel="Target",
    help="Store to restore: a folder, or neo4j://HOST or bolt://HOST of a Neo4j server.",
)
@options.as_json
def restore(folder: Path, store_location: str, as_json: bool) -> None:
    """Copy all generations of a backup into a store.

    The command copies generations that the store lacks. It compares each with the published content, and keeps its id.
    A new folder appears when all generations are complete. In an existing store, each generation appears when it is
    complete.
    """
    from graphkin.runtime.files import atomic_path
    from graphkin.store import open_store
    from graphkin.store.backup import copy_all
    from graphkin.store.disk import translate_disk_errors

    stage = progress().stage
    with open_store(folder) as source:
        if "://" in store_location or _has_files(Path(store_location)):
            with open_store(store_location, create=True) as target:
                copies = copy_all(source, target, stage)
        else:
            path = Path(store_location)
            with (
                translate_disk_errors(path),
                atomic_path(path) as temporary,
                open_store(temporary, create=True) as target,
            ):
                copies = copy_all(source, target, stage)
    _report("restored", copies, as_json)


def _has_files(folder: Path) -> bool:
    """Return whether a folder exists and is not empty."""
    return folder.is_dir() and any(folder.iterdir())


def _report(verb: str, copies: "CopyResult", as_json: bool) -> None:
    if as_json:
        parts = {verb: copies.new, "present": copies.present, "deleted": copies.deleted}
        print_json({part: [{"collection": n, "generation": g} for n, g in pairs] for part, pairs in parts.items()})
        return
    for name, generation in copies.new:
        click.echo(f"{verb} {name} {short_id(generation)}")
    for name, generation in copies.deleted:
        click.echo(f"{name} {short_id(generation)} was deleted meanwhile")
    click.echo(f"{len(copies.new)} generations {verb}, {len(copies.present)} already present")
