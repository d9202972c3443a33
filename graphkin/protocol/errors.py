"""The exceptions of graphkin. Depends only on the standard library.

    GraphkinError
    ├── InvalidInput                  an argument or input is invalid          exit 2   HTTP 422
    │   ├── Conflict                  valid, but not for this collection       exit 2   HTTP 409
    │   ├── Unauthorized              the key is missing or invalid            exit 2   HTTP 401
    │   ├── Forbidden                 the key lacks the permission             exit 2   HTTP 403
    │   ├── BadRequest                a malformed request                      exit 2   HTTP 400
    │   ├── NotAcceptable             the media type is not available          exit 2   HTTP 406
    │   ├── TooLarge                  the body exceeds the limit               exit 2   HTTP 413
    │   ├── AddressTooLong            the request line exceeds the limit       exit 2   HTTP 414
    │   ├── HeadersTooLarge           a header or the head exceeds the limit   exit 2   HTTP 431
    │   └── UnsupportedMediaType      the body's media type is not supported   exit 2   HTTP 415
    ├── NotFound                      no such collection, generation or item   exit 3   HTTP 404
    │   └── Deleted                   it existed and was deleted               exit 3   HTTP 410
    ├── Unavailable                   a temporary failure                      exit 4   HTTP 503 + Retry-After
    │   ├── TooSlow                   the request did not arrive in time       exit 4   HTTP 408 + Retry-After
    │   ├── TooManyRequests           the quota of the key is exhausted        exit 4   HTTP 429 + Retry-After
    │   └── StoreError                the store failed                         exit 4   HTTP 503 + Retry-After
    │       ├── StoreBusy             another writer, or work in progress      exit 4   HTTP 503 + Retry-After
    │       └── StoreFormat           foreign or newer files                   exit 4   HTTP 503 + Retry-After
    ├── Damaged                       a file was altered or cut short          exit 4   HTTP 503
    │   └── StoreDamaged              a file of a store; also a StoreFormat    exit 4   HTTP 503
    ├── ServerFault                   a bug in the server                      exit 1   HTTP 500
    │   └── InvalidReply              a reply with unexpected content          exit 4
    ├── VersionMismatch               server and client are incompatible       exit 2
    ├── GenerationChanged             a reply of another generation            exit 4
    ├── Closed                        the connection was closed                exit 1
    └── the errors of training, in `trainer.errors`

The HTTP column is the table in `graphkin/protocol/problems.py`.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, ClassVar


class TruncatedPairsWarning(UserWarning):
    """A result computed from stored pairs lacks pairs that the top-k limit of the collection truncated."""


class GraphkinError(Exception):
    """Base class of all errors of graphkin.

    Attributes:
        exit_code: Exit code of a command that fails with the error.
        default_hint: The next step after every error of the class, or None if it depends on the case.
        detail: The problem in one sentence.
        given: The offending value, JSON-serializable, or None.
        expected: The accepted values, or None.
        hint: The next step, or None.
    """

    exit_code: ClassVar[int] = 1
    default_hint: ClassVar[str | None] = None

    def __init__(self, detail: str, *, given: Any = None, expected: str | None = None, hint: str | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.given = given
        self.expected = expected
        self.hint = self.default_hint if hint is None else hint

    def __str__(self) -> str:
        return "\n  ".join(self._parts())

    @property
    def line(self) -> str:
        """The message of `str` on one line, for an error that is stored in a table."""
        return "; ".join(" ".join(part.split()) for part in self._parts())

    def _parts(self) -> list[str]:
        context = (("given", self.given), ("expected", self.expected), ("hint", self.hint))
        return [self.detail, *(f"{name}: {_as_text(value)}" for name, value in context if value is not None)]


def _as_text(value: Any) -> str:
    """Return a value as a message shows it: a text as it is, a list or an object as JSON."""
    if isinstance(value, list | tuple | dict | bool):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


class InvalidInput(GraphkinError):
    """An argument or input is invalid: a value out of range, an unparsable structure, a missing column."""

    exit_code = 2


def require(condition: bool, subject: str, given: object, expected: str, hint: str) -> None:
    """Check a condition on an argument.

    Args:
        condition: The condition.
        subject: The kind of value in the error, such as "threshold".
        given: The value.
        expected: The accepted values.
        hint: The next step.

    Raises:
        InvalidInput: The condition is false.
    """
    if not condition:
        raise InvalidInput(f"invalid {subject}", given=given, expected=expected, hint=hint)


def unknown_file_system(reason: object, url: str, expected: str) -> InvalidInput:
    """Return the error for a URL whose file system is not installed.

    Args:
        reason: The error message of fsspec.
        url: The URL without credentials.
        expected: The accepted locations.

    Returns:
        The error, to be raised.
    """
    return InvalidInput(
        f"this kind of URL cannot be opened: {reason}",
        given=url,
        expected=f"{expected}, or another URL that fsspec supports",
        hint="check the scheme of the URL, and install the package of its file system: s3fs, gcsfs or adlfs",
    )


def suggest(name: str, choices: Iterable[str], otherwise: str, form: str = "{}") -> str:
    """Return the hint of an error for an unknown name.

    Args:
        name: The unknown name.
        choices: The known names.
        otherwise: The hint if no choice is similar.
        form: How the hint shows a choice, as a format with one field.

    Returns:
        A question with the most similar choice, or `otherwise`.
    """
    matches = get_close_matches(name, list(choices), 1)
    return f"did you mean {form.format(matches[0])}?" if matches else otherwise


def install_hint(extra: str) -> str:
    """Return the hint of an error for a package that is not installed.

    Args:
        extra: The extra of graphkin that installs the package.

    Returns:
        The command that installs the extra, in a clone and from an index.
    """
    return (
        f"install the extra {extra}: pip install '.[{extra}]' in a clone of the repository, or "
        f"pip install 'graphkin[{extra}]' from an index that has graphkin"
    )


@contextmanager
def require_extra(extra: str, purpose: str) -> Iterator[None]:
    """Raise `InvalidInput` if an import in the `with` block fails, because an extra is not installed.

    Args:
        extra: The extra of graphkin that installs the package.
        purpose: Subject and verb of the message, such as "stores in Neo4j need".

    Yields:
        None.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise InvalidInput(
            f"{purpose} the package {error.name}, which is not installed",
            given=str(error.name),
            expected=f"the packages of the extra {extra}",
            hint=install_hint(extra),
        ) from error


