"""`graphkin remove`: remove items from a collection."""

from pathlib import Path

import click

from graphkin.cli import options
from graphkin.cli.help import command, option
from graphkin.protocol.values import ListedBy


@command(
    examples=[
        ("Remove the molecules that a file lists", "graphkin remove old.smi --by smiles --store s --collection m"),
        ("Remove one item by its name", "echo aspirin | graphkin remove - --by name --store s --collection m"),
    ]
)
@click.argument("file", metavar="FILE")
@options.store
@options.collection
@option(
    "--by", type=click.Choice(["name", "smiles"]), required=True, panel="Input", help="Content of the lines of FILE."
)
@option("--workers", type=click.IntRange(min=1), panel="Execution", help="Number of threads. [default: all cores]")
@option(
    "--rejections-file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    panel="Output",
    help="File for the lines that match no item, with the reasons. [default: NAME.rejections.csv]",
)
@options.as_json
def remove(
    file: str,
    store_location: str,
    collection: str,
    by: ListedBy,
    workers: int | None,
    rejections_file: Path | None,
    as_json: bool,
) -> None:
    """Remove items from a collection.

    FILE lists the items, one per line, or is - for standard input. The new generation equals an ingest of the same
    files without these items, and has the same id.

    A name matches all items that have exactly this name. A SMILES is standardized like those of the ingest, and matches
    only molecules. Lines that match no item are counted and written to a file; if no line matches, the collection does
    not change. The manifest records the lists.

    Only items that lost a neighbor are searched again. The items after a removed item get other ids. Collections of
    nodes and collections made with the window rule cannot lose items: ingest them again.
    """
    import os

    from graphkin.cli.output import note, print_manifest, progress, summarize
    from graphkin.ingest.rejections import save_rejections
    from graphkin.ingest.remove import remove as run
    from graphkin.protocol.generations import short_id
    from graphkin.store import open_store

    with open_store(store_location) as store:
        removed = run(store, collection, file, by, workers or os.cpu_count() or 1, progress())
    missing = removed.missing.num_rows
    if missing:
        where = save_rejections([removed.missing], rejections_file or Path(f"{collection}.rejections.csv"))
        note(f"{missing:,} lines match no item; {where}")
    if as_json:
        print_manifest(removed.manifest, removal={"items": removed.items, "missing": missing})
    elif removed.items:
        click.echo(f"{removed.items:,} items removed")
        click.echo(summarize(collection, removed.manifest))
    else:
        click.echo(f"nothing to remove: {collection} stays at generation {short_id(removed.manifest.generation)}")
