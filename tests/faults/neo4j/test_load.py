"""Commands that write to Neo4j while connections are cut, or while the command or the server is killed."""

import signal
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from graphkin.cli import run
from graphkin.store.neo4j import connection

SCENARIOS = {  # Name -> (commands run before, command), each with its generation or file.
    "load the first": ([], ("load", "first")),
    "load another": ([("load", "first")], ("load", "second")),
    "load an old one again": ([("load", "first"), ("load", "second")], ("load", "first")),
    "delete the current one": ([("load", "first"), ("load", "second")], ("delete", "second")),
    "append": ([("ingest", "older.smi")], ("append", "newer.smi")),
    "remove": ([("ingest", "older.smi")], ("remove", "listed.txt")),
}


class Scenario:
    """A command, with the published states before and after it.

    Attributes:
        commits: Number of transactions of the command.
        census: Number of nodes by label and of relationships by type after the command.
    """

    def __init__(self, name, server, source, files, open_proxy, read_back):
        self.name = name
        self._before, self._command = SCENARIOS[name]
        self._server, self._source, self._files, self._read_back = server, source, files, read_back
        self.reset()
        self.before = read_back(server.url)
        with open_proxy() as proxy:
            commits = proxy.strike(lambda _: False)
            assert run(self.arguments(proxy.url)) == 0
        self.after, self.census, self.commits = read_back(server.url), self.count(), commits.seen
        assert self.before != self.after

    def reset(self):
        self._server.clear()
        for command in self._before:
            assert run(self.arguments_for(*command, self._server.url)) == 0

    def arguments(self, url):
        return self.arguments_for(*self._command, url)

    def arguments_for(self, command, source_name, url):
        place = ["--store", url, "--collection", "c"]
        match command:
            case "load":
                folder = ["--store", str(self._source.folder), "--to", url, "--collection", "c"]
                return ["load", *folder, "--generation", getattr(self._source, source_name)]
            case "delete":
                return ["delete", *place, "--generation", getattr(self._source, source_name)]
            case "ingest":
                return ["ingest", "molecules", str(self._files / source_name), *place, "--workers", "1"]
            case "append":
                return ["append", str(self._files / source_name), *place, "--workers", "1"]
        missing = ["--rejections-file", str(self._files / "missing.csv")]
        return [command, str(self._files / source_name), *place, "--by", "smiles", "--workers", "1", *missing]

    def count(self):
        nodes = self._server.ask("MATCH (n) RETURN labels(n)[0] AS what, count(*) AS number")
        relationships = self._server.ask("MATCH ()-[r]->() RETURN type(r) AS what, count(*) AS number")
        return {row["what"]: row["number"] for row in nodes + relationships}

    def is_done(self):
        """Return whether the published state is the one after the command. It must be that or the one before."""
        state = self._read_back(self._server.url)
        assert state in (self.before, self.after)
        return state == self.after

    def leaves_nothing_else(self, reruns=0):
        """Return whether nothing is left but the generations and the records of so many repeated runs."""
        return self.count() == {**self.census, **({"GraphkinRerun": reruns} if reruns else {})}


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=[] if "another" in name else pytest.mark.long) for name in SCENARIOS],
)
def scenario(request, server, source, files, open_proxy, read_back):
    return Scenario(request.param, server, source, files, open_proxy, read_back)


@pytest.fixture(scope="module")
def load_scenario(server, source, files, open_proxy, read_back):
    return Scenario("load another", server, source, files, open_proxy, read_back)


@pytest.fixture(scope="module", params=["load another", "append", pytest.param("remove", marks=pytest.mark.long)])
def write_scenario(request, server, source, files, open_proxy, read_back):
    return Scenario(request.param, server, source, files, open_proxy, read_back)


@pytest.fixture(scope="module")
def files(tmp_path_factory, nci_file):
    """Return a folder with molecules to ingest, molecules to append, and a list of ingested ones to remove."""
    folder = tmp_path_factory.mktemp("files")
    lines = nci_file.read_text().splitlines()
    for name, selection in (("older.smi", lines[:40]), ("newer.smi", lines[35:50])):
        (folder / name).write_text("".join(f"{line}\n" for line in selection))
    (folder / "listed.txt").write_text("".join(f"{line.split()[0]}\n" for line in lines[:40:4]))
    return folder


@pytest.mark.parametrize("lost", [pytest.param("request", marks=pytest.mark.long), "reply"])
def test_command_takes_effect_once_when_every_commit_is_cut(lost, scenario, server, serve, proxy):
    """The command cannot know whether a cut transaction took place.

    Clients of the API see the state before, then the state after, and nothing else.
    """
    scenario.reset()
    observed = []
    with serve(server.url) as client:
        proxy.strike(
            lambda number: number % 2 == 1, lost=lost, then=lambda: observed.append(current_generations(client))
        )
        assert run(scenario.arguments(proxy.url)) == 0
        observed.append(current_generations(client))
    assert len(observed) > scenario.commits // 2
    changes = [[] if state is None else [state.current] for state in (scenario.before, scenario.after)]
    assert sorted(observed, key=changes.index) == observed
    assert scenario.is_done()
    assert scenario.leaves_nothing_else()


