"""Faults at every file operation of the embedded store: a generation is published completely or not at all."""

import errno
import shutil
import signal

import pytest

from graphkin.protocol.errors import NotFound
from graphkin.store import open_store

SCENARIOS = {  # Name -> (number of published generations, operation, number of the batch of molecules).
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
def stores(memory_folder, forks):
    """Return a folder of stores, each named after its number of published generations."""
    forks("create", memory_folder / "0")
    for batch in (1, 2):
        shutil.copytree(memory_folder / f"{batch - 1}", memory_folder / f"{batch}")
        assert "result" in forks("publish", memory_folder / f"{batch}", batch).message
    shutil.copytree(memory_folder / "1", memory_folder / "grown")
    assert "result" in forks("grow", memory_folder / "grown").message
    return memory_folder


class Scenario:
    """An operation on copies of a prepared store, with the published states before and after it."""

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
        """Strike the operations of a kind one by one, and yield a description and the fork's result."""
        for at in range(1, sum(kind in ("any", other) for other, _ in self.operations) + 1):
            plan, result = self.strike(kind=kind, at=at, action=action)
            yield f"{kind} {at}: {plan.operations()[-1]}", result


LONG = ("publish the first", "compact", "delete what grew", "delete the only one")
AT_EVERY_OPERATION = [  # CI strikes only the scenarios with the most to lose.
    pytest.param(name, marks=[pytest.mark.long] * (name in LONG)) for name in SCENARIOS
]


@pytest.fixture(scope="module", params=SCENARIOS)
def scenario(request, stores, forks, saboteur, read_back):
    return Scenario(request.param, stores, forks, saboteur, read_back)


@pytest.mark.parametrize("scenario", AT_EVERY_OPERATION, indirect=True)
def test_operation_killed_anywhere_takes_effect_completely_or_not_at_all(scenario, read_back, leftovers):
    states = []
    for where, result in scenario.strikes("any", signal.SIGKILL):
        assert result.status == -signal.SIGKILL, where
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
def test_store_is_created_completely_or_not_at_all(action, memory_folder, forks, saboteur):
    store = memory_folder / f"created{int(action)}"
    plan = saboteur.plan(store)
    forks("create", store, plan=plan)
    for at in range(1, len(plan.operations())):
        shutil.rmtree(store)
        plan = saboteur.plan(store, at=at, action=action)
        assert "result" not in forks("create", store, plan=plan).message, plan.operations()[-1]
        if ("unlink", store / "catalog.sqlite-journal") in plan.operations()[:-1]:
            assert open_store(store).collections() == []
        else:
            with pytest.raises(NotFound):
                open_store(store)
        assert "result" in forks("publish", store, 1).message, plan.operations()[-1]


def test_operation_interrupted_at_any_sync_leaves_no_draft(scenario, read_back, leftovers):
    for where, result in scenario.strikes("sync", signal.SIGINT):
        assert result.message == {"error": "interrupted"}, where
        assert read_back(scenario.store) in (scenario.before, scenario.after), where
        assert not any(name.startswith("draft") for name in leftovers(scenario.store)), where


@pytest.mark.parametrize("scenario", AT_EVERY_OPERATION, indirect=True)
def test_full_disk_at_any_write_changes_nothing(scenario, read_back, leftovers):
    for where, result in scenario.strikes("write", -errno.ENOSPC):
        state = read_back(scenario.store)
        failed = result.message == {"error": "StoreError"}
        assert state == (scenario.before if failed else scenario.after), where
        assert not any(name.startswith("draft") for name in leftovers(scenario.store)), where
    scenario.run()
    assert read_back(scenario.store) == scenario.after


def test_failing_sync_raises_store_error(scenario, read_back):
    """The last sync follows the commit. An error in any other sync means that nothing has changed."""
    outcomes = [(result.message, read_back(scenario.store)) for _, result in scenario.strikes("sync", -errno.EIO)]
    assert [message for message, _ in outcomes] == [{"error": "StoreError"}] * len(outcomes)
    assert [state for _, state in outcomes] == [scenario.before] * (len(outcomes) - 1) + [scenario.after]


@pytest.mark.parametrize("scenario", ["publish the first", "publish another"], indirect=True)
def test_unwritable_collection_folder_changes_nothing(scenario, read_back, leftovers):
    ((where, result),) = scenario.strikes("rename", -errno.EACCES)
    assert result.message == {"error": "StoreError"}, where
    assert read_back(scenario.store) == scenario.before
    assert not leftovers(scenario.store)


def test_everything_published_is_synced_before_the_commit(scenario):
    """Otherwise a loss of power could undo a committed generation."""
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
