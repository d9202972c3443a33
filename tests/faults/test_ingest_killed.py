"""`graphkin ingest molecules` killed at the n-th write, sync or rename below the store, in ten strata."""

import shutil
import signal

import pytest

STRATA = 10


@pytest.mark.parametrize("stratum", range(STRATA))
def test_killed(stratum, undisturbed, graphkin, molecules, saboteur, tmp_path, read_back, leftovers):
    store = tmp_path / "store"
    shutil.copytree(undisturbed.store, store)
    last = len(undisturbed.operations) - 1
    plan = saboteur.plan(store, at=1 + stratum * last // (STRATA - 1))
    assert graphkin.ingest(molecules[1], store, plan=plan).returncode == -signal.SIGKILL
    assert read_back(store) in (undisturbed.first, undisturbed.second), plan.operations()[-1]
    graphkin.ingest(molecules[1], store).check_returncode()
    assert read_back(store) == undisturbed.second
    assert not leftovers(store)


def test_killed_at_the_rename(undisturbed, graphkin, molecules, saboteur, tmp_path, read_back, leftovers):
    store = tmp_path / "store"
    shutil.copytree(undisturbed.store, store)
    plan = saboteur.plan(store, kind="rename", at=1)
    assert graphkin.ingest(molecules[1], store, plan=plan).returncode == -signal.SIGKILL
    assert read_back(store) == undisturbed.first
    graphkin.ingest(molecules[1], store).check_returncode()
    assert read_back(store) == undisturbed.second
    assert not leftovers(store)
