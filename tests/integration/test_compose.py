"""docker-compose.yml as a real compose implementation reads it. No image is built or started here."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from graphkin.api.settings import Settings
from graphkin.store.neo4j import connection
from graphkin.store.neo4j.connection import PASSWORD, USER

ROOT = Path(__file__).parents[2]
GIVEN = {PASSWORD: "correct horse"}

Compose = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def compose(require_tools: Callable[..., None]) -> Compose:
    """`compose("config", environment={...})` by Docker's own implementation where it is installed, else by Podman's."""
    program = ["docker", "compose"]
    try:
        subprocess.run([*program, "version"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        require_tools("podman")
        program = [str(Path(sys.executable).with_name("podman-compose"))]

    def run(*arguments: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        bare = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        return subprocess.run(
            [*program, *arguments], cwd=ROOT, env={**bare, **environment}, capture_output=True, text=True
        )

    return run


@pytest.fixture(scope="module")
def services(compose: Compose) -> dict[str, dict[str, Any]]:
    """Service -> its resolved description, all profiles included."""
    resolved = compose("--profile", "ingest", "--profile", "trainer", "config", environment=GIVEN)
    assert resolved.returncode == 0, resolved.stderr
    found: dict[str, dict[str, Any]] = yaml.safe_load(resolved.stdout)["services"]
    return found


def test_what_starts_by_itself(compose: Compose, services: dict[str, Any]) -> None:
    assert set(services) == {"neo4j", "api", "ingest", "trainer"}
    without_profile = compose("config", environment=GIVEN)
    assert set(yaml.safe_load(without_profile.stdout)["services"]) == {"neo4j", "api"}
    for name in ("api", "ingest"):
        assert services[name]["depends_on"]["neo4j"]["condition"] == "service_healthy"
    assert set(services["trainer"]["depends_on"]) == {"api"}


@pytest.mark.parametrize("environment", [{}, {PASSWORD: ""}])
def test_no_password_no_start(compose: Compose, environment: dict[str, str]) -> None:
    refused = compose("config", environment=environment)
    assert refused.returncode != 0
    assert PASSWORD in refused.stderr
    assert "services" not in refused.stdout


@pytest.mark.parametrize("service", ["api", "ingest"])
def test_every_variable_is_one_that_the_application_reads(services: dict[str, Any], service: str) -> None:
    read = {f"GRAPHKIN_{name.upper()}" for name in Settings.model_fields} | {USER, PASSWORD, "NUMBA_CACHE_DIR"}
    given = services[service]["environment"]
    assert set(given) <= read
    assert given[PASSWORD] == GIVEN[PASSWORD]


def test_the_settings_are_valid(services: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in services["api"]["environment"].items():
        monkeypatch.setenv(name, value)
    settings = Settings(store="bolt://neo4j:7687")
    assert settings.store == "bolt://neo4j:7687"
    assert {"127.0.0.1", "localhost", "api"} <= set(settings.allowed_hosts)  # of health check, people, trainer


@pytest.mark.parametrize("service", ["api", "ingest", "trainer"])
def test_the_application_runs_without_privileges(services: dict[str, Any], service: str) -> None:
    described = services[service]
    user = described["user"].split(":")[0]
    dockerfile = (ROOT / "Dockerfile").read_text()
    assert re.search(rf"useradd .*--uid {user}\b", dockerfile)
    assert re.findall(r"^USER (.+)$", dockerfile, re.MULTILINE) == ["graphkin"]
    assert int(user) > 0
    assert described["read_only"] is True
    assert described["cap_drop"] == ["ALL"]
    writable = {*described["tmpfs"], *(_target(volume) for volume in described["volumes"] if not _read_only(volume))}
    assert writable == {"/tmp", "/var/cache/graphkin"} | ({"/runs"} if service == "trainer" else set())
    for variable in ("NUMBA_CACHE_DIR", "GRAPHKIN_CACHE_DIR"):
        assert described.get("environment", {}).get(variable, "/tmp").startswith(tuple(writable))
    assert re.search(r"install -d -o graphkin -g graphkin /var/cache/graphkin /runs$", dockerfile, re.MULTILINE)


def test_only_this_machine_can_connect(services: dict[str, Any]) -> None:
    ports = [port for service in services.values() for port in service.get("ports", [])]
    assert {int(port["target"]) for port in ports} == {7474, 7687, 8000}
    assert {port["host_ip"] for port in ports} == {"127.0.0.1"}


@pytest.mark.parametrize("service", ["api", "ingest"])
def test_the_commands_get_as_far_as_the_database(
    services: dict[str, Any],
    service: str,
    graphkin: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setitem(connection._PATIENCE, "short", 0)
    described = services[service]
    for name in (USER, PASSWORD):
        monkeypatch.setenv(name, described["environment"][name])
    (tmp_path / "a.smi").write_text("CCO\n")
    more = ["a.smi", "--collection", "c"] if service == "ingest" else described["command"]
    command = [*described.get("entrypoint", ["graphkin"])[1:], *more]
    assert "bolt://neo4j:7687" in command
    outcome = graphkin(*("bolt://127.0.0.1:1" if part == "bolt://neo4j:7687" else part for part in command))
    assert outcome.code == 4
    assert "Neo4j does not answer" in outcome.err


def test_the_trainer_has_a_gpu_and_no_password(services: dict[str, Any]) -> None:
    described = services["trainer"]
    (device,) = described["deploy"]["resources"]["reservations"]["devices"]
    assert device["capabilities"] == ["gpu"]
    assert GIVEN[PASSWORD] not in str(described)
    assert described["build"]["args"] in (["EXTRA=trainer"], {"EXTRA": "trainer"})


def test_the_trainers_command_gets_as_far_as_the_api(
    services: dict[str, Any], graphkin: Callable[..., Any], tmp_path: Path
) -> None:
    command = [part.replace("api:8000", "127.0.0.1:1") for part in services["trainer"]["entrypoint"][1:]]
    assert command[-2:] == ["--device", "cuda"]
    more = ["--collection", "c", "--strategy", "hgc-fo", "--encoder", "gin", "--output", str(tmp_path / "run")]
    outcome = graphkin(*command[:-2], *more)
    assert outcome.code == 4
    assert "http://127.0.0.1:1" in outcome.err


def test_the_database(compose: Compose, services: dict[str, Any]) -> None:
    described = services["neo4j"]
    assert re.fullmatch(r"neo4j:5\.26[\d.]*-community", described["image"])
    assert described["environment"]["NEO4J_PLUGINS"] == '["graph-data-science"]'
    assert described["environment"]["NEO4J_AUTH"] == f"neo4j/{GIVEN[PASSWORD]}"
    assert "gds.version()" in " ".join(described["healthcheck"]["test"])
    assert {_target(volume) for volume in described["volumes"]} == {"/data", "/logs", "/plugins"}
    sized = compose("config", environment={**GIVEN, "NEO4J_HEAP": "7G", "NEO4J_PAGECACHE": "5G"})
    environment = yaml.safe_load(sized.stdout)["services"]["neo4j"]["environment"]
    assert environment["NEO4J_server_memory_heap_max__size"] == "7G"
    assert environment["NEO4J_server_memory_heap_initial__size"] == "7G"
    assert environment["NEO4J_server_memory_pagecache_size"] == "5G"


def test_the_health_check_logs_in_with_the_password(services: dict[str, Any], tmp_path: Path) -> None:
    """Run by a shell that finds, as `cypher-shell`, a script that shows its credentials."""
    kind, check = services["neo4j"]["healthcheck"]["test"]
    assert kind == "CMD-SHELL"
    shell = tmp_path / "cypher-shell"
    shell.write_text('#!/bin/sh\necho "$NEO4J_USERNAME $NEO4J_PASSWORD $1"\n')
    shell.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "NEO4J_AUTH": "neo4j/a/b c"}
    shown = subprocess.run(["sh", "-c", check.replace("$$", "$")], env=environment, capture_output=True, text=True)
    assert shown.stdout == "neo4j a/b c RETURN gds.version()\n"


def _target(volume: Any) -> str:
    """Docker writes volumes in the long form, Podman as in the file."""
    return str(volume["target"] if isinstance(volume, dict) else volume.split(":")[1])


def _read_only(volume: Any) -> bool:
    return bool(volume.get("read_only")) if isinstance(volume, dict) else volume.endswith(":ro")
