"""`graphkin serve --workers 2`: processes that share an address, files, positive sets, quotas and metrics."""

import http.client
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Barrier

import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families

from graphkin.api.serve import bind
from graphkin.api.servers import Servers
from graphkin.api.settings import Settings
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.keys import Quota, create_key
from graphkin.store import open_store

URL = "/v1/collections/nci"
EPOCHS = 4
REQUESTS = 30  # of the key that has a quota
DEADLINE = 120  # seconds until what should happen counts as not happening


class Running:
    """The command, and connections to each of its processes."""

    def __init__(self, process: subprocess.Popen[str], port: int, keys: dict[str, str]) -> None:
        self.process = process
        self._port = port
        self._keys = keys

    @property
    def pids(self) -> list[int]:
        return [each.pid for each in psutil.Process(self.process.pid).children()]

    def connected(self, path: str = "/livez") -> tuple[int, http.client.HTTPConnection]:
        """A connection, by which this was asked, and the process that accepted it."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=DEADLINE)
        assert self.ask(connection, path)[0] == 200
        port = connection.sock.getsockname()[1]
        for pid in self.pids:
            if port in (each.raddr.port for each in psutil.Process(pid).net_connections("tcp") if each.raddr):
                return pid, connection
        raise AssertionError("nobody has accepted this connection")

    def one_each(self, path: str = "/livez") -> list[http.client.HTTPConnection]:
        """The kernel chooses who accepts: asked often enough, each does."""
        found: dict[int, http.client.HTTPConnection] = {}
        for _ in range(1000):
            for idle in found.values():  # else it is closed after a while
                self.ask(idle, "/livez")
            pid, connection = self.connected(path)
            if found.setdefault(pid, connection) is not connection:
                connection.close()
            if len(found) == 2:
                return list(found.values())
        raise AssertionError(f"only {len(found)} of two processes accept connections")

    def ask(self, connection: http.client.HTTPConnection, path: str, key: str = "all") -> tuple[int, bytes]:
        connection.request("GET", path, headers={"Authorization": f"Bearer {self._keys[key]}"})
        reply = connection.getresponse()
        return reply.status, reply.read()

    def drawn(self, connection: http.client.HTTPConnection, path: str) -> bytes:
        """Positive sets, once they are there."""
        while (reply := self.ask(connection, path))[0] == 503:
            time.sleep(0.02)
        assert reply[0] == 200
        return reply[1]

    def measured(self, connection: http.client.HTTPConnection, name: str, route: str | None = None) -> float:
        """Of all labels, or of a route's alone."""
        text = self.ask(connection, "/metrics")[1].decode()
        samples = [each for family in text_string_to_metric_families(text) for each in family.samples]
        return sum(each.value for each in samples if each.name == name and route in (None, each.labels.get("route")))


@contextmanager
def started(store: Path, folder: Path) -> Iterator[Running]:
    folder.joinpath("tmp").mkdir()
    keys = {}
    with open_store(store) as opened:
        for name, quota in (("all", Quota()), ("few", Quota(requests=REQUESTS))):
            keys[name], key = create_key(name, ("admin",), quota=quota)
            opened.keys().add(key)
    command = [sys.executable, "-m", "graphkin", "serve", "--store", str(store), "--port", "0", "--workers", "2"]
    own = {"GRAPHKIN_CACHE_DIR": str(folder / "cache"), "TMPDIR": str(folder / "tmp")}
    with subprocess.Popen(command, env={**os.environ, **own}, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = process.stdout.readline()
        try:
            yield Running(process, int(told.split()[1].rpartition(":")[2]), keys)
        finally:
            process.kill()


@pytest.fixture(scope="module")
def running(store_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("workers")
    with started(Path(shutil.copytree(store_folder, folder / "store")), folder) as running:
        yield running


def test_positive_sets_that_both_are_asked_for_at_once_are_drawn_once(running: Running) -> None:
    both, together = running.one_each(), Barrier(2)

    def trainer(connection: http.client.HTTPConnection) -> list[bytes]:
        rows = []
        for epoch in range(EPOCHS):
            together.wait()
            path = f"{URL}/positives/epochs/{epoch}?policy=random_walk&walks=64"
            rows.append(running.drawn(connection, path))
        return rows

    with ThreadPoolExecutor(2) as threads, closing(both[0]), closing(both[1]):
        one, other = threads.map(trainer, both)
        assert one == other
        deadline = time.monotonic() + DEADLINE
        while running.measured(both[0], "graphkin_positive_sets_hits_total") < 2 * EPOCHS:
            assert time.monotonic() < deadline
        assert running.measured(both[0], "graphkin_positive_sets_built_total") == EPOCHS


def test_either_tells_what_both_have_answered(running: Running) -> None:
    one, other = running.one_each()
    with closing(one), closing(other):
        asked = "graphkin_http_requests_total", "/v1/collections/{c}/items/{id}"
        before = running.measured(one, *asked)
        for _ in range(3):
            assert [running.ask(each, f"{URL}/items/5")[0] for each in (one, other)] == [200, 200]
        deadline = time.monotonic() + DEADLINE
        while {running.measured(each, *asked) - before for each in (one, other)} != {6}:  # counted after it is answered
            assert time.monotonic() < deadline
        assert running.measured(other, "process_open_fds") > 2 * 10


def test_a_quota_holds_for_both_together(running: Running) -> None:
    one, other = running.one_each()
    minute = time.time() // 60
    with closing(one), closing(other):
        statuses = [running.ask(each, f"{URL}/items/5", "few")[0] for _ in range(REQUESTS) for each in (one, other)]
    refused, over = statuses.count(429), len(statuses) - REQUESTS
    assert refused <= over if time.time() // 60 > minute else refused == over


def test_one_that_is_killed_is_started_again(running: Running) -> None:
    pid, connection = running.connected()
    with closing(connection):
        running.drawn(connection, f"{URL}/positives/epochs/{EPOCHS}?policy=first_order")
        built = running.measured(connection, "graphkin_positive_sets_built_total")
    assert built > 0
    (other,) = set(running.pids) - {pid}
    os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + DEADLINE
    while len(running.pids) < 2 or pid in running.pids:
        assert time.monotonic() < deadline
    one, another = running.one_each()
    with closing(one) as connection, closing(another):
        assert other in running.pids
        assert running.measured(connection, "graphkin_positive_sets_built_total") == built, "what was counted stays"


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGKILL, marks=pytest.mark.long)])
def test_all_end_together(own_folder: Path, tmp_path: Path, number: signal.Signals) -> None:
    with started(own_folder, tmp_path) as running:
        for connection in running.one_each(f"{URL}/structure?smiles=OCC"):
            connection.close()
        all = psutil.Process(running.process.pid).children(recursive=True)
        running.process.send_signal(number)
        _, alive = psutil.wait_procs(all, timeout=DEADLINE)
        assert len(all) >= 4  # two, and what reads structures for them
        assert not alive
        assert running.process.wait() == (0 if number == signal.SIGTERM else -number)
    if number == signal.SIGTERM:
        assert list((tmp_path / "tmp").iterdir()) == []


def test_an_address_at_which_others_listen_is_refused(store_folder: Path, tmp_path: Path) -> None:
    with bind("127.0.0.1", 0) as taken:
        taken.listen()
        settings = Settings(store=store_folder, cache_dir=tmp_path, port=taken.getsockname()[1])
        with pytest.raises(InvalidInput, match="cannot listen"):
            Servers(settings, 2)
