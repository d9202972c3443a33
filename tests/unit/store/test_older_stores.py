"""Stores and generations of other formats are refused with a hint, never read and never changed."""

import hashlib
import json
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from sqlite3 import Connection
from typing import Any

import pytest

from graphkin.cli import run
from graphkin.protocol.errors import StoreDamaged, StoreFormat
from graphkin.protocol.manifest import Manifest
from graphkin.store import open_store
from graphkin.store.base import Store

CATALOG = Path(__file__).parents[2] / "stores" / "version-3" / "catalog.sqlite"
"""The catalog of a store of the schema and the format that graphkin 0.1 wrote."""

SCHEMA_ERROR = """\
error: the store was written by an older version of graphkin
  given: schema version 3
  expected: schema version 5
  hint: ingest again, into a new store, or open it with the graphkin that wrote it (0.1 for schema version 3)
"""
FORMAT_ERROR = """\
error: the generation was written in a format that this version of graphkin does not read
  given: format 1
  expected: format 2
  hint: open the store with the version of graphkin that wrote it (0.1 for format 1), or ingest again into a new store
"""


@pytest.fixture
def older(folder: Path) -> Path:
    folder.mkdir()
    shutil.copy(CATALOG, folder)
    return folder


@pytest.mark.parametrize("create", [False, True])
def test_store_of_schema_version_3_is_refused_unchanged(older: Path, create: bool) -> None:
    with pytest.raises(StoreFormat, match="an older version of graphkin") as error:
        open_store(older, create=create)
    assert not isinstance(error.value, StoreDamaged)
    assert [path.name for path in older.iterdir()] == [CATALOG.name]
    assert (older / CATALOG.name).read_bytes() == CATALOG.read_bytes()


@pytest.mark.parametrize("command", [["info"], ["serve", "--port", "0"], ["backup", "--to", "copy"]])
def test_commands_refuse_a_store_of_schema_version_3(
    older: Path, command: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    name, *options = command
    assert run([name, "--store", str(older), *options]) == 4
    assert capfd.readouterr().err == SCHEMA_ERROR


@pytest.mark.parametrize("format_version", [None, 1, 3])
def test_generation_of_another_format_is_refused(
    store: Store,
    folder: Path,
    publish: Callable[..., Manifest],
    edit_catalog: Callable[[Path], AbstractContextManager[Connection]],
    format_version: int | None,
    capfd: pytest.CaptureFixture[str],
) -> None:
    publish(store, "older")
    readable = publish(store, "c")
    with edit_catalog(folder) as catalog:
        (text,) = catalog.execute("SELECT manifest FROM generations WHERE collection = 'older'").fetchone()
        values: dict[str, Any] = {key: value for key, value in json.loads(text).items() if key != "format"}
        rewritten = json.dumps(values if format_version is None else {**values, "format": format_version})
        catalog.execute("UPDATE generations SET manifest = ? WHERE collection = 'older'", (rewritten,))
    files = _files(folder)
    with open_store(folder) as reopened:
        for request in (
            lambda: reopened.manifest("older"),
            lambda: reopened.open("older"),
            lambda: reopened.delete("older", reopened.collection("older").current),
            lambda: reopened.growth("older"),
            lambda: publish(reopened, "older", 6),
        ):
            with pytest.raises(StoreFormat, match=f"given: format {format_version or 1}\n") as error:
                request()
            assert not isinstance(error.value, StoreDamaged)
        assert reopened.manifest("c") == readable
    assert _files(folder) == files
    assert run(["info", "--store", str(folder), "--collection", "older"]) == 4
    assert capfd.readouterr().err == FORMAT_ERROR.replace("format 1\n", f"format {format_version or 1}\n", 1)


def _files(folder: Path) -> dict[str, str]:
    files = (path for path in (folder / "collections").rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
