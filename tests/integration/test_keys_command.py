"""The command `graphkin keys`: its output, the stored keys, and refusals."""

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
    """Return `keys("list", ...)`, which runs the command for the store in `tmp_path`."""
    open_store(tmp_path / "store", create=True).close()

    def call(command: str, *options: object) -> Any:
        return graphkin("keys", command, *options, "--store", tmp_path / "store")

    return call


def test_secret_of_a_key_is_only_printed_once(keys: Command, tmp_path: Path) -> None:
    outcome = keys(
        "create", "--name", "ann", "--scope", "read, export", "--collection", "a", "--collection", "b", "--expires", 30,
        "--json",
    )  # fmt: skip
    created = json.loads(outcome.out)
    assert re.fullmatch(r"gk_[A-Za-z0-9_-]{43}", created["key"])
    assert (created["name"], created["access"], created["collections"]) == ("ann", ["read", "export"], ["a", "b"])
    until = datetime.fromisoformat(created["expires_at"]) - datetime.now(UTC)
    assert timedelta(days=29, hours=23) < until < timedelta(days=30)
    (listed_key,) = json.loads(keys("list", "--json").out)
    assert listed_key == {name: value for name, value in created.items() if name != "key"}
    assert "digest" not in listed_key
    printed = outcome.out + outcome.err + keys("list").out + keys("list", "--json").out
    assert printed.count(created["key"]) == 1
    assert not [
        file
        for file in (tmp_path / "store").rglob("*")
        if file.is_file() and created["key"].encode() in file.read_bytes()
    ]


def test_standard_output_only_has_the_secret(keys: Command) -> None:
    outcome = keys("create", "--name", "trainer", "--scope", "read,sample,export")
    assert re.fullmatch(r"gk_[A-Za-z0-9_-]{43}\n", outcome.out)
    assert "'trainer', for read, sample, export of every collection" in outcome.err
    assert outcome.out.strip() not in outcome.err


def test_key_of_a_proxy_is_marked(keys: Command) -> None:
    bounds = ("--requests-per-minute", 60, "--heavy-at-once", 2)
    outcome = keys("create", "--name", "sso", "--scope", "read", "--for-proxy", *bounds)
    assert "of every collection, of a proxy, 60 requests a minute, 2 heavy at once for each user" in outcome.err
    keys("create", "--name", "ann", "--scope", "read")
    assert [key["for_proxy"] for key in json.loads(keys("list", "--json").out)] == [True, False]


def test_revoked_key_is_listed_as_revoked(keys: Command) -> None:
    assert keys("list").out == "no keys: everyone who can reach the server can read everything\n"
    ids = [json.loads(keys("create", "--name", name, "--scope", "admin", "--json").out)["id"] for name in ("a", "b")]
    revoked = keys("revoke", ids[0][:12])
    assert (revoked.code, revoked.out.split(":")[0]) == (0, f"revoked key {ids[0]}")
    assert [line.split("  ")[0] for line in keys("list").out.splitlines()] == ids
    assert [key["state"] for key in json.loads(keys("list", "--json").out)] == ["revoked", "valid"]
    unknown = keys("revoke", "nowhere")
    assert unknown.code == 3
    assert ids[1] in unknown.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--name", "a", "--scope", "read,erase"),
            "expected: one or more of read, sample, export, write, metrics, admin",
        ),
        (("--name", "a", "--scope", ""), "expected: one or more of"),
        (("--name", "a\nb", "--scope", "read"), "1 to 100 characters on one line"),
        (("--name", "", "--scope", "read"), "1 to 100 characters on one line"),
        (("--name", "a", "--scope", "read", "--collection", "A B"), "not a valid name of a collection"),
        (("--name", "a", "--scope", "read", "--expires", 0), "a whole number from 1 to 36,500"),
    ],
)
def test_invalid_keys_are_refused(keys: Command, arguments: tuple[object, ...], message: str) -> None:
    outcome = keys("create", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
    assert json.loads(keys("list", "--json").out) == []


def test_damaged_key_store_is_reported_with_a_hint(keys: Command, graphkin: Command, tmp_path: Path) -> None:
    keys("create", "--name", "a", "--scope", "read")
    file = tmp_path / "store" / "keys.sqlite"
    content = bytearray(file.read_bytes())
    content[4100] ^= 1  # This byte belongs to the number of rows.
    file.write_bytes(content)
    listed_key = keys("list")
    assert (listed_key.code, listed_key.out) == (4, "")
    assert listed_key.err.startswith("error: keys.sqlite: ")
    assert "move it away and make new keys with `graphkin keys create`" in listed_key.err
    verified = graphkin("verify", "--store", tmp_path / "store")
    assert verified.code == 1
    assert verified.out.startswith("the store: 1 problems\n  keys.sqlite: ")
    file.rename(file.with_name("damaged"))
    assert keys("list").code == 4
    assert keys("create", "--name", "b", "--scope", "read").code == 0
    assert [key["name"] for key in json.loads(keys("list", "--json").out)] == ["b"]
    assert graphkin("verify", "--store", tmp_path / "store").code == 0
