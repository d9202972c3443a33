"""Errors of the trainer, in addition to those of `protocol.errors`.

GraphkinError
└── Diverged    a computed value is no longer finite    exit 1
"""

from graphkin.protocol.errors import GraphkinError

SETTINGS_HINT = (
    "`graphkin pretrain --show-config` prints all settings and their values; change one with --set NAME=VALUE"
)
"""Hint for an invalid setting of a training."""


class Diverged(GraphkinError):
    """A loss, a weight or a prediction is not finite."""

    default_hint = "use a lower learning rate"
