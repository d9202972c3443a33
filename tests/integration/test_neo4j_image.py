"""The containers of Neo4j in docker-compose.yml and deploy/kubernetes keep the rules of the image's entry point.

`tests/neo4j_image.py` is a copy of the documented behavior of the entry point, and `neo4j-admin` of a real server
checks the settings and passwords. No image is started. One test is one rule of docs/how-to/docker.md.
"""

import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from graphkin.protocol.errors import InvalidInput
from graphkin.store.neo4j import connection
from graphkin.store.neo4j.connection import AUTH_FILE
from tests.conftest import Neo4jServer
from tests.neo4j_image import (
    CONTROLS,
    FIRST_WITH_SECRETS,
    Container,
    ContainerEnds,
    Place,
    initial_password,
    settings_of,
    volume_place,
)
from tests.neo4j_versions import LTS

ROOT = Path(__file__).parents[2]
SECRET = "/run/secrets/neo4j_auth"
VALIDATE = ("server", "validate-config")


class Deployment(NamedTuple):
    """A container of Neo4j.

    Attributes:
        container: The container, with a password file as the documentation makes it.
        image: Image and tag.
        health_check: Shell command.
        memory: Memory limit.
        has_writable_root: Whether the container may write outside of its volumes.
    """

    container: Container
    image: str
    health_check: str
    memory: str
    has_writable_root: bool


@pytest.fixture(scope="module")
def composed(services: dict[str, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Deployment:
    """Return the service of docker-compose.yml, with the password file of `make secret`."""
    description = services["neo4j"]
    folder = tmp_path_factory.mktemp("clone")
    subprocess.run(["make", "--silent", "--file", str(ROOT / "Makefile"), "secret"], cwd=folder, check=True)
    file = folder / "secrets" / "neo4j_auth"
    user, group = map(int, description["user"].split(":"))
    volumes = [each["target"] if isinstance(each, dict) else each.split(":")[1] for each in description["volumes"]]
    places = {path: volume_place(path) for path in volumes}
    # Compose mounts the file itself, with its owner and mode. The users of the containers are no users of this machine.
    places[SECRET] = Place(1000, 1000, file.stat().st_mode & 0o777)
    kind, health_check = description["healthcheck"]["test"]
    assert kind == "CMD-SHELL"
    return Deployment(
        Container(description["environment"], places, {SECRET: file.read_text()}, user, frozenset({group})),
        description["image"],
        health_check.replace("$$", "$"),
        description["deploy"]["resources"]["limits"]["memory"],
        not description.get("read_only"),
    )


@pytest.fixture(scope="module")
def clustered() -> Deployment:
    """Return the StatefulSet of deploy/kubernetes, with the password of docs/how-to/kubernetes.md."""
    resources = yaml.safe_load_all((ROOT / "deploy" / "kubernetes" / "neo4j.yaml").read_text())
    (workload,) = (each for each in resources if each["kind"] == "StatefulSet")
    pod = workload["spec"]["template"]["spec"]
    (description,) = pod["containers"]
    context = pod["securityContext"]
    group = context["fsGroup"]
    # Kubernetes gives volumes to the group `fsGroup` and sets their setgid bit. Files of a Secret belong to root.
    kinds = {each["name"]: each for each in pod["volumes"]}
    places = {}
    for mount in description["volumeMounts"]:
        secret = kinds.get(mount["name"], {}).get("secret")
        mode = 0o2775 if secret is None else secret["defaultMode"]
        places[mount["mountPath"]] = Place(0, group, mode)
    page = (ROOT / "docs" / "how-to" / "kubernetes.md").read_text()
    (command,) = re.findall(r"^(printf .*) > neo4j_auth$", page, re.MULTILINE)
    text = subprocess.run(["sh", "-c", command], check=True, capture_output=True, text=True).stdout
    return Deployment(
        Container(
            {each["name"]: each["value"] for each in description["env"]},
            places,
            {SECRET: text},
            context["runAsUser"],
            frozenset({context["runAsGroup"], group}),
        ),
        description["image"],
        description["readinessProbe"]["exec"]["command"][-1],
        description["resources"]["limits"]["memory"],
        not description["securityContext"].get("readOnlyRootFilesystem"),
    )


@pytest.fixture(scope="module", params=["composed", "clustered"])
def deployment(request: pytest.FixtureRequest) -> Deployment:
    deployment: Deployment = request.getfixturevalue(request.param)
    return deployment


NeoAdmin = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def server_jars(require_tools: Callable[..., None]) -> str:
    require_tools("java", "mvn")
    Neo4jServer.build()
    return str(LTS.jars / "*")


@pytest.fixture
def neo4j_admin(server_jars: str, tmp_path: Path) -> NeoAdmin:
    """Return `neo4j_admin("server", "validate-config", settings={...})`, the command of a real server."""
    home = tmp_path / "neo4j"
    for name in ("conf", "logs", "lib"):
        (home / name).mkdir(parents=True)

    def run(*arguments: str, settings: dict[str, str]) -> subprocess.CompletedProcess[str]:
        (home / "conf" / "neo4j.conf").write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        return subprocess.run(
            [
                *("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", server_jars),
                *("org.neo4j.server.startup.Neo4jAdminCommand", *arguments),
            ],
            env={"PATH": os.environ["PATH"], "NEO4J_HOME": str(home), "NEO4J_CONF": str(home / "conf")},
            capture_output=True,
            text=True,
        )

    return run


def size(text: str) -> int:
    number, unit = re.fullmatch(r"(\d+)([MG])i?", text).groups()  # type: ignore[union-attr]
    return int(number) * {"M": 2**20, "G": 2**30}[unit]


def test_version_is_one_that_reads_the_password_from_a_file(deployment: Deployment) -> None:
    repository, _, tag = deployment.image.partition(":")
    version = re.fullmatch(r"(\d+)\.(\d+)[\d.]*-community", tag)
    assert repository == "neo4j"
    assert version is not None
    assert (int(version[1]), int(version[2])) >= FIRST_WITH_SECRETS


def test_user_is_not_root_and_owns_the_folders_of_the_image(deployment: Deployment) -> None:
    assert deployment.container.user == volume_place("/data").user == 7474


def test_entry_point_starts_the_server_with_the_documented_password(deployment: Deployment) -> None:
    password = deployment.container.start().password
    assert password is not None
    assert f"neo4j/{password}" == deployment.container.texts[SECRET].rstrip("\n")


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o604, 0o640])
def test_password_file_must_be_readable_by_its_mode(composed: Deployment, mode: int) -> None:
    """A file of another user must be readable by everyone: `make secret` protects the folder around it."""
    places = {**composed.container.mounts, SECRET: Place(1000, 1000, mode)}
    container = replace(composed.container, mounts=places)
    if mode & 4:
        assert container.start().password
    else:
        with pytest.raises(ContainerEnds, match="not readable"):
            container.start()