@contextmanager
def require_package(package: str, purpose: str) -> Iterator[None]:
    """Raise `InvalidInput` if an import in the `with` block fails, because an optional package is not installed.

    Args:
        package: Name of the package, which no extra installs.
        purpose: Subject and verb of the message, such as "data frames need".

    Yields:
        None.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise InvalidInput(
            f"{purpose} the package {package}, which is not installed",
            given=str(error.name),
            expected=f"the package {package}",
            hint=f"pip install {package}",
        ) from error


class Conflict(InvalidInput):
    """The request is well formed but does not fit this collection: wrong kind, no InChIKeys, another RDKit version."""


class BadRequest(InvalidInput):
    """The request is malformed: an invalid cursor, invalid JSON or an unknown Host."""


class Unauthorized(InvalidInput):
    """The server requires a key, and the request has none or an invalid one."""


class Forbidden(InvalidInput):
    """The key lacks the permission for this request or this collection."""


class NotAcceptable(InvalidInput):
    """None of the media types in Accept is available."""


class TooLarge(InvalidInput):
    """The request body exceeds the limit."""


class AddressTooLong(InvalidInput):
    """The request line exceeds the limit."""


class HeadersTooLarge(InvalidInput):
    """A header of the request, or its whole head, exceeds the limit."""


class UnsupportedMediaType(InvalidInput):
    """The media type of the request body is not supported."""


class NotFound(GraphkinError):
    """There is no such collection, generation or item."""

    exit_code = 3


class Deleted(NotFound):
    """The generation was deleted after its publication. Running reads of it cannot continue."""

    default_hint = "name no generation to read the current one; `graphkin info` lists the generations that are left"


class Unavailable(GraphkinError):
    """A temporary failure: the server or store is unreachable or busy, or the connection was lost.

    Attributes:
        retry_after: Seconds after which to retry, or None if unknown.
    """

    exit_code = 4

    def __init__(self, detail: str, *, retry_after: float | None = None, **context: Any) -> None:
        super().__init__(detail, **context)
        self.retry_after = retry_after
        if self.hint is None and retry_after is not None:
            self.hint = f"try again in {retry_after:g} s"


class TooSlow(Unavailable):
    """The head or the body of the request was incomplete at its deadline."""

    default_hint = (
        "send the request at once; GRAPHKIN_HEAD_SECONDS and GRAPHKIN_BODY_SECONDS set the server's deadlines"
    )


class TooManyRequests(Unavailable):
    """The quota of the key is exhausted, or the client's address has too many connections."""


