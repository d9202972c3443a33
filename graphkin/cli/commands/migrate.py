"""`graphkin migrate`: a store of an older version becomes one of this version."""

import click

from graphkin.cli import options


@click.command()
@options.store
def migrate(store_location: str) -> None:
    """Write all generations of an older format anew, and delete the older ones.

    They get the ids that their items have today, which trainers and programs that name a generation must be told.
    A store that is served goes on. Make a backup before: older versions of graphkin refuse the store from then on.
    """
    from graphkin.progress import terminal_progress
    from graphkin.store import open_store
    from graphkin.store.migration import migrate as run

    with open_store(store_location) as store:
        done = run(store, terminal_progress().stage)
    for collection, before, after in done:
        click.echo(f"{collection} {before} is now {after}")
    if not done:
        click.echo("nothing to migrate: all generations are of the format of today")
