"""Whose request it is: what a key of a proxy must say of its users, and what any other key may say."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from graphkin.api.http.access import CALLER, AccessControl, Caller
from graphkin.protocol.errors import Forbidden, Unauthorized
from graphkin.protocol.keys import Key, create_key
from graphkin.store.embedded.store import EmbeddedStore
from graphkin.store.keys import Keys

HEADER = b"x-forwarded-user"


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    return EmbeddedStore(tmp_path, create=True).keys()


def kept(keys: Keys, access: str = "read", *, for_proxy: bool = True) -> tuple[str, Key]:
    secret, key = create_key("a", [access], for_proxy=for_proxy)  # type: ignore[list-item]
    keys.add(key)
    return secret, key


def asked(secret: str, *users: bytes) -> dict[str, Any]:
    """The scope of a request."""
    headers = [(b"authorization", b"Bearer " + secret.encode()), *((HEADER, user) for user in users)]
    return {"headers": headers, "path_params": {}}


def admit(keys: Keys, scope: dict[str, Any]) -> dict[str, Any]:
    async def admitting() -> None:
        await AccessControl(keys).authorize(scope, "read")

    anyio.run(admitting)
    return scope


@pytest.mark.parametrize("user", ["ann", "ann@lab.example", "CN=Ann Özil,O=Lab", "安", "a" * 256, "é" * 256])
def test_proxy_says_who_asks(keys: Keys, user: str) -> None:
    secret, key = kept(keys)
    assert admit(keys, asked(secret, user.encode()))[CALLER] == Caller(key, user)


@pytest.mark.parametrize(
    ("users", "how"),
    [
        ([], "not in the request"),
        ([b"ann", b"bob"], "2 times in the request"),
        ([b"ann", b"ann"], "2 times in the request"),
        ([b""], "empty"),
        ([b" \t "], "empty"),
        (["é".encode() * 257], "257 characters"),
        ([b"\xff\xfe"], "not UTF-8"),
        ([b"ann\x00"], "not printed"),
        ([b"an\tn"], "not printed"),
        ([b"an\x1bn"], "not printed"),
        ([b"an\x7fn"], "not printed"),
        (["an\u0085n".encode()], "not printed"),
        (["an\u202en".encode()], "not printed"),
        (["an\u2028n".encode()], "not printed"),
    ],
)
def test_proxy_that_does_not_say_it_plainly_is_refused(keys: Keys, users: list[bytes], how: str) -> None:
    secret, _ = kept(keys)
    with pytest.raises(Unauthorized) as error:
        admit(keys, asked(secret, *users))
    assert how in str(error.value.given)
    assert "X-Forwarded-User once, with 1 to 256 printable characters" in str(error.value.expected)
    assert "the reverse proxy must set it" in str(error.value.hint)
    assert not [user for user in users if user.strip() and user.decode("latin-1") in str(error.value)]


@pytest.mark.parametrize("users", [[], [b"root"], [b"root", b"ann"], [b""], [b"\xff"], [b"a" * 9999]])
def test_nobody_else_is_believed_to_be_a_user(keys: Keys, users: list[bytes]) -> None:
    secret, key = kept(keys, for_proxy=False)
    assert admit(keys, asked(secret, *users))[CALLER] == Caller(key)


def test_users_of_a_key_that_opens_nothing_are_none(keys: Keys) -> None:
    secret, key = kept(keys)
    keys.revoke(key.id, key.created_at)
    scope = asked(secret, b"ann")
    with pytest.raises(Unauthorized, match="revoked"):
        admit(keys, scope)
    assert scope[CALLER].user is None


def test_key_of_a_proxy_is_for_what_it_is_for(keys: Keys) -> None:
    secret, _ = kept(keys, "export")
    with pytest.raises(Forbidden):
        admit(keys, asked(secret, b"ann"))


def test_callers_are_counted_apart_by_no_name(keys: Keys) -> None:
    _, key = kept(keys)
    _, other = kept(keys)
    callers = [Caller(each, user) for each in (key, other) for user in (None, "ann", "Ann", "ann ", "bob")]
    assert len({caller.quota_id for caller in callers}) == len(callers)
    assert not [caller for caller in callers if "ann" in caller.quota_id]
    assert Caller(key, "ann").quota_id == Caller(key, "ann").quota_id
