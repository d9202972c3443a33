"""Who is let in, and to what: keys, and what each is for.

As long as a store has no key, everybody is. From the first one on nobody is without, also when all have been revoked.
"""

import asyncio
from datetime import UTC, datetime
from math import inf
from time import monotonic

import anyio
import anyio.to_thread
from starlette.types import Scope

from graphkin.protocol.errors import Forbidden, StoreError, Unauthorized
from graphkin.protocol.keys import Key, digest_of
from graphkin.protocol.values import Access
from graphkin.store.keys import Keys

KEY = "graphkin.key"
"""Of the scope: the `Key` that a request came with, where keys are asked for."""

_BELIEVED = 1.0  # seconds for which a store's keys are taken to be what they were

_HINT = "`graphkin keys create` makes one; the client and commands send what GRAPHKIN_API_KEY holds"


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

    async def admit(self, scope: Scope, needs: Access) -> Key | None:
        """The key of a request, None where there are none. Raises `Unauthorized` and `Forbidden` unless it is for that,
        in the collection that the path names; what the store raises instead of telling its keys."""
        if monotonic() >= self._until:
            await self._look_again()
        if self._trouble is not None:
            raise self._trouble
        if not self._guarded:
            return None
        key = scope[KEY] = self._key(scope)
        _require_valid(key)
        _require_for(key, needs, scope.get("path_params", {}).get("c"))
        return key

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
