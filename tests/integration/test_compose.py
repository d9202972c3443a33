"""docker-compose.yml as a real Compose implementation reads it. No image is built or started."""

import re
import shlex
import stat
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from graphkin.api.settings import Settings
from graphkin.cli import graphkin as graphkin_command
from graphkin.store.neo4j import connection
from graphkin.store.neo4j.connection import AUTH_FILE
from tests.integration.conftest import COMPOSE_ENVIRONMENT, Compose

ROOT = Path(__file__).parents[2]
SECRET = "/run/secrets/neo4j_auth"
FILE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())


def test_api_and_its_database_start_by_default(compose: Compose, services: dict[str, Any]) -> None:
    assert set(services) == {"neo4j", "demo", "api", "ingest", "trainer"}
    without_profile = compose("config", environment=COMPOSE_ENVIRONMENT)
    assert set(yaml.safe_load(without_profile.stdout)["services"]) == {"neo4j", "demo", "api"}
    for name in ("demo", "api", "ingest"):
        assert services[name]["depends_on"]["neo4j"]["condition"] == "service_healthy"
    assert services["api"]["depends_on"]["demo"]["condition"] == "service_completed_successfully"
    assert set(services["trainer"]["depends_on"]) == {"api"}


def test_secret_is_the_file_that_compose_reads_by_default(compose: Compose, tmp_path: Path) -> None:
    command = ["make", "--silent", "--file", str(ROOT / "Makefile"), "secret"]
    subprocess.run(command, cwd=tmp_path, check=True)
    files = [
        yaml.safe_load(compose("config", environment=environment).stdout)["secrets"]["neo4j_auth"]["file"]
        for environment in ({}, {AUTH_FILE: ""})
    ]
    assert files[0] == files[1]
    place = ROOT / files[0]  # Docker prints an absolute path, Podman that of the file
    file = tmp_path / place.relative_to(ROOT)
    text = file.read_text()
    # The entry point of Neo4j's image accepts the user neo4j and a password without a slash, of 8 characters or more.
    assert re.fullmatch(r"neo4j/[^/]{8,}\n", text)
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert file.stat().st_mode & stat.S_IROTH  # the users of the containers are others
    subprocess.run(command, cwd=tmp_path, check=True)
    assert file.read_text() == text


@pytest.mark.parametrize("service", ["demo", "api", "ingest"])
def test_application_reads_every_variable(services: dict[str, Any], service: str) -> None:
    known_variables = {f"GRAPHKIN_{name.upper()}" for name in Settings.model_fields} | {AUTH_FILE, "NUMBA_CACHE_DIR"}
    variables = services[service]["environment"]
    assert set(variables) <= known_variables
    assert variables[AUTH_FILE] == SECRET


