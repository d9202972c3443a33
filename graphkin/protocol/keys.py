"""API keys, as a server stores them: without their secrets."""

import hashlib
import re
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from graphkin.protocol.frozen import Frozen
from graphkin.protocol.values import Access

_PREFIX = "gk_"
"""Prefix of every secret, which lets secret scanners recognize it."""

_SECRET_BYTES = 32

MAX_HEAVY = 64
"""Highest limit on the concurrent heavy requests of a key."""

NAME = re.compile(r"^[^\x00-\x1f\x7f]{1,100}$")
"""Pattern of a key's name."""


class Quota(Frozen):
    """Limits of a key; None means no limit.

    Attributes:
        requests: Requests per minute.
        rows: Rows of replies per minute.
        heavy: Concurrent heavy requests, such as searches and exports.
    """

    requests: Annotated[int, Field(ge=1)] | None = None
    rows: Annotated[int, Field(ge=1)] | None = None
    heavy: Annotated[int, Field(ge=1, le=MAX_HEAVY)] | None = None


class Key(Frozen):
    """An API key.

    A secret consists of 256 random bits, so it cannot be guessed from its digest.

    Attributes:
        id: Public id.
        name: Name of the key.
        digest: SHA-256 of the secret, in hexadecimal.
        access: Permissions.
        collections: Collections that the key gives access to, empty for all present and future collections.
        created_at: Time of creation.
        expires_at: Time after which the key is invalid, or None.
        revoked_at: Time of revocation, or None.
        quota: Limits. The limits of the key of a proxy apply to each of its users separately.
        for_proxy: Whether the key belongs to a reverse proxy, which names the user in every request.
    """

    id: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
    name: Annotated[str, Field(pattern=NAME)]
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    access: Annotated[tuple[Access, ...], Field(min_length=1)]
    collections: tuple[str, ...] = ()
    created_at: AwareDatetime
    expires_at: AwareDatetime | None = None
    revoked_at: AwareDatetime | None = None
    quota: Quota = Quota()
    for_proxy: bool = False

    def state(self, now: datetime) -> Literal["valid", "expired", "revoked"]:
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "valid"

    def allows(self, access: Access) -> bool:
        """Return whether the key has this permission. `admin` includes all others."""
        return access in self.access or "admin" in self.access

    def reaches(self, collection: str) -> bool:
        """Return whether the key gives access to this collection."""
        return not self.collections or collection in self.collections


_NO_QUOTA = Quota()


def digest_of(secret: str) -> str:
    """Return the SHA-256 of a secret, or of any other text, in hexadecimal."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def create_key(
    name: str,
    access: Sequence[Access],
    collections: Sequence[str] = (),
    lifetime: timedelta | None = None,
    quota: Quota = _NO_QUOTA,
    *,
    for_proxy: bool = False,
) -> tuple[str, Key]:
    """Create a key with a random secret, and return the secret and the key.

    The secret cannot be recovered from the key.

    Raises:
        ValidationError: The name or an access is invalid.
    """
    secret, now = _PREFIX + secrets.token_urlsafe(_SECRET_BYTES), datetime.now(UTC)
    key = Key(
        id=secrets.token_hex(8),
        name=name,
        digest=digest_of(secret),
        access=tuple(dict.fromkeys(access)),
        collections=tuple(dict.fromkeys(collections)),
        created_at=now,
        expires_at=None if lifetime is None else now + lifetime,
        quota=quota,
        for_proxy=for_proxy,
    )
    return secret, key
