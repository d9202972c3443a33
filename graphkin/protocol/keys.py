"""Keys of the API: what a server knows of one, which is not its secret."""

import hashlib
import re
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from graphkin.protocol.frozen import Frozen
from graphkin.protocol.values import Access

_BEGINNING = "gk_"
"""Of every secret, so that programs which look for lost ones know it."""

_BYTES = 32

MAX_HEAVY = 64
"""Heavy requests of a key at once, at most."""

NAME = re.compile(r"^[^\x00-\x1f\x7f]{1,100}$")
"""Of a key."""


class Quota(Frozen):
    """How much a key may ask: requests and rows of replies a minute, and heavy requests (those that have a class of
    work) at once; None: as much as there is room for."""

    requests: Annotated[int, Field(ge=1)] | None = None
    rows: Annotated[int, Field(ge=1)] | None = None
    heavy: Annotated[int, Field(ge=1, le=MAX_HEAVY)] | None = None


class Key(Frozen):
    """One key. `digest`: SHA-256 of its secret, in hexadecimal; a secret is 256 random bits, so that none is found by
    trying. `collections`: those that it is for, none: all there are and will be. It ends at `expires_at`, where that is
    not None, and is over once there is a `revoked_at`. `for_proxy`: it is of a reverse proxy, whose every request names
    the user that it is made for; `quota` is then each user's."""

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
        """Whether it is for that: `admin` is for everything."""
        return access in self.access or "admin" in self.access

    def reaches(self, collection: str) -> bool:
        """Whether it is for that collection."""
        return not self.collections or collection in self.collections


_NO_QUOTA = Quota()


def digest_of(secret: str) -> str:
    """By which a key is known; of any text."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def made(
    name: str,
    access: Sequence[Access],
    collections: Sequence[str] = (),
    lifetime: timedelta | None = None,
    quota: Quota = _NO_QUOTA,
    *,
    for_proxy: bool = False,
) -> tuple[str, Key]:
    """A new secret, which nobody can tell again, and its key. Raises `ValidationError` for a name or access that is
    none."""
    secret, now = _BEGINNING + secrets.token_urlsafe(_BYTES), datetime.now(UTC)
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
