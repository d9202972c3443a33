"""`graphkin delete`: delete a published generation."""

import sys
from typing import TYPE_CHECKING

import click

from graphkin.cli import options

if TYPE_CHECKING:
    from graphkin.store.base import Collection, Store


@click.command()
@options.store
@options.collection
@click.option("--generation", metavar="ID", required=True, help="Generation id, or how one alone begins.")
@click.option("--yes", is_flag=True, help="Do not ask, also where only the beginning of an id is given.")
def delete(store_location: str, collection: str, generation: str, yes: bool) -> None:
    """Delete one generation. The newest that is left becomes current; with the last one the collection is gone.

    Where ID is only the beginning of an id the command asks first on a terminal; elsewhere it needs the whole id, or
    --yes.
    """
    from graphkin.protocol.errors import Deleted, NotFound
    from graphkin.store import open_store

    with open_store(store_location) as store:
        entry = next((each for each in store.collections() if each.name == collection), None)
        id = _confirm_id(store, entry, generation, yes) if entry is not None else generation
        try:
            store.delete(collection, id)
        except Deleted:
            raise
        except NotFound as error:
            expected = f"one of {', '.join(store.collection(collection).generations)}"
            raise NotFound(error.detail, given=generation, expected=expected) from None
        current = next((each.current for each in store.collections() if each.name == collection), None)
    click.echo(f"deleted {collection} {id}")
    if current is None:
        click.echo(f"this was the only generation: {collection} is gone")
    elif entry is not None and current != entry.current:
        click.echo(f"this was the current generation: now it is {current}")


def _confirm_id(store: "Store", entry: "Collection", prefix: str, yes: bool) -> str:
    """Return the full id of a generation. If only a prefix is given, the user must confirm the deletion.

    Raises:
        InvalidInput: If the prefix is ambiguous, or there is no terminal to confirm on.
        Exit: If the user declines.
    """
    from graphkin.protocol.errors import InvalidInput
    from graphkin.protocol.generations import expand_id

    id = expand_id(prefix, entry.generations)
    if yes or id == prefix:
        return id
    manifest = store.manifest(entry.name, id)
    facts = f"{manifest.counts.kept:,} items, published {manifest.published_at}"
    consequence = "its only generation: the collection goes with it" if len(entry.generations) == 1 else "another stays"
    if len(entry.generations) > 1 and id == entry.current:
        consequence = "its current generation: the newest that is left becomes current"
    if not sys.stdin.isatty():
        raise InvalidInput(
            f"{prefix} is only the beginning of an id, and without a terminal nobody can confirm it",
            given=f"{entry.name} {id} ({facts}; {consequence})",
            expected="the whole id, or --yes",
        )
    if not click.confirm(f"Delete {entry.name} {id} ({facts}; {consequence})?", err=True):
        click.echo("nothing was deleted", err=True)
        raise click.exceptions.Exit(130)
    return id
