"""API keys, stored with the collections so that all servers of a store accept the same keys."""

from abc import ABC, abstractmethod
from datetime import datetime
from difflib import get_close_matches

from graphkin.protocol.errors import Conflict, InvalidInput, NotFound
from graphkin.protocol.keys import Key

_MAX_LISTED = 10  # keys in an error message


class Keys(ABC):
    """The API keys of one store.

    Keys are never removed. A revoked key stays, so that log entries can be traced to it.

    ## Thread safety

    Threads and processes may share the keys.

    ## Errors

    - `StoreDamaged`, if stored keys differ from what was written,
    - `StoreError`, if the store cannot be reached.
    """

    @abstractmethod
    def version(self) -> int:
        """Return a number that differs after every change. It is 0 if and only if the store has never had a key."""

    @abstractmethod
    def all(self) -> list[Key]:
        """Return every key, oldest first."""

    @abstractmethod
    def add(self, key: Key) -> None:
        """Add a key.

        Raises:
            Conflict: There is a key with this id.
        """

    @abstractmethod
    def _replace(self, key: Key) -> None:
        """Replace the key with the same id by its revoked version."""

    def find(self, id_prefix: str) -> Key:
        """Return the key whose id starts with `id_prefix`.

        Raises:
            NotFound: There is no such key. The error lists the keys.
            InvalidInput: Several keys match.
        """
        keys = self.all()
        matches = [key for key in keys if id_prefix and key.id.startswith(id_prefix)]
        if not matches:
            raise NotFound(
                "there is no key with this id",
                given=id_prefix,
                expected=_describe_keys(keys),
                hint=_suggest(id_prefix, keys),
            )
        if len(matches) > 1:
            raise InvalidInput(
                "several keys have ids that begin with these characters",
                given=id_prefix,
                expected=f"one of {_describe_keys(matches)}",
                hint="add characters until only one id matches",
            )
        return matches[0]

    def revoke(self, id_prefix: str, at: datetime) -> Key:
        """Revoke a key and return it. A key that is revoked already stays unchanged.

        Raises:
            NotFound: There is no such key.
            InvalidInput: Several keys match.
        """
        key = self.find(id_prefix)
        if key.revoked_at is None:
            key = key.model_copy(update={"revoked_at": at})
            self._replace(key)
        return key


class NoKeys(Keys):
    """The keys of a store that cannot store keys: there are never any, and `add` raises `Conflict`."""

    def version(self) -> int:
        return 0

    def all(self) -> list[Key]:
        return []

    def add(self, key: Key) -> None:
        raise Conflict(
            "a Parquet export (lake) has no keys",
            given=key.name,
            expected="a store in a folder or in Neo4j",
            hint="copy the lake into such a store with `graphkin load`, and create keys there",
        )

    def _replace(self, key: Key) -> None:  # noqa: ARG002 - there is no key to replace
        raise AssertionError("none is found")


def sort_oldest_first(keys: list[Key]) -> list[Key]:
    """Sort keys by their time of creation, then by id."""
    return sorted(keys, key=lambda key: (key.created_at, key.id))


def _describe_keys(keys: list[Key]) -> str:
    more = f" and {len(keys) - _MAX_LISTED} more" if len(keys) > _MAX_LISTED else ""
    return ", ".join(f"{key.id} ({key.name})" for key in keys[:_MAX_LISTED]) + more or "this store has no keys yet"


def _suggest(id_or_name: str, keys: list[Key]) -> str:
    by_name = {name: key for key in keys for name in (key.id, key.name)}
    matches = get_close_matches(id_or_name, by_name, n=1)
    return f"did you mean {by_name[matches[0]].id}?" if matches else "run `graphkin keys list` to list the keys"
