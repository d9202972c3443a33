"""`graphkin prune`: delete all but the newest generations."""

import click

from graphkin.cli import options


@click.command()
@options.store
@options.optional_collection
@click.option("--keep", type=click.IntRange(1), required=True, metavar="N", help="Newest generations to keep.")
def prune(store_location: str, collection: str | None, keep: int) -> None:
    """Delete all but the newest generations of a collection, or of each. The current one always stays."""
    from graphkin.store import open_store
    from graphkin.store.backup import prune as run

    with open_store(store_location) as store:
        deleted = run(store, keep, collection)
    for name, generation in deleted:
        click.echo(f"deleted {name} {generation}")
    if not deleted:
        click.echo("nothing to delete")
