"""Ctrl-C, a killed parent, and two ingests into one collection at once."""

import os
import shutil
import signal

import pytest

from graphkin.protocol.errors import StoreBusy
from graphkin.store import open_store

WORKERS = 2
HELPERS = 3  # the command itself, and its pool's fork server and resource tracker


@pytest.fixture
def store(tmp_path, undisturbed):
    return shutil.copytree(undisturbed.store, tmp_path / "store")


@pytest.fixture(scope="module")
def records():
    """Molecules that keep every worker waiting for more: two batches and a bit, read in one block of 256 KiB."""
    return "".join(f"{'C' * (1 + number % 50)} {'x' * 60}{number:04}\n" for number in range(3000))


@pytest.mark.parametrize(
    "members",
    [pytest.param(1, marks=pytest.mark.long), HELPERS, pytest.param(HELPERS + WORKERS, marks=pytest.mark.long)],
)
def test_ctrl_c_while_parsing(members, store, records, graphkin, undisturbed, read_back, leftovers):
    """Pressed as soon as the pool has grown so far; a terminal signals every process of the session."""
    with graphkin.waiting(store, records) as session:
        session.said("compile")
        session.grown(members)
        os.killpg(session.process.pid, signal.SIGINT)
        out, errors = session.process.communicate()
        assert session.process.returncode == 130, errors
        assert errors.split() == ["interrupted"]
        session.ended()
    assert not out
    assert read_back(store) == undisturbed.first
    assert not leftovers(store)


def test_ctrl_c_while_publishing(store, molecules, graphkin, saboteur, undisturbed, read_back, leftovers):
    plan = saboteur.plan(store, kind="rename", at=1, action=signal.SIGINT)
    process = graphkin.ingest(molecules[1], store, plan=plan)
    assert process.returncode == 130
    assert "Traceback" not in process.stderr
    assert read_back(store) == undisturbed.first
    assert not leftovers(store)


def test_no_worker_outlives_a_killed_ingest(store, records, graphkin, undisturbed, read_back):
    with graphkin.waiting(store, records) as session:
        session.said("compile")
        session.grown(HELPERS + WORKERS)
        session.process.kill()
        session.ended()
    assert read_back(store) == undisturbed.first


def test_a_second_ingest_is_told_who_is_busy(store, molecules, records, graphkin, undisturbed, read_back):
    with graphkin.waiting(store, records) as session:
        session.said("compile")
        second = graphkin.here(*graphkin.ingesting(molecules[0], store))
        assert second.returncode == 4
        assert "another process is writing collection 'nci'" in second.stderr
        assert "Traceback" not in second.stderr
        with open_store(store) as opened, pytest.raises(StoreBusy):
            opened.delete("nci", undisturbed.first.current)
        assert read_back(store) == undisturbed.first
        session.process.communicate()
        assert session.process.returncode == 0
    assert len(read_back(store).generations) == 2
