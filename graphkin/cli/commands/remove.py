"""`graphkin remove`: remove items from a collection."""

from pathlib import Path

import click

from graphkin.cli import options
from graphkin.protocol.values import ListedBy


@click.command()
@click.argument("file", metavar="FILE")
@options.store
@options.collection
@click.option(
    "--by", type=click.Choice(["name", "smiles"]), required=True, help="What each line of FILE tells of an item."
)
@click.option("--workers", type=click.IntRange(min=1), help="Threads.  [default: all cores]")
@click.option(
    "--rejections-file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Where lines that mean no item are left, with the reasons.  [default: NAME.rejections.csv]",
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
    """Remove the items that FILE lists, one a line, from a collection and publish the generation that one ingest of the
    older files without these would give, the same id included. "-" is standard input.

    A name means all items that have it exactly so; a SMILES is read and standardised as those of the ingest were, and
    only molecules have them. Lines that mean no item are counted and left in a file with the reason; if all are such,
    the collection stays as it is. What the ingest rejected stays listed; the manifest says which lists were removed.

    Only items that lost a neighbour of their own choice are searched again. The files of the generation are written
    anew, as an ingest writes them: what comes after a removed item has another id. Collections by the window rule, and
    of nodes, have to be ingested again instead.
    """
    import os

    from graphkin.cli.output import summarize, summary_json
    from graphkin.ingest.progress_bars import terminal_progress
    from graphkin.ingest.rejections import save_rejections
    from graphkin.ingest.remove import remove as run
    from graphkin.store import open_store

    with open_store(store_location) as store:
        removed = run(store, collection, file, by, workers or os.cpu_count() or 1, terminal_progress())
    missing = removed.missing.num_rows
    if missing:
        where = save_rejections([removed.missing], rejections_file or Path(f"{collection}.rejections.csv"))
        click.echo(f"{missing:,} lines mean no item; {where}", err=True)
    if as_json:
        click.echo(summary_json(removed.manifest, removal={"items": removed.items, "missing": missing}))
    elif removed.items:
        click.echo(f"{removed.items:,} items removed")
        click.echo(summarize(collection, removed.manifest))
    else:
        click.echo(f"nothing to remove: {collection} stays at generation {removed.manifest.generation}")
