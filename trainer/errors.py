"""Every error the trainer and its client raise on purpose, as one tree.

    TrainerError
    ├── InvalidInput           what was given is wrong                       exit 2
    │   └── Conflict           right in itself, not for this collection      exit 2
    ├── NotFound               no such collection, generation or item        exit 3
    │   └── Deleted            the generation was there and was deleted      exit 3
    ├── VersionMismatch        server and client do not speak alike          exit 2
    ├── GenerationChanged      a reply of another generation than asked for  exit 4
    ├── Damaged                a file is cut short, altered or foreign       exit 4
    ├── Unavailable            the server is away or busy                    exit 4
    ├── Closed                 used, or waited for, when it was closed       exit 1
    └── ServerFault            a reply that no graphkin server should give   exit 1

It is the trainer's own, for the trainer imports no other room; fields and exit codes are those of the other rooms.
"""

from typing import Any, ClassVar


class TrainerError(Exception):
    """An error that says what was given, what was expected and what to do.

    `detail` is one sentence; `given`, `expected` and `hint` are optional. What a server said keeps its words.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, detail: str, *, given: Any = None, expected: str | None = None, hint: str | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.given = given
        self.expected = expected
        self.hint = hint

    def __str__(self) -> str:
        parts = [self.detail]
        if self.given is not None:
            parts.append(f"given: {self.given}")
        if self.expected is not None:
            parts.append(f"expected: {self.expected}")
        if self.hint is not None:
            parts.append(f"hint: {self.hint}")
        return "\n  ".join(parts)


class InvalidInput(TrainerError):
    """What the caller gave is wrong."""

    exit_code = 2


class Conflict(InvalidInput):
    """The request is well formed but does not fit this collection: its kind, no InChIKeys."""


class NotFound(TrainerError):
    """No such collection, generation or item."""

    exit_code = 3


class Deleted(NotFound):
    """The generation was published once and has been deleted since: what was begun with it cannot be continued."""


class VersionMismatch(TrainerError):
    """The server is of a version that draws or answers differently from what this client knows."""

    exit_code = 2


class GenerationChanged(TrainerError):
    """A reply is of another generation, or of another draw, than the one that was begun with."""

    exit_code = 4


class Damaged(TrainerError):
    """A file, here or on the server, is cut short, altered, or of another program or format version."""

    exit_code = 4


class Unavailable(TrainerError):
    """The server could not be reached, broke off, or said that it is busy.

    `retry_after`: seconds the server asked for, None where it did not.
    """

    exit_code = 4

    def __init__(self, detail: str, *, retry_after: float | None = None, **context: Any) -> None:
        super().__init__(detail, **context)
        self.retry_after = retry_after


class Closed(TrainerError):
    """It was closed, before this call or during it."""


class ServerFault(TrainerError):
    """A bug of the server, or something on the way that is no graphkin server."""
