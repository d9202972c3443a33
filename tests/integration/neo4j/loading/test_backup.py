"""Backup of a store on a server into a folder, and its restoration."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from graphkin.cli import run
from graphkin.store import open_store
from graphkin.store.backup import copy_all
from graphkin.store.base import Generation
from graphkin.store.contract.hierarchies import GRAPHS, MOLECULES


def test_restored_backup_equals_the_original(
    empty_server: Any, tmp_path: Path, assert_same: Callable[[Generation, Generation], None], capfd: Any
) -> None:
    backup = tmp_path / "backup"
    with open_store(empty_server.url, create=True) as store:
        generations = [MOLECULES.publish(store, "c").generation, GRAPHS.publish(store, "g").generation]
        assert run(["backup", "--store", empty_server.url, "--to", str(backup)]) == 0
        assert run(["backup", "--store", empty_server.url, "--to", str(backup)]) == 0
        assert capfd.readouterr().out.endswith("0 generations saved, 2 already present\n")
        for name, generation in zip("cg", generations, strict=True):
            store.delete(name, generation)
        assert run(["restore", "--from", str(backup), "--to", empty_server.url]) == 0
        assert capfd.readouterr().out.endswith("2 generations restored, 0 already present\n")
        with open_store(backup) as saved:
            assert copy_all(saved, store).new == []
            for name in "cg":
                with saved.open(name) as expected, store.open(name) as restored:
                    assert_same(expected, restored)
