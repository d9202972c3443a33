"""`graphkin pretrain`: pre-train an encoder from a server or from an offline folder."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphkin.cli import configuration, options
from graphkin.protocol.values import MAX_SEED
from graphkin.trainer.strategy import ENCODERS, LEARNED_BY, POSITIVES, PRESETS, STRATEGIES

if TYPE_CHECKING:
    from graphkin.client import Collection
    from graphkin.trainer.features.corpus import Corpus
    from graphkin.trainer.feed.source import Source
    from graphkin.trainer.pretraining.config import PretrainConfig

_EPILOG = """\b
Started by torchrun, several processes train as one: the batch, its negatives,
batch normalisation and AdaM's choice are those of all of them together.
  torchrun --nproc-per-node 2 -m graphkin pretrain ...
"""


_NO_BF16 = (
    "warning: this processor has no bf16 arithmetic: --bf16 is emulated, which took 4 to 7 times as long on such; "
    "leave it out"
)


@click.command(epilog=_EPILOG)
@click.option("--api", "url", metavar="URL", help="Server, as `graphkin serve` prints it.")
@click.option(
    "--collection", metavar="NAME", help=f"Collection on that server.  [default: ${options.COLLECTION_VARIABLE}]"
)
@options.generation
@click.option(
    "--offline",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder that `graphkin fetch` wrote, instead of a server.",
)
@click.option("--strategy", type=click.Choice(STRATEGIES), required=True, help="What is learned from.")
@click.option(
    "--encoder", type=click.Choice(ENCODERS), default="gin", help="Kind of encoder, 5 layers of width 300; nodes: 64."
)
@click.option("--preset", type=click.Choice(PRESETS), default="default", help="Ours, the paper's or its authors' code.")
@click.option("--batch-size", type=click.IntRange(2), help="Anchors a step.  [default: 256; graphs, nodes: 32]")
@click.option("--epochs", type=click.IntRange(1), help="Passes over the anchors.  [default: as published]")
@click.option("--max-steps", type=click.IntRange(1), help="Steps to train for, however many epochs that takes.")
@click.option("--limit", type=click.IntRange(2), help="Anchors an epoch has at most: the first in its order.")
@click.option("--seed", type=click.IntRange(0, MAX_SEED), default=0, help="Seed of everything that is random.")
@click.option("--mask-neighbors", is_flag=True, help="Neighbours of an anchor are not its negatives.")
@click.option(
    "--queue", type=click.IntRange(2), help="Negatives that nodes are told apart from.  [default: 256; GCC: 16384]"
)
@click.option(
    "--bf16", is_flag=True, help="Autocast to bfloat16; losses stay in float32. Slower where it is no arithmetic."
)
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", help="Where to train.")
@click.option("--capture/--no-capture", default=True, help="Replay steps as CUDA graphs. A CPU never does.")
@click.option("--output", type=click.Path(path_type=Path), metavar="DIR", help="Folder of the run.  [required]")
@click.option("--resume", is_flag=True, help="Continue the run in that folder, if there is one.")
@click.option("--checkpoint-steps", type=click.IntRange(1), default=1000, help="Steps from checkpoint to checkpoint.")
@click.option(
    "--positives",
    type=click.Choice(POSITIVES),
    default="exact",
    help="Whose: of the collection, of the one --beside, another anchor's, of like size, damaged copies.",
)
@options.other_collection
@click.option(
    "--epochs-from", metavar="URL", help="Read positives that `graphkin epochs` wrote, instead of asking the server."
)
@options.cache_dir
@configuration.settings
@click.option("--show-config", is_flag=True, help="Print all settings in TOML, for --config, and train nothing.")
def pretrain(
    url: str | None,
    collection: str | None,
    generation: str | None,
    offline: Path | None,
    beside: str | None,
    epochs_from: str | None,
    device: str,
    capture: bool,
    output: Path | None,
    resume: bool,
    checkpoint_steps: int,
    cache_dir: Path | None,
    show_config: bool,
    **training: Any,
) -> None:
    """Pre-train an encoder on a collection.

    The run in --output holds its options, the newest checkpoint (weights as safetensors), metrics.jsonl, and logs for
    TensorBoard where that is installed. Warm-up and decay span --max-steps if given, else the epochs. A continued run
    must have the options it was started with, and keeps its generation.

    --set changes what it names and nothing else: --encoder gcn also walks farther, --set encoder=gcn does not.
    --show-config needs no items, and is of molecules (gcc: nodes) unless it is told where they are.
    """
    if url is not None and collection is None:
        collection = os.environ.get(options.COLLECTION_VARIABLE)
    if show_config:
        _print_config(offline, url, collection, generation, training)
        return
    _require_one_source(url, collection, generation, offline, beside or epochs_from)
    if output is None:
        raise click.MissingParameter(param_type="option", param_hint="--output")
    from graphkin.cli.training_progress import training_progress
    from graphkin.trainer.model.device import computes_bf16
    from graphkin.trainer.model.ranks import process_group
    from graphkin.trainer.pretraining.pretrain import pretrain as train

    if resume and generation is None:
        generation = _run_generation(output, "generation", collection)
    if resume and beside is not None and "@" not in beside:
        beside_generation = _run_generation(output, "beside", beside)
        beside = beside if beside_generation is None else f"{beside}@{beside_generation}"
    config = configuration.resolve_config(_find_kind(offline, url, collection, generation), **training)
    with process_group(device) as (ranks, torch_device):
        if config.bf16 and ranks.rank == 0 and not computes_bf16(torch_device):
            click.echo(_NO_BF16, err=True)
        try:
            with (
                _open_source(config, offline, url, collection, generation, beside, epochs_from, cache_dir) as source,
                training_progress() as report,
            ):
                train(
                    config,
                    source,
                    output,
                    device=torch_device,
                    resume=resume,
                    checkpoint_steps=checkpoint_steps,
                    report=report,
                    ranks=ranks,
                    capture=capture,
                )
        except KeyboardInterrupt:
            if ranks.rank == 0:
                click.echo(
                    f"stopped; --resume continues from {_newest_checkpoint(output) or 'the beginning'}", err=True
                )
            raise
    if ranks.rank == 0:
        click.echo(f"{_newest_checkpoint(output)}: done")


def _print_config(
    offline: Path | None, url: str | None, collection: str | None, generation: str | None, training: dict[str, Any]
) -> None:
    from graphkin.trainer.pretraining.settings import as_toml

    if offline or url or collection:
        _require_one_source(url, collection, generation, offline, None)
        kind = _find_kind(offline, url, collection, generation)
    else:
        kind = next(kind for kind, strategies in LEARNED_BY.items() if training["strategy"] in strategies)
    click.echo(as_toml(configuration.resolve_config(kind, **training)), nl=False)


def _require_one_source(
    url: str | None, collection: str | None, generation: str | None, offline: Path | None, server_option: str | None
) -> None:
    """Raise `UsageError` unless either a server or an offline folder is given.

    Args:
        url: Value of --api.
        collection: Value of --collection.
        generation: Value of --generation.
        offline: Value of --offline.
        server_option: Value of another option that needs a server, such as --beside.
    """
    online = url is not None and collection is not None
    if online == (offline is not None) or (offline and (url or collection or generation or server_option)):
        raise click.UsageError("give --api URL and --collection NAME, or --offline DIR alone")


def _run_generation(output: Path, part: str, collection: str | None) -> str | None:
    """Return the id of a generation that an earlier run used, or None if there is no run or it used another collection.

    Args:
        output: Folder of the run.
        part: "generation" for the items of the run, "beside" for the generation of --beside.
        collection: Name of the collection.
    """
    from graphkin.protocol.errors import NotFound
    from graphkin.trainer.pretraining.checkpoint import read_run

    try:
        generation = read_run(output).get(part, {})
    except NotFound:
        return None
    return generation.get("id") if generation.get("collection") == collection else None


def _find_kind(offline: Path | None, url: str | None, collection: str | None, generation: str | None) -> str:
    """Return the kind of the items to train on, from the offline folder or the server."""

    if offline is not None:
        from graphkin.trainer.feed.offline import read_generation

        return read_generation(offline).kind
    from graphkin.client import Graphkin

    assert url is not None
    assert collection is not None
    with Graphkin(url) as server:
        return server.collection(collection, generation).kind


def _open_source(
    config: "PretrainConfig",
    offline: Path | None,
    url: str | None,
    collection: str | None,
    generation: str | None,
    beside: str | None,
    epochs_from: str | None,
    cache_dir: Path | None,
) -> "Source":
    last_epoch = None if config.max_steps else config.epochs - 1
    if offline is not None:
        from graphkin.trainer.feed.offline import OfflineSource

        return OfflineSource(offline, config.draws, last=last_epoch)
    from graphkin.trainer.feed.epochs import EpochFolder
    from graphkin.trainer.feed.online import default_cache, online

    assert url is not None
    assert collection is not None
    return online(
        url,
        collection,
        config.draws,
        _featurize,
        default_cache(cache_dir),
        generation=generation,
        beside=beside,
        last=last_epoch,
        epochs=None if epochs_from is None else EpochFolder(epochs_from),
    )


def _featurize(collection: "Collection") -> "Corpus":
    from graphkin.trainer.feed.kinds import features

    click.echo(f"featurising {collection.size:,} items, once for this generation", err=True)
    return features(collection, workers=os.cpu_count() or 1)


def _newest_checkpoint(output: Path) -> Path | None:
    from graphkin.trainer.pretraining.checkpoint import newest_checkpoint

    return newest_checkpoint(output)
