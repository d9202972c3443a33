"""`graphkin load`: copy a generation from one store into another."""

import click

from graphkin import options


@click.command()
@options.reading
@click.option("--to", "target", metavar="STORE", required=True, help="Store to copy into, made if there is none.")
@options.as_json
def load(store_location: str, collection: str, generation: str | None, target: str, as_json: bool) -> None:
    """Copy a generation from a store into another, usually from a folder into Neo4j.

    It keeps its id and becomes current there. A generation that is there already is not copied again.
    """
    from graphkin.progress import terminal_progress
    from graphkin.store import open_store
    from graphkin.store.transfer import copy_generation

    with (
        open_store(store_location) as store,
        store.open(collection, store.full_id(collection, generation)) as opened,
        open_store(target, create=True) as other,
    ):
        manifest = copy_generation(opened, other, terminal_progress().stage)
    if as_json:
        click.echo(manifest.model_dump_json(exclude={"fragments"}))
        return
    click.echo(
        f"loaded {collection} generation {manifest.generation}\n"
        f"  {manifest.counts.kept:,} items, {manifest.edges:,} edges with similarity ≥ {manifest.threshold:g}"
    )
