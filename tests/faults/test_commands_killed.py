"""Commands killed at the n-th file operation below the store, and `append` where files cannot be removed."""

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
def test_killed_ingest_publishes_all_or_nothing(
    stratum, baseline, graphkin, forks, molecule_files, saboteur, tmp_path, read_back, leftovers
):
    store = tmp_path / "store"
    shutil.copytree(baseline.store, store)
    last = len(baseline.operations) - 1
    plan = saboteur.plan(store, at=1 + stratum * last // (STRATA - 1))
    assert forks("command", *graphkin.ingest_arguments(molecule_files[1], store), plan=plan).status == -signal.SIGKILL
    assert read_back(store) in (baseline.first, baseline.second), plan.operations()[-1]
    graphkin.run_here(*graphkin.ingest_arguments(molecule_files[1], store)).check_returncode()
    assert read_back(store) == baseline.second
    assert not leftovers(store)


@pytest.fixture(scope="module")
def append_run(baseline, graphkin, forks, molecule_files, saboteur, tmp_path_factory, read_back):
    """Return the state that an undisturbed append publishes, and its file operations."""
    store = tmp_path_factory.mktemp("grown") / "store"
    shutil.copytree(baseline.store, store)
    plan = saboteur.plan(store)
    assert forks("command", *graphkin.append_arguments(molecule_files[1], store), plan=plan).message == {"result": 0}
    return read_back(store), plan.operations()


@pytest.mark.parametrize(
    "stratum",
    [pytest.param(n, marks=[] if n == STRATA // 2 else pytest.mark.long) for n in range(STRATA)],
)
def test_killed_append_publishes_all_or_nothing(
    stratum, baseline, append_run, graphkin, forks, molecule_files, saboteur, tmp_path, read_back, leftovers
):
    store, (after, operations) = tmp_path / "store", append_run
    shutil.copytree(baseline.store, store)
    plan = saboteur.plan(store, at=1 + stratum * (len(operations) - 1) // (STRATA - 1))
    assert forks("command", *graphkin.append_arguments(molecule_files[1], store), plan=plan).status == -signal.SIGKILL
    assert read_back(store) in (baseline.first, after), plan.operations()[-1]
    graphkin.run_here(*graphkin.append_arguments(molecule_files[1], store)).check_returncode()
    assert read_back(store) == after
    assert not leftovers(store)


def test_append_publishes_all_or_nothing_where_files_cannot_be_removed(
    baseline, append_run, graphkin, forks, molecule_files, saboteur, tmp_path, read_back
):
    """The command ends with an exit code and a message."""
    after, operations = append_run
    unlinks = sum(kind == "unlink" for kind, _ in operations)
    assert unlinks > 2
    for at in range(1, unlinks + 1):
        store = tmp_path / str(at)
        shutil.copytree(baseline.store, store)
        plan = saboteur.plan(store, kind="unlink", at=at, action=-errno.EACCES)
        result = forks("command", *graphkin.append_arguments(molecule_files[1], store), plan=plan)
        where = plan.operations()[-1]
        assert result.message in ({"result": 0}, {"result": 4}), where
        assert read_back(store) == (after if result.message["result"] == 0 else baseline.first), where
        graphkin.run_here(*graphkin.append_arguments(molecule_files[1], store)).check_returncode()
        assert read_back(store) == after, where


@pytest.fixture(scope="module")
def removal_list(molecule_files, tmp_path_factory):
    """Return a list of every fifth ingested molecule."""
    file = tmp_path_factory.mktemp("listed") / "listed.txt"
    lines = molecule_files[0].read_text().splitlines()
    file.write_text("".join(f"{line.split()[0]}\n" for line in lines[::5]))
    return file


@pytest.fixture(scope="module")
def removal_run(baseline, graphkin, forks, removal_list, saboteur, tmp_path_factory, read_back):
    """Return the state that an undisturbed removal publishes, and its file operations."""
    store = tmp_path_factory.mktemp("smaller") / "store"
    shutil.copytree(baseline.store, store)
    plan = saboteur.plan(store)
    assert forks("command", *graphkin.removal_arguments(removal_list, store), plan=plan).message == {"result": 0}
    return read_back(store), plan.operations()


@pytest.mark.parametrize("stratum", range(STRATA))
def test_killed_remove_publishes_all_or_nothing(
    stratum, baseline, removal_run, graphkin, forks, removal_list, saboteur, tmp_path, read_back, leftovers
):
    store, (after, operations) = tmp_path / "store", removal_run
    shutil.copytree(baseline.store, store)
    plan = saboteur.plan(store, at=1 + stratum * (len(operations) - 1) // (STRATA - 1))
    assert forks("command", *graphkin.removal_arguments(removal_list, store), plan=plan).status == -signal.SIGKILL
    state = read_back(store)
    assert state in (baseline.first, after), plan.operations()[-1]
    if state != after:  # If nothing is left to remove, the next writer removes the leftovers.
        graphkin.run_here(*graphkin.removal_arguments(removal_list, store)).check_returncode()
    assert read_back(store) == after
    assert not leftovers(store)


def test_ingest_killed_at_the_rename_publishes_nothing(
    baseline, graphkin, molecule_files, saboteur, tmp_path, read_back, leftovers
):
    store = tmp_path / "store"
    shutil.copytree(baseline.store, store)
    plan = saboteur.plan(store, kind="rename", at=1)
    assert graphkin.ingest(molecule_files[1], store, plan=plan).returncode == -signal.SIGKILL
    assert read_back(store) == baseline.first
    graphkin.run_here(*graphkin.ingest_arguments(molecule_files[1], store)).check_returncode()
    assert read_back(store) == baseline.second
    assert not leftovers(store)


@pytest.mark.parametrize(
    "at", [20, pytest.param(60, marks=pytest.mark.long), pytest.param(100, marks=pytest.mark.long)]
)
def test_killed_ingest_of_nodes_restarts_cleanly(at, forks, saboteur, tmp_path, leftovers):
    store, club = tmp_path / "store", nx.karate_club_graph()
    (tmp_path / "club.edgelist").write_text("".join(f"{u} {v}\n" for u, v in club.edges))
    command = ("ingest", "nodes", str(tmp_path / "club.edgelist"), "--collection", "club", "--workers", "1", "--store")
    plan = saboteur.plan(store, at=at)
    assert forks("command", *command, str(store), plan=plan).status == -signal.SIGKILL, plan.operations()[-1]
    for folder in (store, tmp_path / "whole"):
        assert forks("command", *command, str(folder)).message == {"result": 0}
    ids = []
    for folder in (store, tmp_path / "whole"):
        with open_store(folder) as opened, opened.open("club") as generation:
            assert generation.check() == []
            links = generation.links()
            assert links is not None
            assert len(links.indices) == 2 * club.number_of_edges()
            ids.append(generation.id)
    assert ids[0] == ids[1]
    assert not leftovers(store)


def test_delete_killed_after_its_commit_has_deleted(
    baseline, graphkin, molecule_files, saboteur, tmp_path, read_back, leftovers
):
    store, deleted_generation = tmp_path / "store", baseline.first.current
    shutil.copytree(baseline.store, store)
    # The first unlink is the catalog's journal; then the generation's files follow.
    plan = saboteur.plan(store, kind="unlink", at=3)
    delete = ("delete", "--store", store, "--collection", "nci", "--generation", deleted_generation)
    assert graphkin.run(*delete, plan=plan).returncode == -signal.SIGKILL
    assert read_back(store) is None
    assert leftovers(store) == {deleted_generation}
    again = graphkin.run_here(*delete)
    assert again.returncode == 3
    assert "was deleted at" in again.stderr
    graphkin.run_here(*graphkin.ingest_arguments(molecule_files[0], store)).check_returncode()
    assert read_back(store) == baseline.first
    assert not leftovers(store)
