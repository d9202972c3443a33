"""docker-compose.yml as a real compose implementation reads it. No image is built or started here."""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from graphkin.api.settings import Settings
from graphkin.store.neo4j import connection
from graphkin.store.neo4j.connection import AUTH_FILE

ROOT = Path(__file__).parents[2]
GIVEN = {AUTH_FILE: "/etc/neo4j_auth"}
SECRET = "/run/secrets/neo4j_auth"

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


@pytest.mark.parametrize("environment", [{}, {AUTH_FILE: ""}])
def test_no_password_no_start(compose: Compose, environment: dict[str, str]) -> None:
    refused = compose("config", environment=environment)
    assert refused.returncode != 0
    assert AUTH_FILE in refused.stderr
    assert "services" not in refused.stdout


@pytest.mark.parametrize("service", ["api", "ingest"])
def test_every_variable_is_one_that_the_application_reads(services: dict[str, Any], service: str) -> None:
    read = {f"GRAPHKIN_{name.upper()}" for name in Settings.model_fields} | {AUTH_FILE, "NUMBA_CACHE_DIR"}
    given = services[service]["environment"]
    assert set(given) <= read
    assert given[AUTH_FILE] == SECRET


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


@pytest.mark.parametrize("service", ["neo4j", "api", "ingest", "trainer"])
def test_every_service_is_bounded_and_gains_no_privileges(services: dict[str, Any], service: str) -> None:
    described = services[service]
    assert {"memory", "cpus", "pids"} <= set(described["deploy"]["resources"]["limits"])
    assert described["cap_drop"] == ["ALL"]
    assert described["security_opt"] == ["no-new-privileges:true"]
    assert int(described["user"].split(":")[0]) > 0


def test_the_database_is_reached_by_the_api_and_ingests_alone(compose: Compose, services: dict[str, Any]) -> None:
    (port,) = (port for service in services.values() for port in service.get("ports", []))
    assert services["api"]["ports"] == [port]
    assert (int(port["target"]), port["host_ip"]) == (8000, "127.0.0.1")
    members = {name: set(service["networks"]) for name, service in services.items()}
    assert members["api"] & members["neo4j"] == members["ingest"] & members["neo4j"] == {"database"}
    assert not members["trainer"] & members["neo4j"]
    resolved = yaml.safe_load(compose("config", environment=GIVEN).stdout)
    assert resolved["networks"]["database"]["internal"] is True
    assert resolved["secrets"]["neo4j_auth"]["file"] == GIVEN[AUTH_FILE]
    assert all(GIVEN[AUTH_FILE] not in str(service) for service in services.values())
    assert [bool(services[name].get("secrets")) for name in ("neo4j", "api", "ingest", "trainer")] == [True] * 3 + [
        False
    ]


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
    (tmp_path / "auth").write_text("neo4j/correct horse\n")
    assert described["environment"][AUTH_FILE] == SECRET
    monkeypatch.setenv(AUTH_FILE, str(tmp_path / "auth"))
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
    assert SECRET not in str(described)
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
    assert described["environment"]["NEO4J_AUTH_FILE"] == SECRET
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
    (tmp_path / "auth").write_text("neo4j/a/b c\n")
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "NEO4J_AUTH_FILE": str(tmp_path / "auth")}
    shown = subprocess.run(["sh", "-c", check.replace("$$", "$")], env=environment, capture_output=True, text=True)
    assert shown.stdout == "neo4j a/b c RETURN gds.version()\n"


@pytest.mark.parametrize("extra", ["neo4j", "trainer", "build"])
def test_what_the_image_installs_is_pinned(extra: str) -> None:
    """Each by hashes, in the version that everything else is tested with, and all that the package itself asks for."""
    lines = (ROOT / "deploy" / "requirements" / f"{extra}.txt").read_text().replace("\\\n", " ").splitlines()
    pinned = {}
    for line in lines:
        requirement, *hashes = line.split(" --hash=sha256:")
        assert hashes, line
        assert all(re.fullmatch(r"[0-9a-f]{64} *", each.strip()) for each in hashes)
        parsed = Requirement(requirement.strip())
        pinned[canonicalize_name(parsed.name)] = str(parsed.specifier)
    constraints = [Requirement(line) for line in (ROOT / "constraints.txt").read_text().splitlines() if line]
    tested = {canonicalize_name(each.name): str(each.specifier) for each in constraints}
    assert {name: version for name, version in pinned.items() if tested.get(name, version) != version} == {}
    if extra != "build":
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        asked = [*project["dependencies"], *project["optional-dependencies"][extra]]
        names = {canonicalize_name(Requirement(each).name) for each in asked} - {"graphkin"}
        assert names <= set(pinned)


def _target(volume: Any) -> str:
    """Docker writes volumes in the long form, Podman as in the file."""
    return str(volume["target"] if isinstance(volume, dict) else volume.split(":")[1])


def _read_only(volume: Any) -> bool:
    return bool(volume.get("read_only")) if isinstance(volume, dict) else volume.endswith(":ro")
