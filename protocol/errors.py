"""Every error graphkin raises on purpose, as one tree.

    GraphkinError
    ├── InvalidInput        what was given is wrong              exit 2   HTTP 422
    │   └── Conflict        right in itself, not for this data   exit 2   HTTP 409
    ├── NotFound            no such collection, generation, item exit 3   HTTP 404
    │   └── Deleted         it existed and was deleted           exit 3   HTTP 410
    └── StoreError          the store cannot do it               exit 4   HTTP 503
        ├── StoreBusy       another writer, or still building    exit 4   HTTP 503 + Retry-After
        └── StoreFormat     foreign or newer files               exit 4   HTTP 503
            └── Damaged     files that are not what was written  exit 4   HTTP 503

The HTTP column is the table in `api/errors.py`.
"""

from dataclasses import dataclass
from typing import Any, ClassVar


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
        parts = [self.detail]
        if self.given is not None:
            parts.append(f"given: {self.given}")
        if self.expected is not None:
            parts.append(f"expected: {self.expected}")
        if self.hint is not None:
            parts.append(f"hint: {self.hint}")
        return "\n  ".join(parts)


class InvalidInput(GraphkinError):
    """What the caller gave is wrong: a value out of range, an unparsable structure, a missing column."""

    exit_code = 2


class Conflict(InvalidInput):
    """The request is well formed but does not fit this collection: wrong kind, no InChIKeys, another RDKit."""


class NotFound(GraphkinError):
    """No such collection, generation or item."""

    exit_code = 3


class Deleted(NotFound):
    """The generation was published once and has been deleted since."""


class StoreError(GraphkinError):
    """The store cannot do what was asked: disk full, unwritable folder, server away."""

    exit_code = 4


class StoreBusy(StoreError):
    """Try again: another writer holds the collection, or something is still being built.

    `retry_after` is in seconds.
    """

    def __init__(self, detail: str, *, retry_after: int = 1, **context: Any) -> None:
        super().__init__(detail, **context)
        self.retry_after = retry_after


class StoreFormat(StoreError):
    """The files are of another format, of a newer schema version, or damaged."""


@dataclass(frozen=True)
class Damage:
    """What is wrong with which file: one of a published generation, or, without a generation, the catalogue."""

    file: str
    problem: str
    collection: str | None = None
    generation: str | None = None


class Damaged(StoreFormat):
    """A file is not what was written. Trying again does not help."""

    def __init__(self, damage: Damage) -> None:
        if damage.generation is None:
            whose = ""
            hint = "restore the store from a backup, or ingest again into a new one"
        else:
            whose = f"generation {damage.generation[:12]} of {damage.collection!r} is damaged: "
            hint = "`graphkin verify` tells all that is; delete this generation and ingest again, or restore a backup"
        super().__init__(f"{whose}{damage.file}: {damage.problem}", given=damage.file, hint=hint)
        self.damage = damage
