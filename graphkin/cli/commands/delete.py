"""`graphkin delete`: delete a published generation."""

import sys
from typing import TYPE_CHECKING

import click

from graphkin.cli import options
from graphkin.cli.help import command, option
from graphkin.cli.output import note, print_json, print_purged
from graphkin.protocol.generations import short_id

if TYPE_CHECKING:
    from graphkin.store.base import Collection, Store


@command(
    examples=[
        ("Delete a generation after a question", "graphkin delete --store s --collection m --generation 5141f97b"),
        ("Delete it without a question", "graphkin delete --store s --collection m --generation 5141f97b --yes"),
    ]
)
@options.store
@options.collection
@option(
    "--generation",
    metavar="ID",
    required=True,
    panel="Collection",
    help="Generation, by its id or the beginning of it.",
)
@options.purge
@option("--yes", is_flag=True, panel="Execution", help="Do not ask.")
@options.as_json
def delete(store_location: str, collection: str, generation: str, purge: bool, yes: bool, as_json: bool) -> None:
    """Delete one generation of a collection.

    If it is the current generation, the newest of the others becomes current. Deleting the only generation deletes the
    collection.

    If ID is only the beginning of an id, the command asks on a terminal. Without a terminal, use the whole id or --yes.
    `graphkin info --json` shows whole ids.
    """
    from graphkin.store import open_store
    from graphkin.store.backup import delete as run

    with open_store(store_location) as store:
        entities = store.entities() if purge else None
        entry = next((each for each in store.collections() if each.name == collection), None)
        id = _confirm_id(store, entry, generation, yes) if entry is not None else generation
        run(store, collection, id)
        current = next((each.current for each in store.collections() if each.name == collection), None)
        purged = 0 if entities is None else entities.purge(collection)
    if as_json:
        print_json(
            {"collection": collection, "generation": id, "current": current} | ({"purged": purged} if purge else {})
        )
        return
    click.echo(f"deleted {collection} {short_id(id)}")
    if current is None:
        click.echo(f"this was the only generation: {collection} is gone")
    elif entry is not None and current != entry.current:
        click.echo(f"this was the current generation: now it is {short_id(current)}")
    if purge:
        print_purged(purged)


def _confirm_id(store: "Store", entry: "Collection", prefix: str, yes: bool) -> str:
    """Return the full id of a generation. If `prefix` is not the full id, the user must confirm the deletion.

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
    if len(entry.generations) == 1:
        consequence = "its only generation: the collection is deleted too"
    elif id == entry.current:
        consequence = "its current generation: the newest of the others becomes current"
    else:
        consequence = "other generations remain"
    if not sys.stdin.isatty():
        raise InvalidInput(
            f"{prefix} is only the beginning of an id, and there is no terminal to confirm the deletion",
            given=f"{entry.name} {id} ({facts}; {consequence})",
            expected="the whole id, or --yes",
            hint="add `--yes`",
        )
    if not click.confirm(f"Delete {entry.name} {short_id(id)} ({facts}; {consequence})?", err=True):
        note("nothing was deleted")
        raise click.exceptions.Exit(130)
    return id
