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
REQUESTS = 30  # Quota of the limited key.
DEADLINE = 120  # Seconds until an expected event counts as missing.


class WorkerServer:
    """The command and its processes."""

    def __init__(self, process: subprocess.Popen[str], port: int, keys: dict[str, str]) -> None:
        self.process = process
        self._port = port
        self._keys = keys

    @property
    def pids(self) -> list[int]:
        return [each.pid for each in psutil.Process(self.process.pid).children()]

    def connect(self, path: str = "/livez") -> tuple[int, http.client.HTTPConnection]:
        """Send a request for a path over a new connection, and return the accepting process and the connection."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=DEADLINE)
        assert self.ask(connection, path)[0] == 200
        port = connection.sock.getsockname()[1]
        for pid in self.pids:
            if port in (each.raddr.port for each in psutil.Process(pid).net_connections("tcp") if each.raddr):
                return pid, connection
        raise AssertionError("nobody has accepted this connection")

    def connect_to_each(self, path: str = "/livez") -> list[http.client.HTTPConnection]:
        """Return a connection to each process. The kernel chooses the process, so many attempts are made."""
        connections: dict[int, http.client.HTTPConnection] = {}
        for _ in range(1000):
            for idle in connections.values():  # Idle connections are closed after a while.
                self.ask(idle, "/livez")
            pid, connection = self.connect(path)
            if connections.setdefault(pid, connection) is not connection:
                connection.close()
            if len(connections) == 2:
                return list(connections.values())
        raise AssertionError(f"only {len(connections)} of two processes accept connections")

    def ask(self, connection: http.client.HTTPConnection, path: str, key: str = "all") -> tuple[int, bytes]:
        connection.request("GET", path, headers={"Authorization": f"Bearer {self._keys[key]}"})
        reply = connection.getresponse()
        return reply.status, reply.read()

    def fetch_positives(self, connection: http.client.HTTPConnection, path: str) -> bytes:
        """Return positive sets once they are built."""
        while (reply := self.ask(connection, path))[0] == 503:
            time.sleep(0.02)
        assert reply[0] == 200
        return reply[1]

    def read_metric(self, connection: http.client.HTTPConnection, name: str, route: str | None = None) -> float:
        """Return the sum over all labels, or over those of a route."""
        text = self.ask(connection, "/metrics")[1].decode()
        samples = [each for family in text_string_to_metric_families(text) for each in family.samples]
        return sum(each.value for each in samples if each.name == name and route in (None, each.labels.get("route")))


@contextmanager
def start_server(store: Path, folder: Path) -> Iterator[WorkerServer]:
    folder.joinpath("tmp").mkdir()
    keys = {}
    with open_store(store) as opened:
        for name, quota in (("all", Quota()), ("few", Quota(requests=REQUESTS))):
            keys[name], key = create_key(name, ("admin",), quota=quota)
            opened.keys().add(key)
    command = [sys.executable, "-m", "graphkin", "serve", "--store", str(store), "--port", "0", "--workers", "2"]
    environment_changes = {"GRAPHKIN_CACHE_DIR": str(folder / "cache"), "TMPDIR": str(folder / "tmp")}
    with subprocess.Popen(
        command, env={**os.environ, **environment_changes}, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        first_line = process.stdout.readline()
        try:
            yield WorkerServer(process, int(first_line.split()[1].rpartition(":")[2]), keys)
        finally:
            process.kill()


@pytest.fixture(scope="module")
def server(store_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerServer]:
    folder = tmp_path_factory.mktemp("workers")
    with start_server(Path(shutil.copytree(store_folder, folder / "store")), folder) as server:
        yield server


def test_positive_sets_requested_from_both_workers_are_built_once(server: WorkerServer) -> None:
    both_connections, barrier = server.connect_to_each(), Barrier(2)

    def trainer(connection: http.client.HTTPConnection) -> list[bytes]:
        rows = []
        for epoch in range(EPOCHS):
            barrier.wait()
            path = f"{URL}/positives/epochs/{epoch}?policy=random_walk&walks=64"
            rows.append(server.fetch_positives(connection, path))
        return rows

    with ThreadPoolExecutor(2) as threads, closing(both_connections[0]), closing(both_connections[1]):
        one, other = threads.map(trainer, both_connections)
        assert one == other
        deadline = time.monotonic() + DEADLINE
        while server.read_metric(both_connections[0], "graphkin_positive_sets_hits_total") < 2 * EPOCHS:
            assert time.monotonic() < deadline
        assert server.read_metric(both_connections[0], "graphkin_positive_sets_built_total") == EPOCHS


def test_each_worker_reports_the_metrics_of_both(server: WorkerServer) -> None:
    one, other = server.connect_to_each()
    with closing(one), closing(other):
        metric = "graphkin_http_requests_total", "/v1/collections/{c}/items/{id}"
        before = server.read_metric(one, *metric)
        for _ in range(3):
            assert [server.ask(each, f"{URL}/items/5")[0] for each in (one, other)] == [200, 200]
        deadline = time.monotonic() + DEADLINE
        while {server.read_metric(each, *metric) - before for each in (one, other)} != {
            6
        }:  # A request is counted after its reply.
            assert time.monotonic() < deadline
        assert server.read_metric(other, "process_open_fds") > 2 * 10


def test_workers_share_quotas(server: WorkerServer) -> None:
    one, other = server.connect_to_each()
    minute = time.time() // 60
    with closing(one), closing(other):
        statuses = [server.ask(each, f"{URL}/items/5", "few")[0] for _ in range(REQUESTS) for each in (one, other)]
    refused, over = statuses.count(429), len(statuses) - REQUESTS
    assert refused <= over if time.time() // 60 > minute else refused == over


def test_killed_worker_is_restarted(server: WorkerServer) -> None:
    pid, connection = server.connect()
    with closing(connection):
        server.fetch_positives(connection, f"{URL}/positives/epochs/{EPOCHS}?policy=first_order")
        built_sets = server.read_metric(connection, "graphkin_positive_sets_built_total")
    assert built_sets > 0
    (other,) = set(server.pids) - {pid}
    os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + DEADLINE
    while len(server.pids) < 2 or pid in server.pids:
        assert time.monotonic() < deadline
    one, another = server.connect_to_each()
    with closing(one) as connection, closing(another):
        assert other in server.pids
        assert server.read_metric(connection, "graphkin_positive_sets_built_total") == built_sets, (
            "what was counted stays"
        )


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGKILL, marks=pytest.mark.long)])
def test_workers_end_together(own_folder: Path, tmp_path: Path, number: signal.Signals) -> None:
    with start_server(own_folder, tmp_path) as server:
        for connection in server.connect_to_each(f"{URL}/structure?smiles=OCC"):
            connection.close()
        all = psutil.Process(server.process.pid).children(recursive=True)
        server.process.send_signal(number)
        _, alive = psutil.wait_procs(all, timeout=DEADLINE)
        assert len(all) >= 4  # Two workers, and the processes that parse structures for them.
        assert not alive
        assert server.process.wait() == (0 if number == signal.SIGTERM else -number)
    if number == signal.SIGTERM:
        assert list((tmp_path / "tmp").iterdir()) == []


def test_used_address_is_refused(store_folder: Path, tmp_path: Path) -> None:
    with bind("127.0.0.1", 0) as listener:
        listener.listen()
        settings = Settings(store=store_folder, cache_dir=tmp_path, port=listener.getsockname()[1])
        with pytest.raises(InvalidInput, match="cannot listen"):
            Servers(settings, 2)
