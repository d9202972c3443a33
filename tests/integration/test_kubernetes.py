"""deploy/kubernetes beside docker-compose.yml, the Dockerfile and the settings. Nothing is started."""

import re
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from graphkin.api.settings import Settings

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "kubernetes"
KUSTOMIZATION: dict[str, Any] = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
RESOURCES: list[dict[str, Any]] = [
    resource for name in KUSTOMIZATION["resources"] for resource in yaml.safe_load_all((FOLDER / name).read_text())
]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
WORKLOADS = {each["metadata"]["name"]: each for each in RESOURCES if each["kind"] in ("Deployment", "StatefulSet")}
both = pytest.mark.parametrize("name", WORKLOADS)


def of_kind(kind: str) -> dict[str, dict[str, Any]]:
    return {each["metadata"]["name"]: each for each in RESOURCES if each["kind"] == kind}


def container(name: str) -> dict[str, Any]:
    (found,) = WORKLOADS[name]["spec"]["template"]["spec"]["containers"]
    return dict(found)


def environment(name: str) -> dict[str, str | None]:
    """Variable -> value; None for one that comes from a secret."""
    return {each["name"]: each.get("value") for each in container(name)["env"]}


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda each: f"{each['kind']}-{each['metadata']['name']}")
def test_it_is_what_kubernetes_reads(resource: dict[str, Any]) -> None:
    kubernetes_validate.validate(resource, "1.32", strict=True)


def test_every_file_is_applied() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {"kustomization.yaml", *KUSTOMIZATION["resources"]}
    assert set(WORKLOADS) == {"neo4j", "api"}


@both
def test_images_and_ports_are_those_of_compose(name: str) -> None:
    composed, own = COMPOSE[name], container(name)
    image = composed["image"] if name == "neo4j" else composed.get("image", "graphkin")
    assert own["image"] == image
    ports = {port["containerPort"] for port in own["ports"]}
    assert ports == ({port["target"] for port in composed["ports"]} if name == "api" else {7687})
    (served,) = of_kind("Service")[name]["spec"]["ports"]
    assert served["port"] in ports
    assert of_kind("Service")[name]["spec"]["selector"] == WORKLOADS[name]["spec"]["template"]["metadata"]["labels"]
    assert KUSTOMIZATION["images"][0]["name"] == container("api")["image"]


@both
def test_variables_are_those_of_compose(name: str) -> None:
    composed, own = (
        set(COMPOSE[name]["environment"]) - {"<<", "NEO4J_AUTH_FILE", "GRAPHKIN_NEO4J_AUTH_FILE"},
        set(environment(name)),
    )
    shared = {"GRAPHKIN_NEO4J_USER", "GRAPHKIN_NEO4J_PASSWORD", "NUMBA_CACHE_DIR"} if name == "api" else set()
    assert composed | shared <= own
    assert own - composed - shared == (
        {"GRAPHKIN_ACCESS_LOG"} if name == "api" else {"GRAPHKIN_NEO4J_PASSWORD", "NEO4J_AUTH"}
    )


def test_the_settings_are_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    given = environment("api")
    known = {f"GRAPHKIN_{name.upper()}" for name in Settings.model_fields}
    assert {name for name in given if name.startswith("GRAPHKIN_") and "NEO4J" not in name} <= known
    for name, value in given.items():
        monkeypatch.setenv(name, value or "")
    command = container("api")["args"]
    assert command == COMPOSE["api"]["command"]
    settings = Settings(store=command[command.index("--store") + 1])
    probes = [container("api")[f"{kind}Probe"]["httpGet"] for kind in ("startup", "readiness", "liveness")]
    asked = {header["value"] for probe in probes for header in probe["httpHeaders"] if header["name"] == "Host"}
    assert {*asked, "api"} <= set(settings.allowed_hosts)
    assert [probe["path"] for probe in probes] == ["/readyz", "/readyz", "/livez"]


@both
def test_the_password_comes_from_a_secret_alone(name: str) -> None:
    (variable,) = (each for each in container(name)["env"] if each["name"] == "GRAPHKIN_NEO4J_PASSWORD")
    assert variable["valueFrom"]["secretKeyRef"] == {"name": "graphkin-neo4j", "key": "password"}
    assert not of_kind("Secret")


@both
def test_it_runs_without_privileges_and_within_limits(name: str) -> None:
    pod, own = WORKLOADS[name]["spec"]["template"]["spec"], container(name)
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert own["securityContext"]["allowPrivilegeEscalation"] is False
    assert own["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert own["resources"]["limits"]["memory"]
    mounted = {mount["name"] for mount in own["volumeMounts"]}
    claimed = {claim["metadata"]["name"] for claim in WORKLOADS[name]["spec"].get("volumeClaimTemplates", [])}
    assert mounted == {volume["name"] for volume in pod["volumes"]} | claimed


def test_the_api_writes_to_its_volumes_alone() -> None:
    own, dockerfile = container("api"), (ROOT / "Dockerfile").read_text()
    assert own["securityContext"]["readOnlyRootFilesystem"] is True
    user = WORKLOADS["api"]["spec"]["template"]["spec"]["securityContext"]["runAsUser"]
    assert re.search(rf"useradd .*--uid {user}\b", dockerfile)
    paths = {mount["mountPath"] for mount in own["volumeMounts"]}
    assert paths == {"/tmp", "/var/cache/graphkin"}
    for variable in ("NUMBA_CACHE_DIR", "GRAPHKIN_CACHE_DIR"):
        assert str(environment("api")[variable]).startswith("/var/cache/graphkin")
    claims = {
        each["persistentVolumeClaim"]["claimName"]
        for each in WORKLOADS["api"]["spec"]["template"]["spec"]["volumes"]
        if "persistentVolumeClaim" in each
    }
    assert claims == set(of_kind("PersistentVolumeClaim"))
