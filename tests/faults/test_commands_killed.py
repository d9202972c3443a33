"""`graphkin ingest molecules` and `graphkin delete` killed at the n-th file operation below the store."""

import shutil
import signal

import pytest

STRATA = 10


@pytest.mark.parametrize(
    "stratum",
    [pytest.param(n, marks=[] if n in (0, STRATA // 2, STRATA - 1) else pytest.mark.long) for n in range(STRATA)],
)
def test_ingest_killed(stratum, undisturbed, graphkin, forks, molecules, saboteur, tmp_path, read_back, leftovers):
    store = tmp_path / "store"
    shutil.copytree(undisturbed.store, store)
    last = len(undisturbed.operations) - 1
    plan = saboteur.plan(store, at=1 + stratum * last // (STRATA - 1))
    assert forks("command", *graphkin.ingesting(molecules[1], store), plan=plan).status == -signal.SIGKILL
    assert read_back(store) in (undisturbed.first, undisturbed.second), plan.operations()[-1]
    graphkin.here(*graphkin.ingesting(molecules[1], store)).check_returncode()
    assert read_back(store) == undisturbed.second
    assert not leftovers(store)


def test_ingest_killed_at_the_rename(undisturbed, graphkin, molecules, saboteur, tmp_path, read_back, leftovers):
    store = tmp_path / "store"
    shutil.copytree(undisturbed.store, store)
    plan = saboteur.plan(store, kind="rename", at=1)
    assert graphkin.ingest(molecules[1], store, plan=plan).returncode == -signal.SIGKILL
    assert read_back(store) == undisturbed.first
    graphkin.here(*graphkin.ingesting(molecules[1], store)).check_returncode()
    assert read_back(store) == undisturbed.second
    assert not leftovers(store)


def test_delete_killed_after_its_commit(undisturbed, graphkin, molecules, saboteur, tmp_path, read_back, leftovers):
    store, gone = tmp_path / "store", undisturbed.first.current
    shutil.copytree(undisturbed.store, store)
    plan = saboteur.plan(store, kind="unlink", at=3)  # the journal of the catalog, then the files one by one
    delete = ("delete", "--store", store, "--collection", "nci", "--generation", gone)
    assert graphkin.run(*delete, plan=plan).returncode == -signal.SIGKILL
    assert read_back(store) is None
    assert leftovers(store) == {gone}
    again = graphkin.here(*delete)
    assert again.returncode == 3
    assert "was deleted at" in again.stderr
    graphkin.here(*graphkin.ingesting(molecules[0], store)).check_returncode()
    assert read_back(store) == undisturbed.first
    assert not leftovers(store)
