"""`graphkin ingest molecules`, `append`, `remove` and `delete` killed at the n-th file operation below the store, and
`append` where files cannot be removed."""

import errno
import shutil
import signal

import networkx as nx
import pytest

from graphkin.store import open_store

STRATA = 10


@pytest.mark.parametrize(
    "stratum",
    [pytest.param(n, marks=[] if n in (STRATA // 2, STRATA - 1) else pytest.mark.long) for n in range(STRATA)],
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


@pytest.fixture(scope="module")
def grown(undisturbed, graphkin, forks, molecules, saboteur, tmp_path_factory, read_back):
    """What an append publishes that goes as it should, and its operations."""
    store = tmp_path_factory.mktemp("grown") / "store"
    shutil.copytree(undisturbed.store, store)
    plan = saboteur.plan(store)
    assert forks("command", *graphkin.appending(molecules[1], store), plan=plan).said == {"result": 0}
    return read_back(store), plan.operations()


@pytest.mark.parametrize(
    "stratum",
    [pytest.param(n, marks=[] if n == STRATA // 2 else pytest.mark.long) for n in range(STRATA)],
)
def test_append_killed(
    stratum, undisturbed, grown, graphkin, forks, molecules, saboteur, tmp_path, read_back, leftovers
):
    store, (after, operations) = tmp_path / "store", grown
    shutil.copytree(undisturbed.store, store)
    plan = saboteur.plan(store, at=1 + stratum * (len(operations) - 1) // (STRATA - 1))
    assert forks("command", *graphkin.appending(molecules[1], store), plan=plan).status == -signal.SIGKILL
    assert read_back(store) in (undisturbed.first, after), plan.operations()[-1]
    graphkin.here(*graphkin.appending(molecules[1], store)).check_returncode()
    assert read_back(store) == after
    assert not leftovers(store)


def test_append_where_files_cannot_be_removed(
    undisturbed, grown, graphkin, forks, molecules, saboteur, tmp_path, read_back
):
    """The command ends with an exit code and a sentence, and publishes all or nothing."""
    after, operations = grown
    unlinks = sum(kind == "unlink" for kind, _ in operations)
    assert unlinks > 2
    for at in range(1, unlinks + 1):
        store = tmp_path / str(at)
        shutil.copytree(undisturbed.store, store)
        plan = saboteur.plan(store, kind="unlink", at=at, action=-errno.EACCES)
        ended = forks("command", *graphkin.appending(molecules[1], store), plan=plan)
        where = plan.operations()[-1]
        assert ended.said in ({"result": 0}, {"result": 4}), where
        assert read_back(store) == (after if ended.said["result"] == 0 else undisturbed.first), where
        graphkin.here(*graphkin.appending(molecules[1], store)).check_returncode()
        assert read_back(store) == after, where


@pytest.fixture(scope="module")
def listed(molecules, tmp_path_factory):
    """Every fifth of the molecules that are there, as a list."""
    file = tmp_path_factory.mktemp("listed") / "listed.txt"
    lines = molecules[0].read_text().splitlines()
    file.write_text("".join(f"{line.split()[0]}\n" for line in lines[::5]))
    return file


@pytest.fixture(scope="module")
def smaller(undisturbed, graphkin, forks, listed, saboteur, tmp_path_factory, read_back):
    """What a removal publishes that goes as it should, and its operations."""
    store = tmp_path_factory.mktemp("smaller") / "store"
    shutil.copytree(undisturbed.store, store)
    plan = saboteur.plan(store)
    assert forks("command", *graphkin.removing(listed, store), plan=plan).said == {"result": 0}
    return read_back(store), plan.operations()


@pytest.mark.parametrize("stratum", range(STRATA))
def test_remove_killed(
    stratum, undisturbed, smaller, graphkin, forks, listed, saboteur, tmp_path, read_back, leftovers
):
    store, (after, operations) = tmp_path / "store", smaller
    shutil.copytree(undisturbed.store, store)
    plan = saboteur.plan(store, at=1 + stratum * (len(operations) - 1) // (STRATA - 1))
    assert forks("command", *graphkin.removing(listed, store), plan=plan).status == -signal.SIGKILL
    found = read_back(store)
    assert found in (undisturbed.first, after), plan.operations()[-1]
    if found != after:  # else there is nothing left to remove, and the next writer sweeps
        graphkin.here(*graphkin.removing(listed, store)).check_returncode()
    assert read_back(store) == after
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


@pytest.mark.parametrize(
    "at", [20, pytest.param(60, marks=pytest.mark.long), pytest.param(100, marks=pytest.mark.long)]
)
def test_ingest_of_nodes_killed(at, forks, saboteur, tmp_path, leftovers):
    store, club = tmp_path / "store", nx.karate_club_graph()
    (tmp_path / "club.edgelist").write_text("".join(f"{u} {v}\n" for u, v in club.edges))
    command = ("ingest", "nodes", str(tmp_path / "club.edgelist"), "--collection", "club", "--workers", "1", "--store")
    plan = saboteur.plan(store, at=at)
    assert forks("command", *command, str(store), plan=plan).status == -signal.SIGKILL, plan.operations()[-1]
    for folder in (store, tmp_path / "whole"):
        assert forks("command", *command, str(folder)).said == {"result": 0}
    found = []
    for folder in (store, tmp_path / "whole"):
        with open_store(folder) as opened, opened.open("club") as generation:
            assert generation.check() == []
            links = generation.links()
            assert links is not None
            assert len(links.indices) == 2 * club.number_of_edges()
            found.append(generation.id)
    assert found[0] == found[1]
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
