import os
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import psutil
import pytest

from graphkin.api.serve import Server
from graphkin.api.settings import Settings
from graphkin.protocol.errors import InvalidInput, StoreError, StoreFormat

PROGRAM = (
    "from graphkin.api.serve import Server\n"
    "from graphkin.api.settings import Settings\n"
    "server = Server(Settings())\n"
    "print(server.url, flush=True)\n"
    "server.run()\n"
    "print('ended', flush=True)\n"
)
"""Serves with the settings of the environment."""


def settings(store: Path, cache: Path, **more: object) -> Settings:
    return Settings(store=store, cache_dir=cache, **{"port": 0, **more})


def test_used_port_is_refused(store_folder: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(InvalidInput) as failure:
            Server(settings(store_folder, tmp_path, port=port))
    assert failure.value.given == f"127.0.0.1:{port}"


@pytest.mark.parametrize("host", ["256.256.256.256", "192.0.2.1"])
def test_foreign_address_is_refused(store_folder: Path, tmp_path: Path, host: str) -> None:
    with pytest.raises(InvalidInput):
        Server(settings(store_folder, tmp_path, host=host))


def test_foreign_store_is_refused(store_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "file").touch()
    with pytest.raises(StoreFormat):
        Server(settings(tmp_path / "foreign", tmp_path))
    (tmp_path / "file").touch()
    with pytest.raises(StoreError):
        Server(settings(store_folder, tmp_path / "file"))


def test_ipv6_is_served(store_folder: Path, tmp_path: Path) -> None:
    with Server(settings(store_folder, tmp_path, host="::1")).running() as url:
        assert url.startswith("http://[::1]:")
        assert httpx.get(f"{url}/livez").status_code == 200


@pytest.mark.parametrize("number", [pytest.param(signal.SIGTERM, marks=pytest.mark.long), signal.SIGKILL])
def test_workers_end_with_the_server(store_folder: Path, tmp_path: Path, number: signal.Signals) -> None:
    variables = {"GRAPHKIN_STORE": str(store_folder), "GRAPHKIN_PORT": "0", "GRAPHKIN_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(command, env={**os.environ, **variables}, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        for path in ("structure?smiles=OCC", "items/0/depiction.svg", "export?what=items&format=csv"):
            assert httpx.get(f"{url}/v1/collections/nci/{path}", timeout=60).status_code == 200
        workers = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(number)
    assert len(workers) >= 4  # The fork server, and a worker for each kind of work.
    _, alive = psutil.wait_procs(workers, timeout=60)
    assert not alive


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.long)])
def test_signal_ends_the_server_after_its_replies(store_folder: Path, tmp_path: Path, number: signal.Signals) -> None:
    variables = {"GRAPHKIN_STORE": str(store_folder), "GRAPHKIN_PORT": "0", "GRAPHKIN_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(command, env={**os.environ, **variables}, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        with httpx.stream("GET", f"{url}/v1/collections/nci/negatives?batches=16384", timeout=60) as reply:
            chunks = reply.iter_bytes()
            received = len(next(chunks))
            process.send_signal(number)
            received += sum(map(len, chunks))
        assert received > 15_000_000
        assert process.stdout.read() == "ended\n"
    assert process.returncode == 0


def test_limit_of_open_files_is_raised_to_the_maximum() -> None:
    program = (
        "import resource\n"
        "from graphkin.api.serve import configure_process\n"
        "configure_process()\n"
        "print(*resource.getrlimit(resource.RLIMIT_NOFILE))\n"
    )
    command = f"ulimit -Sn 300; ulimit -Hn 2000; exec {shlex.quote(sys.executable)} -c {shlex.quote(program)}"
    limits = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True).stdout
    assert limits.split() == ["2000", "2000"]


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GRAPHKIN_STORE", str(tmp_path))
    monkeypatch.setenv("GRAPHKIN_ALLOWED_HOSTS", "localhost, Graphkin.example.org")
    monkeypatch.setenv("GRAPHKIN_CACHE_BYTES", "1000")
    from_environment = Settings()
    assert (from_environment.store, from_environment.cache_bytes, from_environment.host, from_environment.port) == (
        str(tmp_path),
        1000,
        "127.0.0.1",
        8000,
    )
    assert from_environment.allowed_hosts == ("localhost", "graphkin.example.org")


@pytest.mark.parametrize(("name", "text"), [("CACHE_BYTES", "much"), ("CACHE_BYTES", "0"), ("PORT", "65536")])
def test_error_names_the_invalid_setting(monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
    monkeypatch.setenv("GRAPHKIN_STORE", "somewhere")
    monkeypatch.setenv(f"GRAPHKIN_{name}", text)
    with pytest.raises(InvalidInput) as failure:
        Settings()
    assert failure.value.given == text
    assert failure.value.hint is not None
    assert f"GRAPHKIN_{name}" in failure.value.hint


def test_store_setting_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRAPHKIN_STORE", raising=False)
    with pytest.raises(InvalidInput, match="store"):
        Settings()


def test_allowed_hosts_are_accepted(store_folder: Path, tmp_path: Path) -> None:
    for allowed, host, status in (
        (("graphkin.example.org",), "graphkin.example.org:80", 200),
        (("graphkin.example.org",), "localhost", 400),
        (("*",), "anything.example.org", 200),
    ):
        with Server(settings(store_folder, tmp_path, allowed_hosts=allowed)).running() as url:
            assert httpx.get(f"{url}/livez", headers={"Host": host}).status_code == status