class StoreError(Unavailable):
    """The store cannot perform the operation: disk full, folder not writable, server unreachable."""


class StoreBusy(StoreError):
    """Another writer holds the collection, or a computation is in progress. `retry_after` is in whole seconds."""

    def __init__(self, detail: str, *, retry_after: int = 1, **context: Any) -> None:
        super().__init__(detail, retry_after=retry_after, **context)


class StoreFormat(StoreError):
    """The files have another format or a newer schema version, or are damaged."""


class Damaged(GraphkinError):
    """A file, here or on a server, was cut short or altered, or has a format that this version cannot read.

    Retrying does not help.
    """

    exit_code = 4


@dataclass(frozen=True)
class Damage:
    """One damaged file of a published generation, or of the store itself if `generation` is None.

    Attributes:
        file: The file.
        problem: What is wrong with it.
        collection: Name of the collection, or None.
        generation: Id of the generation, or None.
        remedy: The next step, or None for the default hint, to restore a backup or ingest again.
    """

    file: str
    problem: str
    collection: str | None = None
    generation: str | None = None
    remedy: str | None = None


class StoreDamaged(Damaged, StoreFormat):
    """A file of a store differs from what was written. `damage` describes the file and the problem."""

    def __init__(self, damage: Damage) -> None:
        if damage.generation is None:
            prefix = ""
            hint = "restore the store from a backup, or ingest again into a new one"
        else:
            prefix = f"generation {damage.generation[:12]} of {damage.collection!r} is damaged: "
            hint = (
                "run `graphkin verify` to list all damage; restore a backup, or delete this generation and ingest again"
            )
        super().__init__(f"{prefix}{damage.file}: {damage.problem}", given=damage.file, hint=damage.remedy or hint)
        self.damage = damage

    def __reduce__(self) -> tuple[type["StoreDamaged"], tuple[Damage]]:
        return type(self), (self.damage,)


class ServerFault(GraphkinError):
    """A bug in the server, or a reply from another program between client and server."""

    default_hint = "look into the log of the server, and of a proxy in front of it"


class InvalidReply(ServerFault):
    """A reply does not hold the requested data: the server is faulty, or a proxy has altered the reply.

    Retrying does not help.
    """

    exit_code = 4

    @classmethod
    def from_problem(
        cls, path: str, problem: str, *, given: Any = None, expected: str | None = None, hint: str | None = None
    ) -> "InvalidReply":
        """Return the error for a reply that differs from the request.

        Args:
            path: The path of the request.
            problem: The difference between the reply and the request.
            given: The offending value, or None.
            expected: The accepted values, or None.
            hint: The next step. The default is to look for a proxy that alters replies.

        Returns:
            The error, to be raised.
        """
        return cls(
            f"the reply to {path} is not what was requested: {problem}",
            given=given,
            expected=expected,
            hint=hint or "check that no proxy between client and server alters replies, and look into the server's log",
        )


class VersionMismatch(GraphkinError):
    """The version of the server samples or replies differently from the versions that this client supports."""

    exit_code = 2
    default_hint = "install the same version of graphkin on both machines"


class GenerationChanged(GraphkinError):
    """A reply belongs to another generation, or another sample, than earlier replies to the same request."""

    exit_code = 4
    default_hint = "repeat the request from its start; a proxy between client and server must not cache replies"


class Closed(GraphkinError):
    """The connection was closed before this call or during it."""

    default_hint = "open a new connection, and close it only after the last call"
