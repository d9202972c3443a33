"""`graphkin delete`: remove a published generation."""

import click

from graphkin import options


@click.command()
@options.store
@options.collection
@click.option("--generation", metavar="ID", required=True, help="Generation id, or how one alone begins.")
def delete(store_location: str, collection: str, generation: str) -> None:
    """Delete one generation. The newest that is left becomes current."""
    from graphkin.protocol.generations import begun_with
    from graphkin.store import open_store

    with open_store(store_location) as store:
        known = [id for each in store.collections() if each.name == collection for id in each.generations]
        found = begun_with(generation, known)  # the store tells of what was deleted before
        store.delete(collection, found)
    click.echo(f"deleted {collection} {found}")
