import json
import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from graphkin.protocol.errors import Conflict, StoreDamaged, StoreFormat
from graphkin.protocol.keys import digest_of, made
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


def test_file_of_keys_is_for_its_owner_alone_and_holds_no_secret(keys: Keys, file: Path) -> None:
    keys.version()
    assert not file.exists()
    secret, key = made("a", ["read"])
    keys.add(key)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert secret.encode() not in file.read_bytes()
    assert digest_of(secret) == key.digest
    assert [*file.parent.glob("*partial*")] == []


def test_database_without_rows_guards_the_store(keys: Keys, file: Path) -> None:
    keys.add(made("a", ["read"])[1])
    for change in ("DELETE FROM keys", "DROP TABLE seal", "PRAGMA user_version = 1"):
        with closing(sqlite3.connect(file)) as database, database:
            database.execute(change)
        if change == "PRAGMA user_version = 1":
            assert (keys.all(), keys.version()) == ([], 1)
        else:
            with pytest.raises(StoreDamaged, match="graphkin keys create"):
                keys.version()


def test_lost_database_keeps_the_store_closed_until_there_is_a_new_key(keys: Keys, file: Path) -> None:
    keys.add(made("a", ["read"])[1])
    file.unlink()
    for read in (keys.version, keys.all):
        with pytest.raises(StoreDamaged, match=r"missing, and this store has had keys(.|\n)*graphkin keys create"):
            read()
    key = made("b", ["read"])[1]
    keys.add(key)
    assert keys.all() == [key]


def test_file_that_a_killed_process_left_blocks_no_key(keys: Keys, file: Path) -> None:
    for left in (f".keys.sqlite.{os.getpid()}.partial", ".keys.sqlite.1.partial", ".keys.sqlite.1.partial-journal"):
        (file.parent / left).touch()
    keys.add(made("a", ["read"])[1])
    assert len(keys.all()) == 1
    assert [*file.parent.glob(".keys*")] == []


def test_database_of_version_1_is_read_and_its_first_change_seals_it(keys: Keys, file: Path) -> None:
    first, second = (made(name, ["read"])[1] for name in "ab")
    keys.add(first)
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("DROP TABLE seal")
        database.execute("PRAGMA user_version = 1")
    assert (keys.all(), keys.version()) == ([first], 2)
    keys.add(second)
    assert keys.all() == [first, second]
    with closing(sqlite3.connect(file)) as database, database:
        assert database.execute("SELECT count(*) FROM seal").fetchone() == (1,)
        database.execute("DELETE FROM keys WHERE id = ?", (second.id,))
    with pytest.raises(StoreDamaged, match="not those that were sealed"):
        keys.all()


def test_no_flipped_bit_opens_the_store(tmp_path: Path) -> None:
    outcomes = flip(tmp_path, 1_500, seed=0)
    assert violations(outcomes) == 0
    assert outcomes[REFUSED] > 100
    assert outcomes[UNCHANGED] > 100


@pytest.mark.parametrize("how", ["empty", "cut", "no database", "row", "all rows", "expiry", "table"])
def test_damaged_keys_are_damage_and_never_none(keys: Keys, file: Path, how: str) -> None:
    keys.add(made("a", ["read"], ["one"])[1])
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


def test_keys_from_before_proxies_had_any_are_read(keys: Keys, file: Path) -> None:
    key = made("a", ["read"])[1]
    keys.add(key)
    with closing(sqlite3.connect(file)) as database, database:
        (text,) = database.execute("SELECT key FROM keys").fetchone()
        older = json.dumps({name: value for name, value in json.loads(text).items() if name != "for_proxy"})
        assert older != text
        database.execute("UPDATE keys SET key = ?, seal = ?", (older, digest_of(older)))
        database.execute("DROP TABLE seal")  # as version 1 had none
        database.execute("PRAGMA user_version = 1")
    assert keys.all() == [key]
    assert not key.for_proxy


def test_keys_of_a_newer_version_are_refused(keys: Keys, file: Path) -> None:
    keys.add(made("a", ["read"])[1])
    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA user_version = 3")
    with pytest.raises(StoreFormat, match="a newer graphkin"):
        keys.version()


def test_lake_keeps_no_keys_and_says_where_they_go(tmp_path: Path) -> None:
    with open_lake(f"file://{tmp_path}", create=True) as lake:
        assert (lake.keys().version(), lake.keys().all()) == (0, [])
        with pytest.raises(Conflict, match="graphkin load"):
            lake.keys().add(made("a", ["read"])[1])
