"""`graphkin fetch`: write everything that training needs into one folder, for machines without a network."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphkin.cli import configuration, options
from graphkin.cli.help import command, option
from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.strategy import POSITIVES, PRESETS, STRATEGIES

if TYPE_CHECKING:
    from graphkin.trainer.feed.source import Source


@command(
    examples=[
        (
            "Fetch 20 epochs from a store on this machine",
            "graphkin fetch --store s --collection m --strategy hgc-ho --epochs 20 --output data",
        ),
        (
            "Train from the folder without a network",
            "graphkin pretrain --offline data --strategy hgc-ho --output runs/hgc",
        ),
    ]
)
@option("--api", "url", metavar="URL", panel="Collection", help="URL of the server, as `graphkin serve` prints it.")
@options.optional_store
@options.collection
@options.generation
@option("--strategy", type=click.Choice(STRATEGIES), required=True, panel="Training", help="Pre-training strategy.")
@option("--preset", type=click.Choice(PRESETS), default="default", panel="Training", help="Preset of the training run.")
@option(
    "--encoder",
    metavar="NAME",
    show_default="as in graphkin pretrain",
    panel="Training",
    help="Encoder to train, as in `graphkin pretrain`. The samples of hgc-ho depend on it.",
)
@options.features
@option(
    "--batch-size",
    type=click.IntRange(2),
    panel="Training",
    help="Smallest batch of the training run. [default: 256; graphs, nodes: 32]",
)
@option("--epochs", type=click.IntRange(0), required=True, panel="Training", help="Number of epochs to train.")
@options.seed
@option(
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIR",
    panel="Output",
    help="New or empty folder to write.",
)
@option(
    "--positives",
    type=click.Choice(POSITIVES),
    default="exact",
    panel="Sampling",
    help="Source of the positives, as in `graphkin pretrain`.",
)
@options.other_collection
@options.cache_dir
@configuration.settings
@options.as_json
def fetch(
    url: str | None,
    store_location: str | None,
    collection: str,
    generation: str | None,
    beside: str | None,
    epochs: int,
    output: Path,
    cache_dir: Path | None,
    as_json: bool,
    **training: Any,
) -> None:
    """Write training data into a folder for machines without a network.

    `graphkin pretrain --offline` trains from the folder. It holds features, positives and negatives. They come from a
    server (--api) or from a store on this machine (--store), with the same result.

    Set the same --config and --set in both commands. This command uses the settings that change the samples.
    """
    from graphkin.cli.output import atomic_folder, print_json, progress
    from graphkin.trainer.feed.offline import write_offline

    _require_one_source(url, store_location)
    if url is not None:
        source_context = _open_served_source(url, collection, generation, beside, epochs - 1, cache_dir, training)
    else:
        source_context = _open_stored_source(str(store_location), collection, generation, beside, epochs - 1, training)
    with (
        source_context as source,
        atomic_folder(output) as folder,
        progress().stage("fetching", epochs, "epochs") as advance,
    ):
        write_offline(source, epochs, folder, advance)
    size = sum(file.stat().st_size for file in output.iterdir())
    if as_json:
        counts = {"items": source.generation.size, "epochs": epochs, "bytes": size}
        print_json({"output": str(output), "generation": source.generation.id, **counts})
        return
    click.echo(f"{output}: {source.generation.size:,} items, {epochs} epochs, {size / 2**20:.1f} MiB")


def _require_one_source(url: str | None, store_location: str | None) -> None:
    """Raise `InvalidInput` unless either a server or a store is given.

    With --api, the store in the environment variable is ignored.
    """
    choices = "--api URL for a server, or --store STORE for a store on this machine"
    if url is not None and options.is_on_command_line("store_location"):
        raise InvalidInput("--api and --store cannot be combined", expected=choices, hint="remove one of them")
    if url is None and store_location is None:
        raise InvalidInput("the command needs a server or a store", expected=choices, hint="add one of them")
    if url is None and options.is_on_command_line("cache_dir"):
        raise InvalidInput("--cache-dir needs --api", hint="remove it: a store on this machine is read without a cache")


@contextmanager
def _open_served_source(
    url: str,
    collection: str,
    generation: str | None,
    beside: str | None,
    last_epoch: int,
    cache_dir: Path | None,
    training: dict[str, Any],
) -> "Iterator[Source]":
    from graphkin.client import Graphkin
    from graphkin.trainer.feed.kinds import features
    from graphkin.trainer.feed.online import default_cache, open_online

    with Graphkin(url) as server:
        kind = server.collection(collection, generation).kind
    config = configuration.resolve_config(kind, **training)
    name = config.model.features
    with open_online(
        url,
        collection,
        config.draws,
        partial(features, workers=os.cpu_count() or 1, name=name),
        default_cache(cache_dir),
        generation=generation,
        beside=beside,
        last=last_epoch,
        features=name,
    ) as source:
        yield source


@contextmanager
def _open_stored_source(
    location: str,
    collection: str,
    generation: str | None,
    beside: str | None,
    last_epoch: int,
    training: dict[str, Any],
) -> "Iterator[Source]":
    from graphkin.library.training import open_stored
    from graphkin.store import open_generation
    from graphkin.trainer.feed.source import split_generation

    with ExitStack() as stack:
        reader = stack.enter_context(open_generation(location, collection, generation))
        second = None
        if beside is not None:
            second = stack.enter_context(open_generation(location, *split_generation(beside)))
        config = configuration.resolve_config(reader.manifest.kind, **training)
        yield stack.enter_context(
            open_stored(
                reader,
                config.draws,
                os.cpu_count() or 1,
                second=second,
                last=last_epoch,
                features=config.model.features,
            )
        )
