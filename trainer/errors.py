"""What only the trainer raises, beside the errors of `protocol.errors`.

GraphkinError
└── Diverged    what is computed is no longer finite    exit 1
"""

from graphkin.protocol.errors import GraphkinError


class Diverged(GraphkinError):
    """A loss, a weight or a prediction is not finite."""
