"""`graphkin compact`: merge the fragments of a generation into one."""

import click

from graphkin.cli import options
from graphkin.cli.help import command


@command(examples=[("Merge the fragments of a collection", "graphkin compact --store s --collection m")])
@options.store
@options.collection
@options.as_json
def compact(store_location: str, collection: str, as_json: bool) -> None:
    """Merge the fragments that appends left in a collection.

    The command rewrites the current generation as one fragment, as an ingest writes it. The generation keeps its id,
    and readers are not interrupted. Fragments are deleted when no other generation uses them. Generations with a single
    fragment, and generations in Neo4j, do not change.
    """
    from graphkin.cli.output import print_manifest, progress
    from graphkin.protocol.generations import short_id
    from graphkin.similarity.compaction import compact as run
    from graphkin.store import open_store

    with open_store(store_location) as store:
        before = len(store.manifest(collection).fragments)
        manifest = run(store, collection, progress().stage)
    if as_json:
        print_manifest(manifest)
    elif before > 1:
        click.echo(f"compacted {collection} generation {short_id(manifest.generation)}: {before} fragments are one")
    else:
        click.echo(f"nothing to compact: {collection} generation {short_id(manifest.generation)} is one fragment")