def current_generations(client):
    """Return the current generations of all collections."""
    return [collection["generation"] for collection in client.get("/v1/collections").json()["collections"]]


def test_load_survives_cuts_at_any_message(load_scenario, source, proxy, read_back):
    assert load_scenario.after == read_back(source.folder)
    load_scenario.reset()
    for part, lost in enumerate(("request", "reply")):
        messages = proxy.strike(lambda number, part=part: number % 24 == 12 * part, pattern=b"", lost=lost)
    assert run(load_scenario.arguments(proxy.url)) == 0
    assert messages.seen > 2 * load_scenario.commits
    assert load_scenario.is_done()
    assert load_scenario.leaves_nothing_else()


@pytest.mark.parametrize("lost", [pytest.param("request", marks=pytest.mark.long), "reply"])
def test_load_keeps_a_publication_whose_confirmation_was_lost(lost, load_scenario, proxy, monkeypatch, capfd):
    """The command gives up immediately. It must not undo what may have been published."""
    load_scenario.reset()
    proxy.strike(lambda number: number == load_scenario.commits, lost=lost)
    with monkeypatch.context() as hasty:
        hasty.setitem(connection._PATIENCE, "long", 0)
        assert run(load_scenario.arguments(proxy.url)) == 4
    assert "Neo4j does not answer" in capfd.readouterr().err
    assert load_scenario.is_done() == (lost == "reply")
    assert run(load_scenario.arguments(proxy.url)) == 0
    assert load_scenario.is_done()
    assert load_scenario.leaves_nothing_else()


def test_load_fails_clearly_when_server_stays_away(load_scenario, server, proxy, monkeypatch, capfd):
    load_scenario.reset()
    proxy.strike(lambda number: number == load_scenario.commits - 1, then=proxy.vanish)
    with monkeypatch.context() as hasty:
        hasty.setattr(connection, "_PATIENCE", {"short": 0, "long": 0})
        assert run(load_scenario.arguments(proxy.url)) == 4
    errors = capfd.readouterr().err
    assert "error: Neo4j does not answer" in errors
    assert "Traceback" not in errors
    assert server.password not in errors
    assert not load_scenario.is_done()
    assert_continues_after_the_lease(load_scenario, server)


def assert_continues_after_the_lease(write_scenario, server):
    """Check that another command waits for the lease of the killed writer, and then removes its leftovers."""
    assert run(write_scenario.arguments(server.url)) == 4
    server.ask("MATCH (d:GraphkinDraft) SET d.until = 0")
    assert run(write_scenario.arguments(server.url)) == 0
    assert write_scenario.is_done()
    assert write_scenario.leaves_nothing_else()


@pytest.mark.parametrize("at", [pytest.param(0.5, marks=pytest.mark.long), 1])
def test_killed_command_can_be_repeated(at, write_scenario, server, proxy, graphkin):
    """The command is killed in the middle, or after the server has published and before it has confirmed."""
    write_scenario.reset()
    last = int(at * write_scenario.commits)
    process: subprocess.Popen[bytes]
    proxy.strike(lambda number: number == last, lost="reply", then=lambda: process.kill())
    with graphkin.start_process(*write_scenario.arguments(proxy.url)) as process:
        assert process.wait(60) == -signal.SIGKILL
    assert write_scenario.is_done() == (at == 1)
    if at < 1:
        assert_continues_after_the_lease(write_scenario, server)
    assert run(write_scenario.arguments(server.url)) == 0
    assert write_scenario.leaves_nothing_else(reruns=int(at == 1 and write_scenario.name == "append"))


@pytest.mark.parametrize(("at", "lost"), [pytest.param(0.5, "request", marks=pytest.mark.long), (1, "reply")])
def test_load_continues_after_server_restart(at, lost, load_scenario, server, proxy, monkeypatch):
    """The command continues, even if the server was killed between publishing and confirming."""
    monkeypatch.setitem(connection._PATIENCE, "long", 200)  # Even a slow machine restarts the server in that time.
    load_scenario.reset()
    last = int(at * load_scenario.commits)
    killed = threading.Event()

    def kill():
        server.kill()
        killed.set()

    proxy.strike(lambda number: number == last, lost=lost, then=kill)
    with ThreadPoolExecutor(1) as pool:
        code = pool.submit(run, load_scenario.arguments(proxy.url))
        assert killed.wait(60)
        server.start()
        assert code.result() == 0
    assert load_scenario.is_done()
    assert load_scenario.leaves_nothing_else()
