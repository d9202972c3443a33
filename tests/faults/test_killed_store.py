"""The embedded store struck at every single file operation: a generation is published whole or not at all."""

import errno
import shutil
import signal

import pytest

STRATA = 10


@pytest.fixture(scope="module")
def stores(tmp_path_factory, forks):
    """Stores after 0, 1 and 2 publications."""
    folder = tmp_path_factory.mktemp("stores")
    forks("create", folder / "0")
    for batch in (1, 2):
        shutil.copytree(folder / f"{batch - 1}", folder / f"{batch}")
        assert "generation" in forks("publish", folder / f"{batch}", batch=batch).said
    return folder


SCENARIOS = {
    "first": ("0", "publish", 1),
    "second": ("1", "publish", 2),
    "again": ("2", "publish", 1),
    "delete": ("2", "delete", 0),
    "delete last": ("1", "delete", 0),
}


class Scenario:
    """One operation on a copy of a prepared store, and what is published before and after it."""

    def __init__(self, name, stores, folder, forks, saboteur, read_back):
        start, self.operation, self.batch = SCENARIOS[name]
        self.start, self.folder, self.forks, self.saboteur = stores / start, folder, forks, saboteur
        self.store = folder / "store"
        self.before = read_back(self.start)
        plan, _ = self.struck("any", 0, signal.SIGKILL)
        self.after = read_back(self.store)
        self.operations = plan.operations()
        assert self.before != self.after

    def struck(self, kind, at, action):
        shutil.rmtree(self.store, ignore_errors=True)
        shutil.copytree(self.start, self.store)
        plan = self.saboteur.plan(self.store, kind=kind, at=at, action=action)
        return plan, self.run(plan)

    def run(self, plan=None):
        return self.forks(self.operation, self.store, batch=self.batch, plan=plan)

    def count(self, kind):
        return sum(kind in ("any", found) for found, _ in self.operations)


@pytest.fixture(params=SCENARIOS)
def scenario(request, stores, tmp_path, forks, saboteur, read_back):
    return Scenario(request.param, stores, tmp_path, forks, saboteur, read_back)


def test_killed_before_any_operation_it_is_done_or_not_begun(scenario, read_back, leftovers):
    seen = set()
    for at in range(1, scenario.count("any") + 1):
        plan, ended = scenario.struck("any", at, signal.SIGKILL)
        assert ended.status == -signal.SIGKILL, at
        state = read_back(scenario.store)
        assert state in (scenario.before, scenario.after), plan.operations()[-1]
        seen.add(state == scenario.after)
        if state == scenario.before:
            scenario.run()
            assert read_back(scenario.store) == scenario.after, plan.operations()[-1]
            assert not leftovers(scenario.store), plan.operations()[-1]
    assert seen == {False, True}  # the strikes fell on both sides of the moment that counts


@pytest.mark.parametrize(
    ("kind", "error"), [("write", errno.ENOSPC), ("sync", errno.EIO), ("rename", errno.EACCES), ("write", errno.EDQUOT)]
)
def test_failing_disk(scenario, kind, error, read_back, leftovers):
    for at in range(1, scenario.count(kind) + 1):
        plan, ended = scenario.struck(kind, at, -error)
        assert ended.status == 0
        print(plan.operations()[-1], ended.said, read_back(scenario.store)==scenario.before, leftovers(scenario.store))
