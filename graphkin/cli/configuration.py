"""The configuration of a training run: from a preset, from options, from a file, and from single settings."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from graphkin.protocol.values import MAX_SHARED

if TYPE_CHECKING:
    from graphkin.trainer.pretraining.config import PretrainConfig

Command = TypeVar("Command", bound=Callable[..., Any])

_SETTINGS = {
    "encoder": "model.encoder",
    "mask_neighbors": "contrast.mask_neighbors",
    "queue": "contrast.momentum.queue",
    "batch_size": "draws.batch_size",
    "negatives": "draws.negatives",
    "seed": "draws.seed",
    "epochs": "epochs",
    "max_steps": "max_steps",
    "limit": "limit",
    "bf16": "bf16",
}
"""The setting of each option that has one."""

_negatives = click.option(
    "--negatives",
    type=click.IntRange(0, MAX_SHARED),
    help="Negatives that a batch shares; 0: those of first order.  [default: 255 with hgc-ho]",
)
_file = click.option(
    "--config",
    "file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Settings in TOML, as `graphkin pretrain --show-config` prints them. Options that are typed go before them.",
)
_assignments = click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="NAME=VALUE",
    help="One setting by name, over all others, such as score=softmax or policy.k=8; may be repeated.",
)


def settings(command: Command) -> Command:
    """Add --negatives, --config and --set: settings of a run without an option of their own."""
    return _negatives(_file(_assignments(command)))


def resolve_config(
    kind: str, encoder: Any, file: Path | None, assignments: tuple[str, ...], **options: Any
) -> "PretrainConfig":
    """Return the configuration of a run.

    The strategy, the preset and the other options give the base. The file overrides it, then the options that the user
    typed, then --set.

    Args:
        kind: Kind of the items.
        encoder: Name of the encoder.
        file: A file of settings in TOML, or None.
        assignments: The values of --set, such as `policy.k=8`.
        **options: The other options of the command.

    Raises:
        InvalidInput: If a setting does not exist, or its value is invalid.
    """
    from graphkin.trainer.pretraining.config import Model, PretrainConfig

    config = PretrainConfig.from_strategy(kind=kind, model=Model.from_kind(kind, encoder), **options)
    if file is None and not assignments:
        return config  # settings.py needs pydantic, which machines that train offline may lack
    from graphkin.trainer.pretraining.settings import assigned, changed, read_settings

    settings = [] if file is None else [*read_settings(file), *_typed_settings({"encoder": encoder, **options})]
    return changed(config, [*settings, *map(assigned, assignments)])


def _typed_settings(options: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return the settings of the options that the user typed. They override a file. Defaults do not."""
    source = click.get_current_context().get_parameter_source
    typed = {name: value for name, value in options.items() if source(name) is ParameterSource.COMMANDLINE}
    return [(setting, typed[name]) for name, setting in _SETTINGS.items() if name in typed]
