"""Every error graphkin raises on purpose, as one tree. Needs the standard library alone.

    GraphkinError
    ├── InvalidInput                  what was given is wrong                  exit 2   HTTP 422
    │   ├── Conflict                  right in itself, not for this data       exit 2   HTTP 409
    │   ├── Unauthorized              without a key, or with a wrong one       exit 2   HTTP 401
    │   ├── Forbidden                 with a key that is not for this          exit 2   HTTP 403
    │   ├── BadRequest                not even a request of the API            exit 2   HTTP 400
    │   ├── NotAcceptable             not offered in this media type           exit 2   HTTP 406
    │   ├── TooLarge                  a body over the limit                    exit 2   HTTP 413
    │   ├── AddressTooLong            a request line over the limit            exit 2   HTTP 414
    │   ├── HeadersTooLarge           a header, or all, over the limit         exit 2   HTTP 431
    │   └── UnsupportedMediaType      a body of a kind that is not read        exit 2   HTTP 415
    ├── NotFound                      no such collection, generation or item   exit 3   HTTP 404
    │   └── Deleted                   it existed and was deleted               exit 3   HTTP 410
    ├── Unavailable                   not now; perhaps later                   exit 4   HTTP 503 + Retry-After
    │   ├── TooSlow                   a request that does not come in time     exit 4   HTTP 408 + Retry-After
    │   ├── TooManyRequests           over the quota of the key                exit 4   HTTP 429 + Retry-After
    │   └── StoreError                the store cannot do it                   exit 4   HTTP 503 + Retry-After
    │       ├── StoreBusy             another writer, or still building        exit 4   HTTP 503 + Retry-After
    │       └── StoreFormat           foreign or newer files                   exit 4   HTTP 503 + Retry-After
    ├── Damaged                       a file is not what was written           exit 4   HTTP 503
    │   └── StoreDamaged              one of a store's; a StoreFormat, too     exit 4   HTTP 503
    ├── ServerFault                   a bug of the server                      exit 1   HTTP 500
    │   └── InvalidReply              a reply that holds something else        exit 4
    ├── VersionMismatch               server and client do not speak alike     exit 2
    ├── GenerationChanged             a reply of another than was asked for    exit 4
    ├── Closed                        used, or waited for, when it was closed  exit 1
    └── those of `trainer.errors`

The HTTP column is the table in `graphkin/protocol/problems.py`.
"""

from dataclasses import dataclass
from typing import Any, ClassVar


class TruncatedPairsWarning(UserWarning):
    """An answer made of stored pairs lacks those that the top-k limit of the collection truncated."""


class GraphkinError(Exception):
    """An error that says what was given, what was expected and what to do.

    `detail` is one sentence; `given`, `expected` and `hint` are optional and JSON-serialisable.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, detail: str, *, given: Any = None, expected: str | None = None, hint: str | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.given = given
        self.expected = expected
        self.hint = hint

    def __str__(self) -> str:
        return "\n  ".join(self._said())

    @property
    def line(self) -> str:
        """What `str` says, on one line: for an error that is data, in a row of a table."""
        return "; ".join(" ".join(part.split()) for part in self._said())

    def _said(self) -> list[str]:
        named = (("given", self.given), ("expected", self.expected), ("hint", self.hint))
        return [self.detail, *(f"{name}: {value}" for name, value in named if value is not None)]


class InvalidInput(GraphkinError):
    """What the caller gave is wrong: a value out of range, an unparsable structure, a missing column."""

    exit_code = 2


def require(holds: bool, what: str, given: object, expected: str) -> None:
    """Raises `InvalidInput` about a `what` that is not possible unless it `holds`."""
    if not holds:
        raise InvalidInput(f"not a possible {what}", given=given, expected=expected)


class Conflict(InvalidInput):
    """The request is well formed but does not fit this collection: wrong kind, no InChIKeys, another RDKit."""


class BadRequest(InvalidInput):
    """Not even a request of this API: a malformed cursor or JSON, a Host that is not served."""


class Unauthorized(InvalidInput):
    """The server asks for a key, and none was given, or one that opens nothing."""


class Forbidden(InvalidInput):
    """The key that was given is for something else, or for other collections."""


class NotAcceptable(InvalidInput):
    """None of the media types in Accept is offered here."""


class TooLarge(InvalidInput):
    """The request body is over the limit."""


class AddressTooLong(InvalidInput):
    """The request line is over the limit."""


class HeadersTooLarge(InvalidInput):
    """A header of the request, or its whole head, is over the limit."""


class UnsupportedMediaType(InvalidInput):
    """The request body is of a kind that is not read."""


class NotFound(GraphkinError):
    """No such collection, generation or item."""

    exit_code = 3


class Deleted(NotFound):
    """The generation was published once and has been deleted since: what was begun with it cannot be continued."""


class Unavailable(GraphkinError):
    """Not now, and perhaps later: who is asked is away or busy, or broke off.

    `retry_after`: seconds after which to ask again, None where nobody knows.
    """

    exit_code = 4

    def __init__(self, detail: str, *, retry_after: float | None = None, **context: Any) -> None:
        super().__init__(detail, **context)
        self.retry_after = retry_after


class TooSlow(Unavailable):
    """The head or the body of the request was not complete at its deadline."""


class TooManyRequests(Unavailable):
    """The key has used up its quota for now, or the client's address its connections."""


