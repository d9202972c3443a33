"""What only the trainer and its client raise, beside the errors of `protocol.errors`.

GraphkinError
├── VersionMismatch        server and client do not speak alike          exit 2
├── GenerationChanged      a reply of another generation than asked for  exit 4
├── Closed                 used, or waited for, when it was closed       exit 1
└── Diverged               what is computed is no longer finite          exit 1
"""

from graphkin.protocol.errors import GraphkinError


class VersionMismatch(GraphkinError):
    """The server is of a version that draws or answers differently from what this client knows."""

    exit_code = 2


class GenerationChanged(GraphkinError):
    """A reply is of another generation, or of another draw, than the one that was begun with."""

    exit_code = 4


class Closed(GraphkinError):
    """It was closed, before this call or during it."""


class Diverged(GraphkinError):
    """A loss, a weight or a prediction is not finite."""