def test_settings_of_the_api_are_valid(services: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in services["api"]["environment"].items():
        monkeypatch.setenv(name, value)
    settings = Settings(store="bolt://neo4j:7687")
    assert settings.store == "bolt://neo4j:7687"
    # Hosts that the health check, users and the trainer use.
    assert {"127.0.0.1", "localhost", "api"} <= set(settings.allowed_hosts)


@pytest.mark.parametrize("service", ["demo", "api", "ingest", "trainer"])
def test_application_runs_without_privileges(services: dict[str, Any], service: str) -> None:
    description = services[service]
    user = description["user"].split(":")[0]
    dockerfile = (ROOT / "Dockerfile").read_text()
    assert re.search(rf"useradd .*--uid {user}\b", dockerfile)
    assert re.findall(r"^USER (.+)$", dockerfile, re.MULTILINE) == ["graphkin"]
    assert int(user) > 0
    assert description["read_only"] is True
    assert description["cap_drop"] == ["ALL"]
    writable = {
        *description["tmpfs"],
        *(_target(volume) for volume in description["volumes"] if not _read_only(volume)),
    }
    assert writable == {"/tmp", "/var/cache/graphkin"} | ({"/runs"} if service == "trainer" else set())
    for variable in ("NUMBA_CACHE_DIR", "GRAPHKIN_CACHE_DIR"):
        assert description.get("environment", {}).get(variable, "/tmp").startswith(tuple(writable))
    assert re.search(r"install -d -o graphkin -g graphkin /var/cache/graphkin /runs$", dockerfile, re.MULTILINE)


@pytest.mark.parametrize("service", ["neo4j", "demo", "api", "ingest", "trainer"])
def test_every_service_has_limits_and_gains_no_privileges(services: dict[str, Any], service: str) -> None:
    description = services[service]
    assert {"memory", "cpus", "pids"} <= set(description["deploy"]["resources"]["limits"])
    assert description["cap_drop"] == ["ALL"]
    assert description["security_opt"] == ["no-new-privileges:true"]
    assert int(description["user"].split(":")[0]) > 0


def test_only_the_api_and_ingests_reach_the_database(compose: Compose, services: dict[str, Any]) -> None:
    (port,) = (port for service in services.values() for port in service.get("ports", []))
    assert services["api"]["ports"] == [port]
    assert (int(port["target"]), port["host_ip"]) == (8000, "127.0.0.1")
    members = {name: set(service["networks"]) for name, service in services.items()}
    for name in ("demo", "api", "ingest"):
        assert members[name] & members["neo4j"] == {"database"}
    assert not members["trainer"] & members["neo4j"]
    resolved = yaml.safe_load(compose("config", environment=COMPOSE_ENVIRONMENT).stdout)
    assert resolved["networks"]["database"]["internal"] is True
    assert resolved["secrets"]["neo4j_auth"]["file"] == COMPOSE_ENVIRONMENT[AUTH_FILE]
    assert all(COMPOSE_ENVIRONMENT[AUTH_FILE] not in str(service) for service in services.values())
    assert {name for name, service in services.items() if service.get("secrets")} == set(services) - {"trainer"}


@pytest.mark.parametrize("service", ["demo", "api", "ingest"])
def test_commands_connect_to_the_database(
    services: dict[str, Any],
    service: str,
    graphkin: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setitem(connection._PATIENCE, "short", 0)
    description = services[service]
    (tmp_path / "auth").write_text("neo4j/correct horse\n")
    assert description["environment"][AUTH_FILE] == SECRET
    monkeypatch.setenv(AUTH_FILE, str(tmp_path / "auth"))
    (tmp_path / "a.smi").write_text("CCO\n")
    arguments = ["a.smi", "--collection", "c"] if service == "ingest" else description["command"]
    command = [*description.get("entrypoint", ["graphkin"])[1:], *arguments]
    assert "bolt://neo4j:7687" in command
    outcome = graphkin(*("bolt://127.0.0.1:1" if part == "bolt://neo4j:7687" else part for part in command))
    assert outcome.code == 4
    assert "Neo4j does not answer" in outcome.err


def documented_commands() -> list[list[str]]:
    """The words of each `docker compose run` and `docker compose exec` in the pages."""
    commands = []
    for page in ("how-to/docker.md", "tutorials/neo4j.md"):
        blocks = re.findall(r"^```sh\n(.*?)^```", (ROOT / "docs" / page).read_text(), re.MULTILINE | re.DOTALL)
        for line in "".join(blocks).replace("\\\n", " ").splitlines():
            command = re.search(r"docker compose (?:run|exec) [^<>|]*", line)
            if command:
                commands.append(shlex.split(command[0].replace("…", ""), posix=True))
    return commands


@pytest.mark.parametrize("words", documented_commands(), ids=" ".join)
def test_documented_command_fits_the_services(services: dict[str, Any], words: list[str]) -> None:
    """The service exists, and graphkin knows the command and its options."""
    entry_point: list[str] | None = None
    remaining = iter(words[3:])
    for word in remaining:
        if word == "--entrypoint":
            entry_point = [next(remaining)]
        elif word in ("-v", "-w", "-e"):
            next(remaining)
        elif not word.startswith("-"):
            break
    description = services[word]
    if words[2] == "run":
        entry_point = entry_point or description.get("entrypoint", [])
    arguments = [*(entry_point or []), *remaining]
    if arguments[0] != "graphkin":
        assert word == "neo4j"
        return
    command: click.Command = graphkin_command
    parts = arguments[1:]
    while isinstance(command, click.Group):
        name = parts.pop(0)
        subcommand = command.get_command(click.Context(command), name)
        assert subcommand is not None, name
        command = subcommand
    command.make_context(command.name, parts)


def documented_names(header: str) -> list[str]:
    """Return the names in the first column of the table of docs/how-to/docker.md whose first header is this."""
    page = (ROOT / "docs" / "how-to" / "docker.md").read_text()
    (table,) = re.findall(rf"^\| {header} \|.*\n\|[-|]+\n((?:\|.*\n)+)", page, re.MULTILINE)
    return [name for row in table.splitlines() for name in re.findall(r"`([^`]+)`", row.split("|")[1])]


@pytest.mark.parametrize("kind", ["services", "networks", "volumes", "secrets"])
def test_documentation_names_all(kind: str) -> None:
    assert sorted(documented_names(kind.removesuffix("s"))) == sorted(FILE[kind])


def test_documentation_explains_every_key_and_variable() -> None:
    keys = {key for service in FILE["services"].values() for key in service}
    assert sorted(documented_names("key of a service")) == sorted(keys)
    variables = {name for service in FILE["services"].values() for name in service.get("environment", {})}
    assert sorted(documented_names("variable in a container")) == sorted(variables)
    references = re.findall(r"\$\{(\w+)", (ROOT / "docker-compose.yml").read_text())
    assert sorted(documented_names("variable")) == sorted(set(references))


@pytest.mark.parametrize("network", FILE["networks"])
def test_documentation_names_the_members_of_a_network(network: str) -> None:
    page = (ROOT / "docs" / "how-to" / "docker.md").read_text()
    (row,) = re.findall(rf"^\| `{network}` \| ([^|]+) \|", page, re.MULTILINE)
    members = {name for name, service in FILE["services"].items() if network in service["networks"]}
    assert set(re.findall(r"`(\w+)`", row)) == members


@pytest.mark.parametrize("volume", FILE["volumes"])
def test_documentation_says_where_a_volume_is_mounted(volume: str) -> None:
    page = (ROOT / "docs" / "how-to" / "docker.md").read_text()
    (row,) = re.findall(rf"^\| `{volume}` \| ([^|]+) \|", page, re.MULTILINE)
    folder, *documented = re.findall(r"`([^`]+)`", row)
    mounts = {
        (name, mount.rpartition(":")[2])
        for name, service in FILE["services"].items()
        for mount in service["volumes"]
        if mount.startswith((f"{volume}:", f"${{GRAPHKIN_RUNS:-{volume}}}:"))
    }
    assert {(name, folder) for name in documented} == mounts


def test_trainer_has_a_gpu_and_no_password(services: dict[str, Any]) -> None:
    description = services["trainer"]
    (device,) = description["deploy"]["resources"]["reservations"]["devices"]
    assert device["capabilities"] == ["gpu"]
    assert SECRET not in str(description)
    assert description["build"]["args"] in (["EXTRA=trainer"], {"EXTRA": "trainer"})


def test_command_of_the_trainer_connects_to_the_api(
    services: dict[str, Any], graphkin: Callable[..., Any], tmp_path: Path
) -> None:
    command = [part.replace("api:8000", "127.0.0.1:1") for part in services["trainer"]["entrypoint"][1:]]
    assert command[-2:] == ["--device", "cuda"]
    arguments = ["--collection", "c", "--strategy", "hgc-fo", "--encoder", "gin", "--output", str(tmp_path / "run")]
    outcome = graphkin(*command[:-2], *arguments)
    assert outcome.code == 4
    assert "http://127.0.0.1:1" in outcome.err


def test_memory_of_the_database_is_set_by_variables(compose: Compose) -> None:
    resized = compose("config", environment={**COMPOSE_ENVIRONMENT, "NEO4J_HEAP": "7G", "NEO4J_PAGECACHE": "5G"})
    environment = yaml.safe_load(resized.stdout)["services"]["neo4j"]["environment"]
    assert environment["NEO4J_server_memory_heap_max__size"] == "7G"
    assert environment["NEO4J_server_memory_heap_initial__size"] == "7G"
    assert environment["NEO4J_server_memory_pagecache_size"] == "5G"


@pytest.mark.parametrize("extra", ["neo4j", "trainer", "build"])
def test_image_requirements_are_pinned_and_complete(extra: str) -> None:
    """Each requirement has hashes and the version of constraints.txt. Every dependency of the package is included."""
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
        dependencies = [*project["dependencies"], *project["optional-dependencies"][extra]]
        names = {canonicalize_name(Requirement(each).name) for each in dependencies} - {"graphkin"}
        assert names <= set(pinned)


def _target(volume: Any) -> str:
    """Return the target. Docker writes volumes in the long form, Podman as in the file."""
    return str(volume["target"] if isinstance(volume, dict) else volume.split(":")[1])


def _read_only(volume: Any) -> bool:
    return bool(volume.get("read_only")) if isinstance(volume, dict) else volume.endswith(":ro")
