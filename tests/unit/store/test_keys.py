import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from graphkin.protocol.errors import Conflict, StoreDamaged, StoreFormat
from graphkin.protocol.keys import create_key, digest_of
from graphkin.store import open_lake
from graphkin.store.embedded.store import EmbeddedStore
from graphkin.store.keys import Keys
from tests.rigs.key_bits import REFUSED, UNCHANGED, flip, violations


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "keys.sqlite"


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    return EmbeddedStore(tmp_path, create=True).keys()


def test_key_file_is_private_and_holds_no_secret(keys: Keys, file: Path) -> None:
    keys.version()
    assert not file.exists()
    secret, key = create_key("a", ["read"])
    keys.add(key)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert secret.encode() not in file.read_bytes()
    assert digest_of(secret) == key.digest
    assert [*file.parent.glob("*partial*")] == []


def test_emptied_database_keeps_the_store_closed(keys: Keys, file: Path) -> None:
    keys.add(create_key("a", ["read"])[1])
    for change in ("DELETE FROM keys", "DROP TABLE seal"):
        with closing(sqlite3.connect(file)) as database, database:
            database.execute(change)
        with pytest.raises(StoreDamaged, match="graphkin keys create"):
            keys.version()


def test_lost_database_keeps_the_store_closed_until_a_key_is_created(keys: Keys, file: Path) -> None:
    keys.add(create_key("a", ["read"])[1])
    file.unlink()
    for read in (keys.version, keys.all):
        with pytest.raises(StoreDamaged, match=r"missing, and this store has had keys(.|\n)*graphkin keys create"):
            read()
    key = create_key("b", ["read"])[1]
    keys.add(key)
    assert keys.all() == [key]


def test_leftover_of_a_killed_process_blocks_no_key(keys: Keys, file: Path) -> None:
    for leftover in (f".keys.sqlite.{os.getpid()}.partial", ".keys.sqlite.1.partial", ".keys.sqlite.1.partial-journal"):
        (file.parent / leftover).touch()
    keys.add(create_key("a", ["read"])[1])
    assert len(keys.all()) == 1
    assert [*file.parent.glob(".keys*")] == []


def test_no_flipped_bit_opens_the_store(tmp_path: Path) -> None:
    outcomes = flip(tmp_path, 1_500, seed=0)
    assert violations(outcomes) == 0
    assert outcomes[REFUSED] > 100
    assert outcomes[UNCHANGED] > 100


@pytest.mark.parametrize("how", ["empty", "cut", "no database", "row", "all rows", "expiry", "table"])
def test_damaged_keys_raise_store_damaged(keys: Keys, file: Path, how: str) -> None:
    keys.add(create_key("a", ["read"], ["one"])[1])
    content = file.read_bytes()
    if how in ("empty", "cut", "no database"):
        file.write_bytes({"empty": b"", "cut": content[:5000], "no database": b"x" * 9000}[how])
    else:
        with closing(sqlite3.connect(file)) as database, database:
            database.execute(
                {
                    "row": """UPDATE keys SET key = replace(key, '"one"', '"two"')""",
                    "all rows": "DELETE FROM keys",
                    "expiry": """UPDATE keys SET seal = ''""",
                    "table": "ALTER TABLE keys RENAME TO other",
                }[how]
            )
    for read in (keys.version, keys.all):
        with pytest.raises(StoreDamaged, match=r"keys\.sqlite"):
            read()


@pytest.mark.parametrize(
    ("version", "error"),
    [
        (
            1,
            r"an older version of graphkin\n.*schema version 1\n.*schema version 2\n.*move keys\.sqlite away",
        ),
        (3, r"a newer version of graphkin\n.*schema version 3\n.*schema version 2\n.*upgrade graphkin"),
    ],
)
def test_keys_of_another_version_are_refused(keys: Keys, file: Path, version: int, error: str) -> None:
    keys.add(create_key("a", ["read"])[1])
    with closing(sqlite3.connect(file)) as database:
        database.execute(f"PRAGMA user_version = {version}")
    for read in (keys.version, keys.all, lambda: keys.add(create_key("b", ["read"])[1])):
        with pytest.raises(StoreFormat, match=error):
            read()


def test_lake_refuses_keys_with_a_hint(tmp_path: Path) -> None:
    with open_lake(f"file://{tmp_path}", create=True) as lake:
        assert (lake.keys().version(), lake.keys().all()) == (0, [])
        with pytest.raises(Conflict, match="graphkin load"):
            lake.keys().add(create_key("a", ["read"])[1])
