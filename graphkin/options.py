"""Options that several commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

store = click.option(
    "--store",
    "store_location",
    metavar="STORE",
    required=True,
    help="Folder of the store, neo4j://HOST or bolt://HOST of a Neo4j server, or the URL of a lake.",
)
collection = click.option("--collection", metavar="NAME", required=True, help="Collection.")
generation = click.option("--generation", metavar="ID", help="Generation id.  [default: the current one]")
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
min_similarity = click.option(
    "--min-similarity", type=float, metavar="X", help="Smallest similarity.  [default: the stored threshold]"
)
cache_dir = click.option(
    "--cache-dir",
    type=click.Path(path_type=Path),
    metavar="DIR",
    envvar="GRAPHKIN_CACHE_DIR",
    show_default="the user's cache folder",
    help="Local cache of what was read from the server; an interrupted command continues from it.",
)
beside = click.option(
    "--beside",
    metavar="NAME[@GENERATION]",
    help="Another collection of the same items: anchors are those linked in both.",
)


def reading(command: Command) -> Command:
    """--store, --collection, --generation: which generation a command reads."""
    return store(collection(generation(command)))