def test_volumes_are_writable_by_the_user(deployment: Deployment) -> None:
    container = deployment.container
    folders = set(container.mounts) - {SECRET}
    assert {"/data", "/logs"} <= folders
    for path in folders:
        assert container.mounts[path].is_writable(container.user, container.groups), path


def test_named_volume_outside_of_the_folders_of_the_image_ends_the_container(composed: Deployment) -> None:
    """Docker gives such a volume to root, and the entry point refuses it. This broke the first compose file."""
    places = {**composed.container.mounts, "/plugins": volume_place("/plugins")}
    with pytest.raises(ContainerEnds, match="/plugins is not accessible"):
        replace(composed.container, mounts=places).start()


def test_no_mount_replaces_settings_or_other_folders_that_the_entry_point_reads(deployment: Deployment) -> None:
    mounts = set(deployment.container.mounts) - {SECRET}
    assert mounts <= {"/data", "/logs", "/plugins", "/var/lib/neo4j/plugins"}


def test_root_file_system_is_writable_because_settings_are_written_there(deployment: Deployment) -> None:
    assert deployment.has_writable_root


def test_every_variable_becomes_a_known_setting(deployment: Deployment, neo4j_admin: NeoAdmin) -> None:
    settings = deployment.container.start().settings
    variables = set(deployment.container.environment) - CONTROLS - {"NEO4J_AUTH_FILE"}
    assert len(settings_of(dict.fromkeys(variables, "1"))) == len(variables)
    outcome = neo4j_admin(*VALIDATE, settings=settings)
    assert "Configuration file validation successful" in outcome.stdout, outcome.stdout
    assert settings["server.memory.heap.initial_size"] == settings["server.memory.heap.max_size"] == "2G"
    assert settings["server.memory.pagecache.size"] == "1G"


@pytest.mark.parametrize(
    ("variable", "setting"),
    [
        ("NEO4J_PASSWORD", "PASSWORD"),
        ("NEO4J_SERVICE_HOST", "SERVICE.HOST"),
        ("NEO4J_server_memory_x", "server.memory.x"),
    ],
)
def test_server_refuses_a_variable_that_is_no_setting(
    composed: Deployment, neo4j_admin: NeoAdmin, variable: str, setting: str
) -> None:
    """Kubernetes sets variables such as NEO4J_SERVICE_HOST for a service, unless `enableServiceLinks` is off."""
    container = replace(composed.container, environment={**composed.container.environment, variable: "x"})
    outcome = neo4j_admin(*VALIDATE, settings=container.start().settings)
    assert f"No declared setting with name: {setting}." in outcome.stdout


def test_kubernetes_adds_no_variables_of_services() -> None:
    for resource in yaml.safe_load_all((ROOT / "deploy" / "kubernetes" / "neo4j.yaml").read_text()):
        if resource["kind"] == "StatefulSet":
            assert resource["spec"]["template"]["spec"]["enableServiceLinks"] is False


