"""Who is let in, and to what: keys, and what each is for.

As long as a store has no key, everybody is. From the first one on nobody is without, also when all have been revoked.
A reverse proxy that lets users in has a key of its own, by which it is believed who they are; nobody else is.
"""

import asyncio
from datetime import UTC, datetime
from math import inf
from time import monotonic
from typing import NamedTuple

import anyio
import anyio.to_thread
from starlette.types import Scope

from graphkin.protocol.errors import Forbidden, StoreError, Unauthorized
from graphkin.protocol.keys import Key, digest_of
from graphkin.protocol.values import Access
from graphkin.store.keys import Keys

CALLER = "graphkin.caller"
"""Of the scope: the `Caller` of a request, where keys are asked for."""

USER_HEADER = "X-Forwarded-User"
MAX_USER = 256
"""Characters of what a user is called."""

_BELIEVED = 1.0  # seconds for which a store's keys are taken to be what they were

_HINT = "`graphkin keys create` makes one; the client and commands send what GRAPHKIN_API_KEY holds"

_NAMES_USER = "a reverse proxy sets it to the user that it has let in, and lets none through that a client sends"


class Caller(NamedTuple):
    """Who asks: with which key, and, of a proxy's, for which of its users. A key that opens nothing is told too, and
    with it no user."""

    key: Key
    user: str | None = None

    @property
    def counted(self) -> str:
        """By which quotas tell callers apart; it says no name."""
        return self.key.id if self.user is None else f"{self.key.id}-{digest_of(self.user)[:32]}"


class Admission:
    """Of one application. The store is asked for its keys when the application starts, and again at most once a second:
    so long a new key may be unknown, and a revoked one go on.

    While the store does not tell its keys, nobody is let in. Raises as `Keys` does.
    """

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._known: dict[str, Key] = {}
        self._version = 0
        self._guarded = False
        self._trouble: StoreError | None = None
        self._failed = 0  # times that it was asked in vain
        self._turn = asyncio.Lock()
        self._own = anyio.CapacityLimiter(1)  # who asks never waits for what others read
        self._until = -inf
        self._look()

    async def admit(self, scope: Scope, needs: Access) -> Caller | None:
        """Who asks, None where there are no keys. Raises `Unauthorized` and `Forbidden` unless its key is for
        that, in the collection that the path names; what the store raises instead of telling its keys."""
        if monotonic() >= self._until:
            await self._look_again()
        if self._trouble is not None:
            raise self._trouble
        if not self._guarded:
            return None
        key = self._key(scope)
        caller = scope[CALLER] = Caller(key)
        _require_valid(key)
        if key.for_proxy:
            caller = scope[CALLER] = Caller(key, _user(scope))
        _require_for(key, needs, scope.get("path_params", {}).get("c"))
        return caller

    def _key(self, scope: Scope) -> Key:
        secret = _secret(scope)
        if secret is None:
            raise Unauthorized("this server asks for a key", expected="Authorization: Bearer KEY", hint=_HINT)
        key = self._known.get(digest_of(secret))  # how long that takes tells of digests, which tell of no secret
        if key is None:
            raise Unauthorized("there is no such key", expected="one that was made for this store", hint=_HINT)
        return key

    async def _look_again(self) -> None:
        failed = self._failed
        async with self._turn:
            if monotonic() < self._until or self._failed != failed:  # nobody waits for a store that is away twice
                return
            until = monotonic() + _BELIEVED
            try:
                await anyio.to_thread.run_sync(self._look, limiter=self._own)
                self._trouble = None
            except StoreError as error:
                self._trouble = error
                self._failed += 1
            self._until = until

    def _look(self) -> None:
        version = self._keys.version()
        if version != self._version:
            self._known = {key.digest: key for key in self._keys.all()}
            self._version, self._guarded = version, True


def _secret(scope: Scope) -> str | None:
    given = [value for name, value in scope["headers"] if name == b"authorization"]
    scheme, _, secret = given[0].partition(b" ") if len(given) == 1 else (b"", b"", b"")
    return secret.strip().decode("latin-1") if scheme.lower() == b"bearer" else None


def _user(scope: Scope) -> str:
    """For whom a proxy asks. Raises `Unauthorized` unless it says so once and plainly, and repeats nothing of it."""
    given = [value for name, value in scope["headers"] if name == USER_HEADER.lower().encode()]
    if len(given) != 1:
        raise _unnamed("not in the request" if not given else f"{len(given)} times in the request")
    try:
        user = given[0].decode().strip()
    except UnicodeDecodeError:
        raise _unnamed("not UTF-8") from None
    if not user:
        raise _unnamed("empty")
    if len(user) > MAX_USER:
        raise _unnamed(f"{len(user):,} characters")
    if not user.isprintable():
        raise _unnamed("with characters that are not printed")
    return user


def _unnamed(how: str) -> Unauthorized:
    return Unauthorized(
        "this key is of a reverse proxy, and its requests name a user each",
        given=f"{USER_HEADER}: {how}",
        expected=f"{USER_HEADER} once, with 1 to {MAX_USER} printable characters",
        hint=_NAMES_USER,
    )


def _require_valid(key: Key) -> None:
    state = key.state(datetime.now(UTC))
    if state != "valid":
        raise Unauthorized(f"this key is {state}", given=key.id, hint=_HINT)


def _require_for(key: Key, needs: Access, collection: str | None) -> None:
    if not key.allows(needs):
        raise Forbidden("this key is not for that", given=", ".join(key.access), expected=needs)
    if collection is not None and not key.reaches(collection):
        raise Forbidden(
            "this key is not for this collection", given=collection, expected=f"of {', '.join(key.collections)}"
        )
