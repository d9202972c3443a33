"""`graphkin pretrain`: pre-train an encoder from a server or from an offline folder."""

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphkin.cli import configuration, options
from graphkin.cli.help import command, option
from graphkin.cli.output import note, print_json
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.values import MAX_SEED
from graphkin.trainer.pretraining.loggers import LOGGERS
from graphkin.trainer.strategy import ENCODERS, LEARNED_BY, POSITIVES, PRESETS, STRATEGIES

if TYPE_CHECKING:
    from graphkin.trainer.features.corpus import Corpus
    from graphkin.trainer.feed.source import Source
    from graphkin.trainer.feed.tables import Tables
    from graphkin.trainer.pretraining.config import PretrainConfig

_NO_BF16 = (
    "warning: this processor has no bf16 arithmetic: --bf16 is emulated, which took 4 to 7 times as long on such; "
    "leave it out"
)


@command(
    examples=[
        (
            "Pre-train from a server",
            "graphkin pretrain --api http://127.0.0.1:8000 --collection m --strategy hgc-ho --output runs/hgc",
        ),
        (
            "Pre-train from a folder of graphkin fetch, on a GPU",
            "graphkin pretrain --offline data --strategy hgc-ho --device cuda --output runs/hgc",
        ),
        (
            "Continue with an encoder of another run or program",
            "graphkin pretrain --offline data --strategy hgc-ho --checkpoint runs/imported --output runs/more",
        ),
        (
            "Print all settings of a strategy",
            "graphkin pretrain --strategy hgc-ho --show-config",
        ),
        (
            "Train with two processes as one run",
            "torchrun --nproc-per-node 2 -m graphkin pretrain --offline data --strategy hgc-ho --output runs/hgc",
        ),
    ]
)
@option("--api", "url", metavar="URL", panel="Collection", help="URL of the server, as `graphkin serve` prints it.")
@option(
    "--collection",
    metavar="NAME",
    panel="Collection",
    help=f"Collection on the server. [default: ${options.COLLECTION_VARIABLE}]",
)
@options.generation
@option(
    "--offline",
    type=click.Path(path_type=Path),
    metavar="DIR",
    panel="Collection",
    help="Folder written by `graphkin fetch`, instead of a server.",
)
@option("--strategy", type=click.Choice(STRATEGIES), required=True, panel="Training", help="Pre-training strategy.")
@option(
    "--encoder",
    metavar="NAME",
    show_default="gin; nodes with --preset paper or rc: gin-gcc",
    panel="Training",
    help=f"Encoder: {', '.join(ENCODERS)}, gin-gcc for nodes, or one of an installed package. 5 layers of width 300 "
    "(nodes: 64; gin-gcc: 4 layers).",
)
@options.features
@option(
    "--checkpoint",
    type=click.Path(path_type=Path),
    metavar="DIR",
    panel="Training",
    help="Folder of an encoder to start from, of `graphkin pretrain`, `graphkin finetune --save-encoder` or "
    "`graphkin weights import`. [default: random weights]",
)
@option(
    "--preset",
    type=click.Choice(PRESETS),
    default="default",
    panel="Training",
    help="Settings to start from: graphkin's, the paper's, or those of the authors' code (rc).",
)
@option(
    "--batch-size",
    type=click.IntRange(2),
    panel="Training",
    help="Anchors per step. [default: 256; graphs, nodes: 32]",
)
@option("--epochs", type=click.IntRange(1), panel="Training", help="Passes over the anchors. [default: as published]")
@option("--max-steps", type=click.IntRange(1), panel="Training", help="Number of steps, instead of --epochs.")
@option("--limit", type=click.IntRange(2), panel="Training", help="Largest number of anchors per epoch.")
@option("--seed", type=click.IntRange(0, MAX_SEED), default=0, panel="Training", help="Random seed of the run.")
@option(
    "--mask-neighbors", is_flag=True, panel="Sampling", help="Do not use the neighbors of an anchor as its negatives."
)
@option(
    "--queue",
    type=click.IntRange(2),
    panel="Sampling",
    help="Number of negatives in the queue, for nodes. [default: 256; GCC: 16384]",
)
@option(
    "--bf16",
    is_flag=True,
    panel="Execution",
    help="Autocast to bfloat16. Losses stay in float32. Slower on processors without bfloat16 arithmetic.",
)
@option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", panel="Execution", help="Processor that trains.")
@option(
    "--capture/--no-capture", default=True, panel="Execution", help="Replay steps as CUDA graphs. No effect on a CPU."
)
@option(
    "--output", type=click.Path(path_type=Path), metavar="DIR", panel="Output", help="Folder of the run. [required]"
)
@option("--resume", is_flag=True, panel="Output", help="Continue the run in --output, if there is one.")
@option(
    "--checkpoint-steps", type=click.IntRange(1), default=1000, panel="Output", help="Steps between two checkpoints."
)
@option(
    "--logger",
    type=click.Choice(LOGGERS),
    show_default="tensorboard, if it is installed",
    panel="Output",
    help="Program that shows the curves, besides metrics.jsonl. wandb is offline unless WANDB_MODE is set. mlflow logs "
    "to MLFLOW_TRACKING_URI, or else to a database in the folder of the run.",
)
@option(
    "--positives",
    type=click.Choice(POSITIVES),
    default="exact",
    panel="Sampling",
    help="Source of the positives. exact: the collection; window: the collection of `--beside`; shuffled: positives of "
    "another anchor; size-matched: items of similar size; augmented: augmented views.",
)
@options.other_collection
@option(
    "--epochs-from",
    metavar="URL",
    panel="Sampling",
    help="Folder or URL with the positives of `graphkin epochs`, instead of the server's.",
)
@options.cache_dir
@configuration.settings
@option(
    "--show-config", is_flag=True, panel="Output", help="Print all settings as TOML, for --config, without training."
)
@options.as_json
def pretrain(
    url: str | None,
    collection: str | None,
    generation: str | None,
    offline: Path | None,
    beside: str | None,
    epochs_from: str | None,
    checkpoint: Path | None,
    device: str,
    capture: bool,
    output: Path | None,
    resume: bool,
    checkpoint_steps: int,
    logger: Any,
    cache_dir: Path | None,
    show_config: bool,
    as_json: bool,
    **training: Any,
) -> None:
    """Pre-train an encoder on a collection.

    The folder of the run holds its options, the newest checkpoint (weights as safetensors), metrics.jsonl, and the logs
    of --logger. Warm-up and decay span --max-steps, or else --epochs. --resume needs the options
    of the first start, and uses the same generation.

    --set changes only the named setting: --encoder gcn also changes the length of the walks, --set encoder=gcn does
    not. --show-config without a source shows the settings for molecules (gcc: for nodes).

    Started by torchrun, several processes train one run. The batch, its negatives, batch normalization and the choice
    of AdaM span all processes.
    """
    if url is not None and collection is None:
        collection = os.environ.get(options.COLLECTION_VARIABLE)
    if show_config:
        _print_config(offline, url, collection, generation, training)
        return
    _require_one_source(url, collection, generation, offline, beside or epochs_from)
    if output is None:
        raise InvalidInput(
            "`graphkin pretrain` needs --output", expected="the folder of the run", hint="add `--output DIR`"
        )
    from graphkin.cli.training_progress import training_progress
    from graphkin.trainer.model.device import computes_bf16
    from graphkin.trainer.model.ranks import process_group
    from graphkin.trainer.pretraining.pretrain import pretrain as train
    from graphkin.trainer.pretraining.pretrained import load_encoder

    if resume and generation is None:
        generation = _run_generation(output, "generation", collection)
    if resume and beside is not None and "@" not in beside:
        beside_generation = _run_generation(output, "beside", beside)
        beside = beside if beside_generation is None else f"{beside}@{beside_generation}"
    config = configuration.resolve_config(_find_kind(offline, url, collection, generation), **training)
    start = None if checkpoint is None else load_encoder(checkpoint)
    with process_group(device) as (ranks, torch_device):
        if config.bf16 and ranks.rank == 0 and not computes_bf16(torch_device):
            note(_NO_BF16)
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
                    logger=logger,
                    start=start,
                )
        except KeyboardInterrupt:
            if ranks.rank == 0:
                note(f"stopped; --resume continues from {_newest_checkpoint(output) or 'the beginning'}")
            raise
    if ranks.rank == 0:
        _print_result(output, as_json)


