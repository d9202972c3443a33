"""`graphkin compact`: merge the fragments of a generation into one."""

import click

from graphkin.cli import options


@click.command()
@options.store
@options.collection
@options.as_json
def compact(store_location: str, collection: str, as_json: bool) -> None:
    """Write the current generation anew as one fragment, as an ingest would have.

    It keeps its id. Who reads it goes on; the fragments go once no other generation is read from them. A generation
    that is one fragment already, as every one in Neo4j is, stays as it is.
    """
    from graphkin.ingest.progress_bars import terminal_progress
    from graphkin.similarity.compaction import compact as run
    from graphkin.store import open_store

    with open_store(store_location) as store:
        before = len(store.manifest(collection).fragments)
        manifest = run(store, collection, terminal_progress().stage)
    if as_json:
        click.echo(manifest.model_dump_json(exclude={"fragments"}))
    elif before > 1:
        click.echo(f"compacted {collection} generation {manifest.generation}: {before} fragments are one")
    else:
        click.echo(f"nothing to compact: {collection} generation {manifest.generation} is one fragment")
