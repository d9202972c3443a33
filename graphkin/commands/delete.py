"""`graphkin delete`: remove a published generation."""

import click

from graphkin import options


@click.command()
@options.store
@options.collection
@click.option("--generation", metavar="ID", required=True, help="Generation id, in full.")
def delete(store_location: str, collection: str, generation: str) -> None:
    """Delete one generation. The newest that is left becomes current."""
    from graphkin.store import open_store

    with open_store(store_location) as store:
        store.delete(collection, generation)
    click.echo(f"deleted {collection} {generation}")