class StoreError(Unavailable):
    """The store cannot do what was asked: disk full, unwritable folder, server away."""


class StoreBusy(StoreError):
    """Try again: another writer holds the collection, or something is still being built.

    `retry_after` is in whole seconds.
    """

    def __init__(self, detail: str, *, retry_after: int = 1, **context: Any) -> None:
        super().__init__(detail, retry_after=retry_after, **context)


class StoreFormat(StoreError):
    """The files are of another format, of a newer schema version, or damaged."""


class Damaged(GraphkinError):
    """A file, here or on a server, is cut short, altered, or of another program or format version.

    Trying again does not help.
    """

    exit_code = 4


@dataclass(frozen=True)
class Damage:
    """One damaged file of a published generation, or, without a generation, of the store itself.

    remedy: the next step, if it is not to restore or to ingest again.
    """

    file: str
    problem: str
    collection: str | None = None
    generation: str | None = None
    remedy: str | None = None


class StoreDamaged(Damaged, StoreFormat):
    """A file of a store is not what was written. `damage` says which, and how."""

    def __init__(self, damage: Damage) -> None:
        if damage.generation is None:
            whose = ""
            hint = "restore the store from a backup, or ingest again into a new one"
        else:
            whose = f"generation {damage.generation[:12]} of {damage.collection!r} is damaged: "
            hint = "`graphkin verify` tells all that is; delete this generation and ingest again, or restore a backup"
        super().__init__(f"{whose}{damage.file}: {damage.problem}", given=damage.file, hint=damage.remedy or hint)
        self.damage = damage

    def __reduce__(self) -> tuple[type["StoreDamaged"], tuple[Damage]]:
        return type(self), (self.damage,)


class ServerFault(GraphkinError):
    """A bug of the server, or something on the way that is no graphkin server."""


class InvalidReply(ServerFault):
    """A reply does not hold what was requested: a faulty server, or something that alters replies on the way.

    Trying again does not help.
    """

    exit_code = 4

    @classmethod
    def from_problem(
        cls, reply: str, problem: str, *, given: Any = None, expected: str | None = None, hint: str | None = None
    ) -> "InvalidReply":
        """Name the reply by the path of its request, and the problem with it."""
        return cls(
            f"the reply to {reply} is not what was requested: {problem}",
            given=given,
            expected=expected,
            hint=hint or "nothing between client and server may alter replies; without a proxy, the server is at fault",
        )


class VersionMismatch(GraphkinError):
    """The server is of a version that draws or answers differently from what this client knows."""

    exit_code = 2


class GenerationChanged(GraphkinError):
    """A reply is of another generation, or of another draw, than the one that was begun with."""

    exit_code = 4


class Closed(GraphkinError):
    """It was closed, before this call or during it."""
