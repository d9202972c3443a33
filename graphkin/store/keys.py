"""Where the API's keys are kept: with a store, so that every server of it knows the same."""

from abc import ABC, abstractmethod
from datetime import datetime
from difflib import get_close_matches

from graphkin.protocol.errors import Conflict, InvalidInput, NotFound
from graphkin.protocol.keys import Key

_LISTED = 10  # keys that an error names


class Keys(ABC):
    """The keys of one store. None is ever forgotten: those that are revoked stay, for what was logged of them.

    Safe to use from many threads and processes. Raises `StoreDamaged` where what is kept is not what was written, and
    `StoreError` where it cannot be reached.
    """

    @abstractmethod
    def version(self) -> int:
        """A number that every change makes another: 0 as long as the store has never had a key, and only then."""

    @abstractmethod
    def all(self) -> list[Key]:
        """Every key, the oldest first."""

    @abstractmethod
    def add(self, key: Key) -> None:
        """Keep one more. Raises `Conflict` where there is one of its id already."""

    @abstractmethod
    def _replace(self, key: Key) -> None:
        """Keep a revoked one in the place of the one with its id."""

    def find(self, beginning: str) -> Key:
        """The one key whose id begins so. Raises `NotFound`, naming those there are, and `InvalidInput` for several."""
        known = self.all()
        found = [key for key in known if beginning and key.id.startswith(beginning)]
        if not found:
            raise NotFound("no such key", given=beginning, expected=_those(known), hint=_likely(beginning, known))
        if len(found) > 1:
            raise InvalidInput("several keys begin so", given=beginning, expected=f"more of one of {_those(found)}")
        return found[0]

    def revoke(self, beginning: str, at: datetime) -> Key:
        """From now on a key opens nothing; one that was revoked before stays as it is. Raises as `find` does."""
        key = self.find(beginning)
        if key.revoked_at is None:
            key = key.model_copy(update={"revoked_at": at})
            self._replace(key)
        return key


class NoKeys(Keys):
    """Of a store that keeps none."""

    def version(self) -> int:
        return 0

    def all(self) -> list[Key]:
        return []

    def add(self, key: Key) -> None:
        raise Conflict(
            "this store keeps no keys",
            given=key.name,
            expected="a folder or a Neo4j server",
            hint="`graphkin load` copies a lake into one of these, which is then served with its keys",
        )

    def _replace(self, key: Key) -> None:  # noqa: ARG002 - of none there are
        raise AssertionError("none is found")


def oldest_first(keys: list[Key]) -> list[Key]:
    return sorted(keys, key=lambda key: (key.created_at, key.id))


def _those(keys: list[Key]) -> str:
    more = f" and {len(keys) - _LISTED} more" if len(keys) > _LISTED else ""
    return ", ".join(f"{key.id} ({key.name})" for key in keys[:_LISTED]) + more or "this store has no keys yet"


def _likely(given: str, known: list[Key]) -> str | None:
    named = {name: key for key in known for name in (key.id, key.name)}
    likely = get_close_matches(given, named, n=1)
    return f"did you mean {named[likely[0]].id}?" if likely else None
