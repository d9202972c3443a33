"""`graphkin keys`: what is printed, what is kept, what is refused."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from graphkin.store import open_store

Command = Callable[..., Any]


@pytest.fixture
def keys(graphkin: Command, tmp_path: Path) -> Command:
    """`keys("list", ...)`, of the store in `tmp_path`."""
    open_store(tmp_path / "store", create=True).close()

    def call(command: str, *options: object) -> Any:
        return graphkin("keys", command, *options, "--store", tmp_path / "store")

    return call


def test_key_is_told_once(keys: Command, tmp_path: Path) -> None:
    made = keys(
        "create", "--name", "ann", "--scope", "read, export", "--collection", "a", "--collection", "b", "--expires", 30,
        "--json",
    )  # fmt: skip
    told = json.loads(made.out)
    assert re.fullmatch(r"gk_[A-Za-z0-9_-]{43}", told["key"])
    assert (told["name"], told["access"], told["collections"]) == ("ann", ["read", "export"], ["a", "b"])
    until = datetime.fromisoformat(told["expires_at"]) - datetime.now(UTC)
    assert timedelta(days=29, hours=23) < until < timedelta(days=30)
    (listed,) = json.loads(keys("list", "--json").out)
    assert listed == {name: value for name, value in told.items() if name != "key"}
    assert "digest" not in listed
    shown = made.out + made.err + keys("list").out + keys("list", "--json").out
    assert shown.count(told["key"]) == 1
    assert not [
        file for file in (tmp_path / "store").rglob("*") if file.is_file() and told["key"].encode() in file.read_bytes()
    ]


def test_standard_output_is_the_key_alone(keys: Command) -> None:
    made = keys("create", "--name", "trainer", "--scope", "read,sample,export")
    assert re.fullmatch(r"gk_[A-Za-z0-9_-]{43}\n", made.out)
    assert "'trainer', for read, sample, export of every collection" in made.err
    assert made.out.strip() not in made.err


def test_key_of_a_proxy_says_so(keys: Command) -> None:
    bounds = ("--requests-per-minute", 60, "--heavy-at-once", 2)
    made = keys("create", "--name", "sso", "--scope", "read", "--for-proxy", *bounds)
    assert "of every collection, of a proxy, 60 requests a minute, 2 heavy at once for each user" in made.err
    keys("create", "--name", "ann", "--scope", "read")
    assert [key["for_proxy"] for key in json.loads(keys("list", "--json").out)] == [True, False]


def test_revoked_key_is_listed_as_such(keys: Command) -> None:
    assert keys("list").out == "no key: everything is open to whoever reaches the server\n"
    ids = [json.loads(keys("create", "--name", name, "--scope", "admin", "--json").out)["id"] for name in ("a", "b")]
    revoked = keys("revoke", ids[0][:12])
    assert (revoked.code, revoked.out.split(":")[0]) == (0, f"revoked key {ids[0]}")
    assert [line.split("  ")[0] for line in keys("list").out.splitlines()] == ids
    assert [key["state"] for key in json.loads(keys("list", "--json").out)] == ["revoked", "valid"]
    nowhere = keys("revoke", "nowhere")
    assert nowhere.code == 3
    assert ids[1] in nowhere.err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--name", "a", "--scope", "read,write"), "'write' is not one of read, sample, export, admin"),
        (("--name", "a", "--scope", ""), "is not one of"),
        (("--name", "a\nb", "--scope", "read"), "1 to 100 characters on one line"),
        (("--name", "", "--scope", "read"), "1 to 100 characters on one line"),
        (("--name", "a", "--scope", "read", "--collection", "A B"), "not a collection name"),
        (("--name", "a", "--scope", "read", "--expires", 0), "1<=x<=36500"),
    ],
)
def test_what_is_no_key_is_refused(keys: Command, given: tuple[object, ...], said: str) -> None:
    outcome = keys("create", *given)
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err
    assert json.loads(keys("list", "--json").out) == []


def test_damaged_keys_are_named_with_what_to_do(keys: Command, graphkin: Command, tmp_path: Path) -> None:
    keys("create", "--name", "a", "--scope", "read")
    file = tmp_path / "store" / "keys.sqlite"
    content = bytearray(file.read_bytes())
    content[4100] ^= 1  # how many rows there are
    file.write_bytes(content)
    listed = keys("list")
    assert (listed.code, listed.out) == (4, "")
    assert listed.err.startswith("error: keys.sqlite: ")
    assert "move it away and make new keys with `graphkin keys create`" in listed.err
    verified = graphkin("verify", "--store", tmp_path / "store")
    assert verified.code == 1
    assert verified.out.startswith("the store: 1 problems\n  keys.sqlite: ")
    file.rename(file.with_name("damaged"))
    assert keys("list").code == 4
    assert keys("create", "--name", "b", "--scope", "read").code == 0
    assert [key["name"] for key in json.loads(keys("list", "--json").out)] == ["b"]
    assert graphkin("verify", "--store", tmp_path / "store").code == 0
