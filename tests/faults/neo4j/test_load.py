"""Commands that write to Neo4j when connections are cut, the command is killed, or the server is."""

import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from graphkin.cli import run
from graphkin.store.neo4j import connection

SCENARIOS = {  # name -> (what was done before, command), each with its generation or file
    "load the first": ([], ("load", "first")),
    "load another": ([("load", "first")], ("load", "second")),
    "load an old one again": ([("load", "first"), ("load", "second")], ("load", "first")),
    "delete the current one": ([("load", "first"), ("load", "second")], ("delete", "second")),
    "append": ([("ingest", "older.smi")], ("append", "newer.smi")),
    "remove": ([("ingest", "older.smi")], ("remove", "listed.txt")),
}


class Scenario:
    """A command, and what is published before and after it; `commits` transactions lead from one to the other.

    `census`: how many nodes of each label and relationships of each type the database holds then.
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
            assert run(self._whole(*command, self._server.url)) == 0

    def arguments(self, url):
        return self._whole(*self._command, url)

    def _whole(self, command, what, url):
        place = ["--store", url, "--collection", "c"]
        match command:
            case "load":
                folder = ["--store", str(self._source.folder), "--to", url, "--collection", "c"]
                return ["load", *folder, "--generation", getattr(self._source, what)]
            case "delete":
                return ["delete", *place, "--generation", getattr(self._source, what)]
            case "ingest":
                return ["ingest", "molecules", str(self._files / what), *place, "--workers", "1"]
            case "append":
                return ["append", str(self._files / what), *place, "--workers", "1"]
        missing = ["--rejections-file", str(self._files / "missing.csv")]
        return [command, str(self._files / what), *place, "--by", "smiles", "--workers", "1", *missing]

    def count(self):
        nodes = self._server.ask("MATCH (n) RETURN labels(n)[0] AS what, count(*) AS number")
        relationships = self._server.ask("MATCH ()-[r]->() RETURN type(r) AS what, count(*) AS number")
        return {row["what"]: row["number"] for row in nodes + relationships}

    def is_done(self):
        """Whether what is published is what should be afterwards; it is either that or what was there before."""
        state = self._read_back(self._server.url)
        assert state in (self.before, self.after)
        return state == self.after

    def leaves_nothing_else(self, reruns=0):
        """Whether nothing is left but the generations, and the records of so many repeated runs."""
        return self.count() == {**self.census, **({"GraphkinRerun": reruns} if reruns else {})}


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=[] if "another" in name else pytest.mark.long) for name in SCENARIOS],
)
def scenario(request, server, source, files, open_proxy, read_back):
    return Scenario(request.param, server, source, files, open_proxy, read_back)


@pytest.fixture(scope="module")
def loading(server, source, files, open_proxy, read_back):
    return Scenario("load another", server, source, files, open_proxy, read_back)


@pytest.fixture(scope="module", params=["load another", "append", pytest.param("remove", marks=pytest.mark.long)])
def writing(request, server, source, files, open_proxy, read_back):
    return Scenario(request.param, server, source, files, open_proxy, read_back)


@pytest.fixture(scope="module")
def files(tmp_path_factory, nci_file):
    """Molecules for an ingest, others for an append, and a list of some of the former."""
    folder = tmp_path_factory.mktemp("files")
    lines = nci_file.read_text().splitlines()
    for name, chosen in (("older.smi", lines[:40]), ("newer.smi", lines[35:50])):
        (folder / name).write_text("".join(f"{line}\n" for line in chosen))
    (folder / "listed.txt").write_text("".join(f"{line.split()[0]}\n" for line in lines[:40:4]))
    return folder


@pytest.mark.parametrize("lost", [pytest.param("request", marks=pytest.mark.long), "reply"])
def test_connections_are_cut_at_every_commit(lost, scenario, server, serve, proxy):
    """Whether a transaction took place or not is not known to the command, which does everything once.

    Clients of the API see what was there before, then what is there afterwards, and nothing else.
    """
    scenario.reset()
    shown = []
    with serve(server.url) as client:
        proxy.strike(lambda number: number % 2 == 1, lost=lost, then=lambda: shown.append(listed(client)))
        assert run(scenario.arguments(proxy.url)) == 0
        shown.append(listed(client))
    assert len(shown) > scenario.commits // 2
    changes = [[] if state is None else [state.current] for state in (scenario.before, scenario.after)]
    assert sorted(shown, key=changes.index) == shown
    assert scenario.is_done()
    assert scenario.leaves_nothing_else()


def listed(client):
    """The current generations of all collections."""
    return [collection["generation"] for collection in client.get("/v1/collections").json()["collections"]]


def test_connections_are_cut_at_any_message(loading, source, proxy, read_back):
    assert loading.after == read_back(source.folder)
    loading.reset()
    for part, lost in enumerate(("request", "reply")):
        messages = proxy.strike(lambda number, part=part: number % 24 == 12 * part, of=b"", lost=lost)
    assert run(loading.arguments(proxy.url)) == 0
    assert messages.seen > 2 * loading.commits
    assert loading.is_done()
    assert loading.leaves_nothing_else()


@pytest.mark.parametrize("lost", [pytest.param("request", marks=pytest.mark.long), "reply"])
def test_what_was_published_stays_though_nobody_heard_of_it(lost, loading, proxy, monkeypatch, capfd):
    """The command gives up at once, and must not take back what it cannot know to be published."""
    loading.reset()
    proxy.strike(lambda number: number == loading.commits, lost=lost)
    with monkeypatch.context() as hasty:
        hasty.setitem(connection._PATIENCE, "long", 0)
        assert run(loading.arguments(proxy.url)) == 4
    assert "Neo4j does not answer" in capfd.readouterr().err
    assert loading.is_done() == (lost == "reply")
    assert run(loading.arguments(proxy.url)) == 0
    assert loading.is_done()
    assert loading.leaves_nothing_else()


def test_a_server_that_stays_away(loading, server, proxy, monkeypatch, capfd):
    loading.reset()
    proxy.strike(lambda number: number == loading.commits - 1, then=proxy.vanish)
    with monkeypatch.context() as hasty:
        hasty.setattr(connection, "_PATIENCE", {"short": 0, "long": 0})
        assert run(loading.arguments(proxy.url)) == 4
    said = capfd.readouterr().err
    assert "error: Neo4j does not answer" in said
    assert "Traceback" not in said
    assert server.password not in said
    assert not loading.is_done()
    assert_goes_on_once_the_lease_is_over(loading, server)


def assert_goes_on_once_the_lease_is_over(writing, server):
    """Another command waits for the writer that died; then it sweeps what that one has left."""
    assert run(writing.arguments(server.url)) == 4
    server.ask("MATCH (d:GraphkinDraft) SET d.until = 0")
    assert run(writing.arguments(server.url)) == 0
    assert writing.is_done()
    assert writing.leaves_nothing_else()


@pytest.mark.parametrize("at", [pytest.param(0.5, marks=pytest.mark.long), 1])
def test_the_command_is_killed(at, writing, server, proxy, graphkin):
    """In the middle, and after the server has published and before the command hears of it."""
    writing.reset()
    last = int(at * writing.commits)
    with graphkin.started(*writing.arguments(proxy.url)) as process:
        proxy.strike(lambda number: number == last, lost="reply", then=process.kill)
        assert process.wait(60) == -signal.SIGKILL
    assert writing.is_done() == (at == 1)
    if at < 1:
        assert_goes_on_once_the_lease_is_over(writing, server)
    assert run(writing.arguments(server.url)) == 0
    assert writing.leaves_nothing_else(reruns=int(at == 1 and writing.name == "append"))


@pytest.mark.parametrize(("at", "lost"), [pytest.param(0.5, "request", marks=pytest.mark.long), (1, "reply")])
def test_the_server_is_killed_and_started_again(at, lost, loading, server, proxy, monkeypatch):
    """The command goes on, also where the server published and died before it could say so."""
    monkeypatch.setitem(connection._PATIENCE, "long", 200)  # however slow this machine is
    loading.reset()
    last = int(at * loading.commits)
    killed = threading.Event()

    def kill():
        server.kill()
        killed.set()

    proxy.strike(lambda number: number == last, lost=lost, then=kill)
    with ThreadPoolExecutor(1) as pool:
        code = pool.submit(run, loading.arguments(proxy.url))
        assert killed.wait(60)
        server.start()
        assert code.result() == 0
    assert loading.is_done()
    assert loading.leaves_nothing_else()