def _print_result(output: Path, as_json: bool) -> None:
    checkpoint = str(_newest_checkpoint(output))
    if as_json:
        print_json({"output": str(output), "checkpoint": checkpoint})
    else:
        click.echo(f"{checkpoint}: done")


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
    """Raise `InvalidInput` unless either a server or an offline folder is given.

    Args:
        url: Value of --api.
        collection: Value of --collection.
        generation: Value of --generation.
        offline: Value of --offline.
        server_option: Value of another option that needs a server, such as --beside.
    """
    online = url is not None and collection is not None
    if online == (offline is not None) or (offline and (url or collection or generation or server_option)):
        raise InvalidInput(
            "`graphkin pretrain` needs a server or a folder",
            expected="either --api and --collection, or --offline without options of the server",
            hint="add `--api URL --collection NAME` or `--offline DIR`",
        )


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
    from graphkin.trainer.feed.online import default_cache, open_online

    assert url is not None
    assert collection is not None
    return open_online(
        url,
        collection,
        config.draws,
        partial(_featurize, name=config.model.features),
        default_cache(cache_dir),
        generation=generation,
        beside=beside,
        last=last_epoch,
        epochs=None if epochs_from is None else EpochFolder(epochs_from),
        features=config.model.features,
    )


def _featurize(collection: "Tables", name: str) -> "Corpus":
    from graphkin.trainer.feed.kinds import features

    note(f"featurizing {collection.size:,} items, once for this generation")
    return features(collection, os.cpu_count() or 1, name)


def _newest_checkpoint(output: Path) -> Path | None:
    from graphkin.trainer.pretraining.checkpoint import newest_checkpoint

    return newest_checkpoint(output)
