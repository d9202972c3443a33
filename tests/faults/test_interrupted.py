"""Ctrl-C, a killed parent process, and two concurrent ingests into one collection."""

import os
import shutil
import signal

import pytest

from graphkin.protocol.errors import StoreBusy
from graphkin.store import open_store

WORKERS = 2
HELPERS = 3  # The command itself, and its pool's fork server and resource tracker.


@pytest.fixture
def store(tmp_path, baseline):
    return shutil.copytree(baseline.store, tmp_path / "store")


@pytest.fixture(scope="module")
def records():
    """Return molecules that keep all workers waiting: two batches and a bit, read in one block of 256 KiB."""
    return "".join(f"{'C' * (1 + number % 50)} {'x' * 60}{number:04}\n" for number in range(3000))


@pytest.mark.parametrize(
    "members",
    [pytest.param(1, marks=pytest.mark.long), HELPERS, pytest.param(HELPERS + WORKERS, marks=pytest.mark.long)],
)
def test_ctrl_c_while_parsing_leaves_nothing(members, store, records, graphkin, baseline, read_back, leftovers):
    """The signal comes when the pool has reached this size. A terminal signals every process of the session."""
    with graphkin.start_unfinished_ingest(store, records) as session:
        session.wait_for_stage("compile")
        session.wait_for_size(members)
        os.killpg(session.process.pid, signal.SIGINT)
        out, errors = session.process.communicate()
        assert session.process.returncode == 130, errors
        assert errors.split() == ["interrupted"]
        session.wait_until_ended()
    assert not out
    assert read_back(store) == baseline.first
    assert not leftovers(store)


def test_ctrl_c_while_publishing_leaves_nothing(
    store, molecule_files, graphkin, saboteur, baseline, read_back, leftovers
):
    plan = saboteur.plan(store, kind="rename", at=1, action=signal.SIGINT)
    process = graphkin.ingest(molecule_files[1], store, plan=plan)
    assert process.returncode == 130
    assert "Traceback" not in process.stderr
    assert read_back(store) == baseline.first
    assert not leftovers(store)


def test_no_worker_outlives_a_killed_ingest(store, records, graphkin, baseline, read_back):
    with graphkin.start_unfinished_ingest(store, records) as session:
        session.wait_for_stage("compile")
        session.wait_for_size(HELPERS + WORKERS)
        session.process.kill()
        session.wait_until_ended()
    assert read_back(store) == baseline.first


def test_second_ingest_is_refused_while_one_is_writing(store, molecule_files, records, graphkin, baseline, read_back):
    with graphkin.start_unfinished_ingest(store, records) as session:
        session.wait_for_stage("compile")
        second = graphkin.run_here(*graphkin.ingest_arguments(molecule_files[0], store))
        assert second.returncode == 4
        assert "another process is writing collection 'nci'" in second.stderr
        assert "Traceback" not in second.stderr
        with open_store(store) as opened, pytest.raises(StoreBusy):
            opened.delete("nci", baseline.first.current)
        assert read_back(store) == baseline.first
        session.process.communicate()
        assert session.process.returncode == 0
    assert len(read_back(store).generations) == 2
