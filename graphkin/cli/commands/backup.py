"""`graphkin backup` and `graphkin restore`: copy all generations of a store to a folder and back."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from graphkin.cli import options

if TYPE_CHECKING:
    from graphkin.store.backup import CopyResult


@click.command()
@options.store
@click.option(
    "--to",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    metavar="DIR",
    help="Folder of the backup, made if there is none.",
)
def backup(store_location: str, folder: Path) -> None:
    """Copy all generations of a store, on a Neo4j server too, into a folder.

    Only what is not there yet is copied, and nothing there is deleted: `graphkin prune` does that. The store may be
    served and written to meanwhile. The folder is a store itself: it can be verified, and served.
    """
    from graphkin.ingest.progress_bars import terminal_progress
    from graphkin.store import open_store
    from graphkin.store.backup import copy_all

    with open_store(store_location) as source, open_store(folder, create=True) as target:
        _report("saved", copy_all(source, target, terminal_progress().stage))


@click.command()
@click.option(
    "--from",
    "folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    required=True,
    metavar="DIR",
    help="Folder of the backup.",
)
@click.option(
    "--to",
    "store_location",
    metavar="STORE",
    required=True,
    help="Store to restore: a folder, or neo4j://HOST or bolt://HOST of a Neo4j server.",
)
def restore(folder: Path, store_location: str) -> None:
    """Copy all generations of a backup into a store that lacks them.

    Each is compared with what was published, and keeps its id. A new folder is there once all of it is; in a store
    that is there already each generation is published when it is whole.
    """
    from graphkin.ingest.progress_bars import terminal_progress
    from graphkin.runtime.files import atomic_path
    from graphkin.store import open_store
    from graphkin.store.backup import copy_all
    from graphkin.store.disk import translate_disk_errors

    stage = terminal_progress().stage
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
    _report("restored", copies)


def _has_files(folder: Path) -> bool:
    """Return whether a folder exists and is not empty."""
    return folder.is_dir() and any(folder.iterdir())


def _report(verb: str, copies: "CopyResult") -> None:
    for name, generation in copies.new:
        click.echo(f"{verb} {name} {generation}")
    for name, generation in copies.deleted:
        click.echo(f"{name} {generation} was deleted meanwhile")
    click.echo(f"{len(copies.new)} generations {verb}, {len(copies.present)} there already")
