"""`graphkin prune`: delete all but the newest generations."""

import click

from graphkin.cli import options
from graphkin.cli.help import command, option
from graphkin.cli.output import print_json
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
@options.as_json
def prune(store_location: str, collection: str | None, keep: int, as_json: bool) -> None:
    """Delete all but the newest generations of collections.

    The current generation is never deleted.
    """
    from graphkin.store import open_store
    from graphkin.store.backup import prune as run

    with open_store(store_location) as store:
        deleted = run(store, keep, collection)
    if as_json:
        print_json({"deleted": [{"collection": name, "generation": id} for name, id in deleted]})
        return
    for name, generation in deleted:
        click.echo(f"deleted {name} {short_id(generation)}")
    if not deleted:
        click.echo("nothing to delete")
