"""`graphkin fetch`: write everything that training needs into one folder, for machines without a network."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphkin.cli import configuration, options
from graphkin.trainer.strategy import ENCODERS, POSITIVES, PRESETS, STRATEGIES

if TYPE_CHECKING:
    from graphkin.trainer.feed.source import Source


@click.command()
@click.option("--api", "url", metavar="URL", help="Server, as `graphkin serve` prints it.")
@options.optional_store
@options.collection
@options.generation
@click.option("--strategy", type=click.Choice(STRATEGIES), required=True, help="What is to be trained.")
@click.option("--preset", type=click.Choice(PRESETS), default="default", help="How positives are drawn.")
@click.option("--encoder", type=click.Choice(ENCODERS), default="gin", help="What hgc-ho draws depends on it.")
@click.option(
    "--batch-size", type=click.IntRange(2), help="Smallest batch to train with.  [default: 256; graphs, nodes: 32]"
)
@click.option("--epochs", type=click.IntRange(0), required=True, help="Epochs to train for.")
@options.seed
@click.option(
    "--output", type=click.Path(path_type=Path), required=True, metavar="DIR", help="Folder to write; new or empty."
)
@click.option("--positives", type=click.Choice(POSITIVES), default="exact", help="Whose: as `graphkin pretrain`.")
@options.other_collection
@options.cache_dir
@configuration.settings
def fetch(
    url: str | None,
    store_location: str | None,
    collection: str,
    generation: str | None,
    beside: str | None,
    epochs: int,
    output: Path,
    cache_dir: Path | None,
    **training: Any,
) -> None:
    """Write features, positives and negatives into a folder that `graphkin pretrain --offline` trains from.

    They come from a server (--api) or from a store on this machine (--store), which gives the same folder without a
    server. What --config and --set say counts as far as it is about what is drawn; give both commands the same.
    """
    from graphkin.cli.output import atomic_folder
    from graphkin.ingest.progress_bars import terminal_progress
    from graphkin.trainer.feed.offline import write_offline

    _require_one_source(url, store_location)
    if url is not None:
        source_context = _open_served_source(url, collection, generation, beside, epochs - 1, cache_dir, training)
    else:
        source_context = _open_stored_source(str(store_location), collection, generation, beside, training)
    with (
        source_context as source,
        atomic_folder(output) as folder,
        terminal_progress().stage("fetching", epochs, "epochs") as advance,
    ):
        write_offline(source, epochs, folder, advance)
    size = sum(file.stat().st_size for file in output.iterdir())
    click.echo(f"{output}: {source.generation.size:,} items, {epochs} epochs, {size / 2**20:.1f} MiB")


def _require_one_source(url: str | None, store_location: str | None) -> None:
    """Raise `UsageError` unless either a server or a store is given.

    With --api, the store in the environment variable is ignored.
    """
    choices = "--api URL, a server, or --store STORE, a store on this machine"
    if url is not None and options.is_on_command_line("store_location"):
        raise click.UsageError(f"give {choices}; not both")
    if url is None and store_location is None:
        raise click.UsageError(f"give {choices}")
    if url is None and options.is_on_command_line("cache_dir"):
        raise click.UsageError("--cache-dir goes with --api: a store on this machine is read without a cache")


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
    from graphkin.trainer.feed.online import default_cache, online

    with Graphkin(url) as server:
        kind = server.collection(collection, generation).kind
    draws = configuration.resolve_config(kind, **training).draws
    featurize, cache = partial(features, workers=os.cpu_count() or 1), default_cache(cache_dir)
    with online(
        url, collection, draws, featurize, cache, generation=generation, beside=beside, last=last_epoch
    ) as source:
        yield source


@contextmanager
def _open_stored_source(
    location: str, collection: str, generation: str | None, beside: str | None, training: dict[str, Any]
) -> "Iterator[Source]":
    from graphkin.cli.training import StoredSource
    from graphkin.store import open_generation
    from graphkin.trainer.feed.positives import select_positives

    workers = os.cpu_count() or 1
    with ExitStack() as stack:
        reader = stack.enter_context(open_generation(location, collection, generation))
        draws = configuration.resolve_config(reader.manifest.kind, **training).draws
        other = None
        if beside is not None:
            name, _, other_generation = beside.partition("@")
            other = StoredSource(
                stack.enter_context(open_generation(location, name, other_generation or None)), draws, workers
            )
        yield select_positives(StoredSource(reader, draws, workers), other)
