"""Authentication and authorization of requests by API key.

A store that never had a key is open to every client. Once its first key has been created, every request needs a key,
even after all keys have been revoked. A reverse proxy that signs users in has a key of its own, and names the user of
each request in the header `X-Forwarded-User`. The server accepts this header only with the key of a proxy.
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
"""Key in the ASGI scope. Its value is the `Caller` of the request, if the store has keys."""

USER_HEADER = "X-Forwarded-User"
MAX_USER = 256
"""Maximum length of a user name, in characters."""

_REFRESH_SECONDS = 1.0  # seconds after which the keys are read from the store again

_HINT = "`graphkin keys create` makes one; the client and commands send what GRAPHKIN_API_KEY holds"

_USER_HINT = "the reverse proxy must set it to the signed-in user, and remove the header that a client sends"


class Caller(NamedTuple):
    """Identity of a client: its key and, for a reverse proxy's key, the user it acts for.

    A request with a revoked or expired key also has a `Caller`, but no user.
    """

    key: Key
    user: str | None = None

    @property
    def quota_id(self) -> str:
        """Identifier under which quotas are counted. It contains no user name."""
        return self.key.id if self.user is None else f"{self.key.id}-{digest_of(self.user)[:32]}"


class AccessControl:
    """Checks the keys of requests to one application.

    The keys are read from the store when the application starts, and then at most once a second. So a new key may be
    unknown, and a revoked key may be accepted, for one second. While the keys cannot be read, every request is refused.

    Raises:
        StoreError: The keys cannot be read at the start.
    """

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._keys_by_digest: dict[str, Key] = {}
        self._version = 0
        self._has_keys = False
        self._failure: StoreError | None = None
        self._failure_count = 0
        self._refresh_lock = asyncio.Lock()
        # Reading keys has a thread of its own, because it must never wait for threads that serve other requests.
        self._limiter = anyio.CapacityLimiter(1)
        self._fresh_until = -inf
        self._read_keys()

    async def authorize(self, scope: Scope, required: Access) -> Caller | None:
        """Check the key of a request and return its caller.

        Args:
            scope: ASGI scope of the request. The caller is stored in it under `CALLER`.
            required: Access that the key must grant.

        Returns:
            The caller, or None if the store never had a key.

        Raises:
            Unauthorized: The key is missing, unknown, revoked or expired, or a proxy's request names no valid user.
            Forbidden: The key does not grant this access, or does not grant it to the collection in the path.
            StoreError: The keys cannot be read.
        """
        if monotonic() >= self._fresh_until:
            await self._refresh()
        if self._failure is not None:
            raise self._failure
        if not self._has_keys:
            return None
        key = self._key(scope)
        caller = scope[CALLER] = Caller(key)
        _require_valid(key)
        if key.for_proxy:
            caller = scope[CALLER] = Caller(key, _user(scope))
        _require_access(key, required, scope.get("path_params", {}).get("c"))
        return caller

    @staticmethod
    def require_collection(scope: Scope, collection: str) -> None:
        """Check that the key of an authorized request grants access to a collection besides the one in the path.

        Raises:
            Forbidden: It does not.
        """
        caller: Caller | None = scope.get(CALLER)  # None if the store never had a key
        if caller is not None:
            _require_collection(caller.key, collection)

    def _key(self, scope: Scope) -> Key:
        secret = _secret(scope)
        if secret is None:
            raise Unauthorized(
                "this server requires a key, and the request has none", expected="Authorization: Bearer KEY", hint=_HINT
            )
        # The duration of this lookup depends only on digests, so it reveals nothing about the secret of a key.
        key = self._keys_by_digest.get(digest_of(secret))
        if key is None:
            raise Unauthorized("the key is unknown", expected="a key that was created for this store", hint=_HINT)
        return key

    async def _refresh(self) -> None:
        """Read the keys from the store again. Requests that arrive meanwhile wait for this read."""
        failure_count = self._failure_count
        async with self._refresh_lock:
            # If the read for which this request waited has failed, the request does not read again.
            if monotonic() < self._fresh_until or self._failure_count != failure_count:
                return
            until = monotonic() + _REFRESH_SECONDS
            try:
                await anyio.to_thread.run_sync(self._read_keys, limiter=self._limiter)
                self._failure = None
            except StoreError as error:
                self._failure = error
                self._failure_count += 1
            self._fresh_until = until

    def _read_keys(self) -> None:
        version = self._keys.version()
        if version != self._version:
            self._keys_by_digest = {key.digest: key for key in self._keys.all()}
            self._version, self._has_keys = version, True


def _secret(scope: Scope) -> str | None:
    """Return the secret in `Authorization: Bearer SECRET`; None if the header is missing, repeated or different."""
    values = [value for name, value in scope["headers"] if name == b"authorization"]
    scheme, _, secret = values[0].partition(b" ") if len(values) == 1 else (b"", b"", b"")
    return secret.strip().decode("latin-1") if scheme.lower() == b"bearer" else None


def _user(scope: Scope) -> str:
    """Return the user that a proxy acts for.

    Raises:
        Unauthorized: The header is missing, repeated or invalid. The error does not quote its value.
    """
    values = [value for name, value in scope["headers"] if name == USER_HEADER.lower().encode()]
    if len(values) != 1:
        raise _invalid_user("not in the request" if not values else f"{len(values)} times in the request")
    try:
        user = values[0].decode().strip()
    except UnicodeDecodeError:
        raise _invalid_user("not UTF-8") from None
    if not user:
        raise _invalid_user("empty")
    if len(user) > MAX_USER:
        raise _invalid_user(f"{len(user):,} characters")
    if not user.isprintable():
        raise _invalid_user("with characters that are not printed")
    return user


def _invalid_user(problem: str) -> Unauthorized:
    return Unauthorized(
        "this key belongs to a reverse proxy, and its requests must name a user",
        given=f"{USER_HEADER}: {problem}",
        expected=f"{USER_HEADER} once, with 1 to {MAX_USER} printable characters",
        hint=_USER_HINT,
    )


def _require_valid(key: Key) -> None:
    state = key.state(datetime.now(UTC))
    if state != "valid":
        raise Unauthorized(f"this key is {state}", given=key.id, expected="a valid key", hint=_HINT)


def _require_access(key: Key, required: Access, collection: str | None) -> None:
    if not key.allows(required):
        raise Forbidden(
            "this key does not grant the access that the request needs",
            given=", ".join(key.access),
            expected=f"a key with the access {required}",
            hint=f"the administrator of the server creates such a key: `graphkin keys create --scope {required}`",
        )
    if collection is not None:
        _require_collection(key, collection)


def _require_collection(key: Key, collection: str) -> None:
    if not key.reaches(collection):
        raise Forbidden(
            "this key does not grant access to this collection",
            given=collection,
            expected=f"one of {', '.join(key.collections)}",
            hint="the administrator of the server creates a key for the collection: `graphkin "
            "keys create --collection NAME`",
        )
