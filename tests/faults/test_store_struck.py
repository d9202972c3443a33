"""The embedded store struck at every single file operation: a generation is published whole or not at all."""

import errno
import shutil
import signal

import pytest

from graphkin.protocol.errors import NotFound
from graphkin.store import open_store

SCENARIOS = {  # name -> (how many generations are published, operation, which batch of molecules)
    "publish the first": (0, "publish", 1),
    "publish another": (1, "publish", 2),
    "publish an old one again": (2, "publish", 1),
    "grow": (1, "grow"),
    "compact": ("grown", "compact"),
    "delete what grew": ("grown", "delete"),
    "delete the current one": (2, "delete"),
    "delete the only one": (1, "delete"),
}


@pytest.fixture(scope="module")
def stores(memory, forks):
    """The folder of stores named by how many generations are published."""
    forks("create", memory / "0")
    for batch in (1, 2):
        shutil.copytree(memory / f"{batch - 1}", memory / f"{batch}")
        assert "result" in forks("publish", memory / f"{batch}", batch).said
    shutil.copytree(memory / "1", memory / "grown")
    assert "result" in forks("grow", memory / "grown").said
    return memory


class Scenario:
    """An operation on copies of a prepared store, and what is published before and after it."""

    def __init__(self, name, stores, forks, saboteur, read_back):
        generations, self._operation, *self._batch = SCENARIOS[name]
        self._start, self.store = stores / str(generations), stores / "struck"
        self._forks, self._saboteur = forks, saboteur
        self.name = name
        self.before = read_back(self._start)
        plan, _ = self.strike()
        self.after = read_back(self.store)
        assert self.before != self.after
        self.operations = plan.operations()

    def strike(self, **strike):
        shutil.rmtree(self.store, ignore_errors=True)
        shutil.copytree(self._start, self.store)
        plan = self._saboteur.plan(self.store, **strike)
        return plan, self.run(plan)

    def run(self, plan=None):
        return self._forks(self._operation, self.store, *self._batch, plan=plan)

    def strikes(self, kind, action):
        """Strike the operations of a kind one by one; yields which, and how the process ended."""
        for at in range(1, sum(kind in ("any", found) for found, _ in self.operations) + 1):
            plan, ended = self.strike(kind=kind, at=at, action=action)
            yield f"{kind} {at}: {plan.operations()[-1]}", ended


LONG = ("publish the first", "compact", "delete what grew", "delete the only one")
AT_EVERY_OPERATION = [  # CI strikes these where there is most to lose
    pytest.param(name, marks=[pytest.mark.long] * (name in LONG)) for name in SCENARIOS
]


@pytest.fixture(scope="module", params=SCENARIOS)
def scenario(request, stores, forks, saboteur, read_back):
    return Scenario(request.param, stores, forks, saboteur, read_back)


@pytest.mark.parametrize("scenario", AT_EVERY_OPERATION, indirect=True)
def test_killed_at_any_operation(scenario, read_back, leftovers):
    states = []
    for where, ended in scenario.strikes("any", signal.SIGKILL):
        assert ended.status == -signal.SIGKILL, where
        states.append(read_back(scenario.store))
        assert states[-1] in (scenario.before, scenario.after), where
        if states[-1] == scenario.before:
            scenario.run()
            assert read_back(scenario.store) == scenario.after, where
            assert "delete" in scenario.name or not leftovers(scenario.store), where
    done = [state == scenario.after for state in states]
    assert done == sorted(done)
    assert set(done) == {False, True}, "the strikes must fall on both sides of the moment that counts"


@pytest.mark.parametrize("action", [signal.SIGKILL, -errno.ENOSPC], ids=["killed", "full"])
def test_a_store_is_created_whole_or_not_at_all(action, memory, forks, saboteur):
    store = memory / f"created{int(action)}"
    plan = saboteur.plan(store)
    forks("create", store, plan=plan)
    for at in range(1, len(plan.operations())):
        shutil.rmtree(store)
        plan = saboteur.plan(store, at=at, action=action)
        assert "result" not in forks("create", store, plan=plan).said, plan.operations()[-1]
        if ("unlink", store / "catalog.sqlite-journal") in plan.operations()[:-1]:
            assert open_store(store).collections() == []
        else:
            with pytest.raises(NotFound):
                open_store(store)
        assert "result" in forks("publish", store, 1).said, plan.operations()[-1]


def test_interrupted_at_any_sync(scenario, read_back, leftovers):
    for where, ended in scenario.strikes("sync", signal.SIGINT):
        assert ended.said == {"error": "interrupted"}, where
        assert read_back(scenario.store) in (scenario.before, scenario.after), where
        assert not any(name.startswith("draft") for name in leftovers(scenario.store)), where


@pytest.mark.parametrize("scenario", AT_EVERY_OPERATION, indirect=True)
def test_full_disk_at_any_write(scenario, read_back, leftovers):
    for where, ended in scenario.strikes("write", -errno.ENOSPC):
        state = read_back(scenario.store)
        failed = ended.said == {"error": "StoreError"}
        assert state == (scenario.before if failed else scenario.after), where
        assert not any(name.startswith("draft") for name in leftovers(scenario.store)), where
    scenario.run()
    assert read_back(scenario.store) == scenario.after


def test_failing_sync(scenario, read_back):
    """The last sync follows the commit: there alone an error does not mean that nothing has changed."""
    outcomes = [(ended.said, read_back(scenario.store)) for _, ended in scenario.strikes("sync", -errno.EIO)]
    assert [said for said, _ in outcomes] == [{"error": "StoreError"}] * len(outcomes)
    assert [state for _, state in outcomes] == [scenario.before] * (len(outcomes) - 1) + [scenario.after]


@pytest.mark.parametrize("scenario", ["publish the first", "publish another"], indirect=True)
def test_unwritable_folder_of_the_collection(scenario, read_back, leftovers):
    ((where, ended),) = scenario.strikes("rename", -errno.EACCES)
    assert ended.said == {"error": "StoreError"}, where
    assert read_back(scenario.store) == scenario.before
    assert not leftovers(scenario.store)


def test_all_that_is_published_is_synced_before(scenario):
    """What a loss of power may undo is only what was not committed."""
    operations, store = scenario.operations, scenario.store
    commit = operations.index(("unlink", store / "catalog.sqlite-journal"))
    unlinked = {path for kind, path in operations if kind == "unlink"}
    for at, (kind, path) in enumerate(operations):
        if kind == "write" and path not in unlinked and path.parent not in unlinked:
            assert ("sync", path) in operations[at:commit], path
            assert path.parent == store or ("sync", path.parent) in operations[at:commit], path
        if kind == "rename":
            assert {("sync", path.parent), ("sync", path.parent.parent)} <= set(operations[at:commit])
    assert operations[commit + 1] == ("sync", store)