def test_server_listens_on_every_address(deployment: Deployment) -> None:
    assert deployment.container.start().settings["server.default_listen_address"] == "0.0.0.0"


def test_heap_and_page_cache_fit_into_the_memory_limit(deployment: Deployment) -> None:
    settings = deployment.container.start().settings
    used = size(settings["server.memory.heap.max_size"]) + size(settings["server.memory.pagecache.size"])
    assert used < size(deployment.memory)


def test_plugin_is_downloaded_to_a_volume(deployment: Deployment) -> None:
    """The file has the same name whatever its version, so that the next download replaces it."""
    (file,) = deployment.container.start().plugins
    folder, _, name = file.rpartition("/")
    assert name == "graph-data-science.jar"
    assert folder in deployment.container.mounts


def test_plugin_may_use_internals_even_if_it_was_not_downloaded(deployment: Deployment) -> None:
    """The entry point of calendar versions sets this for a plugin that it has downloaded, and for no other."""
    environment = {name: value for name, value in deployment.container.environment.items() if name != "NEO4J_PLUGINS"}
    for container in (deployment.container, replace(deployment.container, environment=environment)):
        assert container.start().settings["dbms.security.procedures.unrestricted"] == "gds.*"


def test_image_can_download_the_plugin(services: dict[str, dict[str, Any]]) -> None:
    networks = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["networks"]
    assert any(not networks[name].get("internal") for name in services["neo4j"]["networks"])


def test_unknown_plugin_ends_the_container(composed: Deployment) -> None:
    environment = {**composed.container.environment, "NEO4J_PLUGINS": '["gds"]'}
    with pytest.raises(ContainerEnds, match="not a known Neo4j plugin"):
        replace(composed.container, environment=environment).start()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("neo4j/neo4j\n", "cannot be neo4j"),
        ("neo4j/short\n", "at least 8 characters"),
        ("neo4j/a/longer/password\n", "invalid"),
        ("neo4j/\n", "invalid"),
        ("ann/a longer password\n", "must be neo4j"),
        ("neo4j:a longer password\n", "invalid"),
    ],
)
def test_image_refuses_a_password_file(composed: Deployment, text: str, reason: str) -> None:
    with pytest.raises(ContainerEnds, match=reason):
        replace(composed.container, texts={SECRET: text}).start()


@pytest.mark.parametrize(
    ("password", "accepted"), [("1234567", False), ("12345678", True), (" correct horse:$(x) ü", True)]
)
def test_server_accepts_a_password_of_eight_characters(neo4j_admin: NeoAdmin, password: str, accepted: bool) -> None:
    outcome = neo4j_admin("dbms", "set-initial-password", password, settings={})
    assert (outcome.returncode == 0) == accepted, outcome.stderr
    if accepted:
        assert initial_password(f"neo4j/{password}") == password
    else:
        assert "at least 8 characters" in outcome.stderr
        with pytest.raises(ContainerEnds, match="at least 8 characters"):
            initial_password(f"neo4j/{password}")


@pytest.mark.parametrize("text", ["neo4j/12345678\n", "neo4j/12345678", "neo4j/ correct horse ü \n"])
def test_graphkin_and_the_image_read_the_same_password(
    composed: Deployment, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str
) -> None:
    (tmp_path / "auth").write_text(text)
    monkeypatch.setenv(AUTH_FILE, str(tmp_path / "auth"))
    started = replace(composed.container, texts={SECRET: text}).start()
    assert connection._credentials() == ("neo4j", started.password)


def test_graphkin_accepts_a_password_with_a_slash(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A server that was not started from the image may have one."""
    (tmp_path / "auth").write_text("ann/a/longer/password\n")
    monkeypatch.setenv(AUTH_FILE, str(tmp_path / "auth"))
    assert connection._credentials() == ("ann", "a/longer/password")
    (tmp_path / "auth").write_text("neo4j:a longer password\n")
    with pytest.raises(InvalidInput, match="holds no credentials"):
        connection._credentials()


def test_health_check_logs_in_with_the_password(deployment: Deployment, tmp_path: Path) -> None:
    """The check runs in a shell whose `cypher-shell` is a script that prints its credentials."""
    shell = tmp_path / "cypher-shell"
    shell.write_text('#!/bin/sh\necho "$NEO4J_USERNAME $NEO4J_PASSWORD $1"\n')
    shell.chmod(0o755)
    (tmp_path / "auth").write_text("neo4j/b $c d\n")
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "NEO4J_AUTH_FILE": str(tmp_path / "auth")}
    output = subprocess.run(
        ["sh", "-c", deployment.health_check], env=environment, capture_output=True, text=True
    ).stdout
    assert output == "neo4j b $c d RETURN gds.version()\n"
