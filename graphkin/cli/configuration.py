"""The configuration of a training run, from a preset, options, a file (--config) and single settings (--set)."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from graphkin.cli.help import option
from graphkin.protocol.values import MAX_SHARED

if TYPE_CHECKING:
    from graphkin.trainer.pretraining.config import PretrainConfig

Command = TypeVar("Command", bound=Callable[..., Any])

_SETTINGS = {
    "encoder": "model.encoder",
    "features": "model.features",
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
"""Names of settings, by the option that sets them."""

_negatives = option(
    "--negatives",
    type=click.IntRange(0, MAX_SHARED),
    panel="Sampling",
    help="Number of negatives that a batch shares, or 0 for first-order negatives. [default: 255 with hgc-ho]",
)
_file = option(
    "--config",
    "file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    panel="Training",
    help="TOML file of settings, as `graphkin pretrain --show-config` prints them. Options on the command line "
    "override it.",
)
_assignments = option(
    "--set",
    "assignments",
    multiple=True,
    metavar="NAME=VALUE",
    panel="Training",
    help="Setting, such as score=softmax or policy.k=8. It overrides options and --config. Repeat it for several.",
)


def settings(command: Command) -> Command:
    """Add the options --negatives, --config and --set."""
    return _negatives(_file(_assignments(command)))


def resolve_config(
    kind: str, encoder: str | None, features: str, file: Path | None, assignments: tuple[str, ...], **options: Any
) -> "PretrainConfig":
    """Return the configuration of a training run.

    The strategy, the preset and the options, with their defaults, give a first configuration. Then the settings of the
    file override it, then again the options that are on the command line, and then --set.

    Args:
        kind: Kind of the items.
        encoder: Name of the encoder; None for that of the preset.
        features: Name of the set of features.
        file: A file of settings in TOML, or None.
        assignments: The values of --set, such as `policy.k=8`.
        **options: The other options of the command that are settings, with their values or defaults.

    Raises:
        InvalidInput: If a setting does not exist, or its value is invalid.
    """
    from graphkin.trainer.pretraining.config import Model, PretrainConfig, published_encoder

    model = Model.from_kind(kind, encoder or published_encoder(kind, options["preset"]), features)
    config = PretrainConfig.from_strategy(kind=kind, model=model, **options)
    if file is None and not assignments:
        return config  # The import below needs pydantic, which offline training may lack.
    from graphkin.trainer.pretraining.settings import assigned, changed, read_settings

    overrides = (
        []
        if file is None
        else [*read_settings(file), *_typed_settings({"encoder": encoder, "features": features, **options})]
    )
    return changed(config, [*overrides, *map(assigned, assignments)])


def _typed_settings(options: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return the names and values of the settings whose options are on the command line. They override the file."""
    source = click.get_current_context().get_parameter_source
    typed = {name: value for name, value in options.items() if source(name) is ParameterSource.COMMANDLINE}
    return [(setting, typed[name]) for name, setting in _SETTINGS.items() if name in typed]
