"""`graphkin load`: copy a generation from one store into another."""

from contextlib import ExitStack
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from graphkin.cli import options
from graphkin.cli.help import command, option
from graphkin.cli.output import print_manifest, progress
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.generations import short_id

if TYPE_CHECKING:
    from graphkin.store.base import Generation


@command(
    examples=[
        ("Copy a collection into Neo4j", "graphkin load --store s --collection m --to neo4j://localhost"),
        ("Load a lake into a store", "graphkin load --lake lake --to s"),
    ]
)
@option(
    "--store",
    "store_location",
    metavar="STORE",
    envvar=options.STORE_VARIABLE,
    show_envvar=True,
    panel="Collection",
    help="Folder of the store, or neo4j://HOST or bolt://HOST of a Neo4j server.",
)
@option("--lake", metavar="URL", panel="Collection", help="Folder or URL of a lake, instead of a store.")
@option(
    "--collection",
    metavar="NAME",
    envvar=options.COLLECTION_VARIABLE,
    show_envvar=True,
    panel="Collection",
    help="Name of the collection. [default: that of the lake]",
)
@options.generation
@option(
    "--to",
    "target",
    metavar="STORE",
    required=True,
    panel="Target",
    help="Store to copy into, made if there is none.",
)
@options.as_json
def load(
    store_location: str | None,
    lake: str | None,
    collection: str | None,
    generation: str | None,
    target: str,
    as_json: bool,
) -> None:
    """Copy a generation from a store or a lake into another store.

    The generation keeps its id and becomes current. A generation that the target already has is not copied again. A
    typical use is to copy from a folder into Neo4j.
    """
    from graphkin.store import open_store
    from graphkin.store.transfer import copy_generation

    if lake is not None:  # GRAPHKIN_STORE and GRAPHKIN_COLLECTION are defaults for commands without --lake.
        store_location, collection = _typed_value("store_location"), _typed_value("collection")
    with ExitStack() as stack:
        reader = _open_source(stack, store_location, lake, collection, generation)
        target_store = stack.enter_context(open_store(target, create=True))
        manifest = copy_generation(reader, target_store, progress().stage)
    if as_json:
        print_manifest(manifest)
        return
    click.echo(
        f"loaded {reader.collection} generation {short_id(manifest.generation)}\n"
        f"  {manifest.counts.kept:,} items, {manifest.edges:,} edges with similarity ≥ {manifest.threshold:g}"
    )


def _typed_value(name: str) -> str | None:
    """Return the value of an option that is on the command line; None if it comes from the environment or a default."""
    context = click.get_current_context()
    value: str | None = context.params[name]
    return value if context.get_parameter_source(name) is ParameterSource.COMMANDLINE else None


def _open_source(
    stack: ExitStack, store_location: str | None, lake: str | None, collection: str | None, generation: str | None
) -> "Generation":
    """Open the generation to copy. The exit stack closes it."""
    from graphkin.store import open_lake, open_store

    if (store_location is None) == (lake is None):
        raise InvalidInput(
            "the command copies from a store or from a lake",
            expected="either --store or --lake",
            hint="remove one of them" if lake is not None else "add `--store STORE` or `--lake URL`",
        )
    if store_location is not None:
        if collection is None:
            raise InvalidInput("`graphkin load --store` needs --collection", hint="add `--collection NAME`")
        store = stack.enter_context(open_store(store_location))
        return stack.enter_context(store.open(collection, store.full_id(collection, generation)))
    store = stack.enter_context(open_lake(str(lake)))
    if collection is None:
        (single,) = store.collections()
        collection = single.name
    return stack.enter_context(store.open(collection, store.full_id(collection, generation)))
