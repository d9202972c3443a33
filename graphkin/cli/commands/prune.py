"""`graphkin prune`: delete all but the newest generations."""

import click

from graphkin.cli import options
from graphkin.cli.help import command, option
from graphkin.cli.output import print_json, print_purged
from graphkin.protocol.generations import short_id


@command(
    examples=[
        ("Keep the 3 newest generations of each collection", "graphkin prune --store s --keep 3"),
        ("Keep only the current generation of a collection", "graphkin prune --store s --collection m --keep 1"),
    ]
)
@options.store
@options.optional_collection
@option(
    "--keep",
    type=click.IntRange(1),
    required=True,
    metavar="N",
    panel="Query",
    help="Number of generations to keep, the newest ones.",
)
@options.purge
@options.as_json
def prune(store_location: str, collection: str | None, keep: int, purge: bool, as_json: bool) -> None:
    """Delete all but the newest generations of collections.

    The current generation is never deleted.
    """
    from graphkin.store import open_store
    from graphkin.store.backup import prune as run

    with open_store(store_location) as store:
        entities = store.entities() if purge else None
        deleted = run(store, keep, collection)
        names = [entry.name for entry in store.collections()] if collection is None else [collection]
        purged = 0 if entities is None else sum(entities.purge(name) for name in names)
    if as_json:
        rows = [{"collection": name, "generation": id} for name, id in deleted]
        print_json({"deleted": rows} | ({"purged": purged} if purge else {}))
        return
    for name, generation in deleted:
        click.echo(f"deleted {name} {short_id(generation)}")
    if not deleted:
        click.echo("nothing to delete")
    if purge:
        print_purged(purged)
