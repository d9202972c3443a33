"""Errors of the trainer, in addition to those of `protocol.errors`.

GraphkinError
└── Diverged    a computed value is no longer finite    exit 1
"""

from graphkin.protocol.errors import GraphkinError


class Diverged(GraphkinError):
    """A loss, a weight or a prediction is not finite."""
