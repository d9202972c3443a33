"""`graphkin fetch`: everything that training needs in one folder, for machines without a network."""

import os
from functools import partial
from pathlib import Path
from typing import Any

import click

from graphkin import configuration, options
from graphkin.trainer.strategy import ENCODERS, POSITIVES, PRESETS, STRATEGIES


@click.command()
@click.option("--api", "url", metavar="URL", required=True, help="Server, as `graphkin serve` prints it.")
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
@options.beside
@options.cache_dir
@configuration.settings
def fetch(
    url: str,
    collection: str,
    generation: str | None,
    beside: str | None,
    epochs: int,
    output: Path,
    cache_dir: Path | None,
    **trained: Any,
) -> None:
    """Write features, positives and negatives into a folder that `graphkin pretrain --offline` trains from.

    What --config and --set say counts as far as it is about what is drawn; give both commands the same.
    """
    from graphkin.client import Graphkin
    from graphkin.output import whole_folder
    from graphkin.progress import terminal_progress
    from graphkin.trainer.feed.kinds import features
    from graphkin.trainer.feed.offline import write_offline
    from graphkin.trainer.feed.online import default_cache, online

    with Graphkin(url) as server:
        kind = server.collection(collection, generation).kind
    draws = configuration.configuration(kind, **trained).draws
    parallel, cache = partial(features, workers=os.cpu_count() or 1), default_cache(cache_dir)
    with (
        whole_folder(output) as folder,
        online(
            url, collection, draws, parallel, cache, generation=generation, beside=beside, last=epochs - 1
        ) as source,
        terminal_progress().stage("fetching", epochs, "epochs") as advance,
    ):
        write_offline(source, epochs, folder, advance)
    size = sum(file.stat().st_size for file in output.iterdir())
    click.echo(f"{output}: {source.generation.size:,} items, {epochs} epochs, {size / 2**20:.1f} MiB")
