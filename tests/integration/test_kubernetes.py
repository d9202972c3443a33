"""deploy/kubernetes agrees with docker-compose.yml, the Dockerfile and the settings. Nothing is started."""

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
both_workloads = pytest.mark.parametrize("name", WORKLOADS)


def resources_of_kind(kind: str) -> dict[str, dict[str, Any]]:
    return {each["metadata"]["name"]: each for each in RESOURCES if each["kind"] == kind}


def container(name: str) -> dict[str, Any]:
    (description,) = WORKLOADS[name]["spec"]["template"]["spec"]["containers"]
    return dict(description)


POD_IP = "10.1.2.3"


def expand(value: str | None) -> str:
    """Expand the variable of the downward API as Kubernetes does."""
    return (value or "").replace("$(POD_IP)", POD_IP)


def environment(name: str) -> dict[str, str | None]:
    """Return the value of each variable, or None if it comes from elsewhere."""
    return {each["name"]: each.get("value") for each in container(name)["env"]}


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda each: f"{each['kind']}-{each['metadata']['name']}")
def test_resource_is_valid(resource: dict[str, Any]) -> None:
    kubernetes_validate.validate(resource, "1.32", strict=True)


def test_every_file_is_a_resource() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {"kustomization.yaml", *KUSTOMIZATION["resources"]}
    assert set(WORKLOADS) == {"neo4j", "api"}


@both_workloads
def test_images_and_ports_equal_compose(name: str) -> None:
    composed, own_container = COMPOSE[name], container(name)
    image = composed["image"] if name == "neo4j" else composed.get("image", "graphkin")
    assert own_container["image"] == image
    ports = {port["containerPort"] for port in own_container["ports"]}
    assert ports == ({port["target"] for port in composed["ports"]} if name == "api" else {7687})
    (service_port,) = resources_of_kind("Service")[name]["spec"]["ports"]
    assert service_port["port"] in ports
    assert (
        resources_of_kind("Service")[name]["spec"]["selector"]
        == WORKLOADS[name]["spec"]["template"]["metadata"]["labels"]
    )


@both_workloads
def test_variables_equal_compose(name: str) -> None:
    composed, own_container = (
        set(COMPOSE[name]["environment"]) - {"<<"},
        set(environment(name)),
    )
    shared = {"GRAPHKIN_NEO4J_AUTH_FILE", "NUMBA_CACHE_DIR"} if name == "api" else set()
    assert composed | shared <= own_container
    assert own_container - composed - shared == ({"GRAPHKIN_ACCESS_LOG", "POD_IP"} if name == "api" else set())


def test_settings_are_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = {name: expand(value) for name, value in environment("api").items()}
    known = {f"GRAPHKIN_{name.upper()}" for name in Settings.model_fields}
    assert {name for name in variables if name.startswith("GRAPHKIN_") and "NEO4J" not in name} <= known
    for name, value in variables.items():
        monkeypatch.setenv(name, value or "")
    command = container("api")["args"]
    assert command == COMPOSE["api"]["command"]
    settings = Settings(store=command[command.index("--store") + 1])
    probes = [container("api")[f"{kind}Probe"]["httpGet"] for kind in ("startup", "readiness", "liveness")]
    probed_hosts = {header["value"] for probe in probes for header in probe["httpHeaders"] if header["name"] == "Host"}
    assert {*probed_hosts, "api"} <= set(settings.allowed_hosts)
    # Prometheus sends these Host headers, over IPv4 and IPv6.
    assert {POD_IP, f"[{POD_IP}]"} <= set(settings.allowed_hosts)
    assert "*" not in settings.allowed_hosts
    assert [probe["path"] for probe in probes] == ["/readyz", "/readyz", "/livez"]


@both_workloads
def test_password_is_a_secret_file_and_no_variable(name: str) -> None:
    path = environment(name)["GRAPHKIN_NEO4J_AUTH_FILE" if name == "api" else "NEO4J_AUTH_FILE"]
    (mount,) = (each for each in container(name)["volumeMounts"] if each["mountPath"] == path)
    assert mount["readOnly"] is True
    (volume,) = (
        each for each in WORKLOADS[name]["spec"]["template"]["spec"]["volumes"] if each["name"] == mount["name"]
    )
    assert volume["secret"] == {"secretName": "graphkin-neo4j", "defaultMode": 0o440}
    assert mount["subPath"] == "neo4j_auth"
    assert not [each for each in container(name)["env"] if "secretKeyRef" in each.get("valueFrom", {})]
    assert not resources_of_kind("Secret")


@both_workloads
def test_network_policy_only_allows_the_served_port(name: str) -> None:
    policy = resources_of_kind("NetworkPolicy")[name]["spec"]
    assert policy["podSelector"]["matchLabels"] == WORKLOADS[name]["spec"]["template"]["metadata"]["labels"]
    (rule,) = policy["ingress"]
    assert [port["port"] for port in rule["ports"]] == [port["name"] for port in container(name)["ports"]]
    if name == "neo4j":
        assert {"podSelector": {"matchLabels": {"app": "api"}}} in rule["from"]


@both_workloads
def test_images_can_be_pinned_by_digest(name: str) -> None:
    repository = container(name)["image"].partition(":")[0]
    (image,) = (each for each in KUSTOMIZATION["images"] if each["name"] == repository)
    assert image["newTag"] != "latest"
    assert {"startupProbe", "readinessProbe"} <= container(name).keys()


@both_workloads
def test_workload_runs_without_privileges_and_within_limits(name: str) -> None:
    pod, own_container = WORKLOADS[name]["spec"]["template"]["spec"], container(name)
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert own_container["securityContext"]["allowPrivilegeEscalation"] is False
    assert own_container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert own_container["resources"]["limits"]["memory"]
    mounted = {mount["name"] for mount in own_container["volumeMounts"]}
    claimed = {claim["metadata"]["name"] for claim in WORKLOADS[name]["spec"].get("volumeClaimTemplates", [])}
    assert mounted == {volume["name"] for volume in pod["volumes"]} | claimed


def test_api_only_writes_to_its_volumes() -> None:
    own_container, dockerfile = container("api"), (ROOT / "Dockerfile").read_text()
    assert own_container["securityContext"]["readOnlyRootFilesystem"] is True
    user = WORKLOADS["api"]["spec"]["template"]["spec"]["securityContext"]["runAsUser"]
    assert re.search(rf"useradd .*--uid {user}\b", dockerfile)
    paths = {mount["mountPath"] for mount in own_container["volumeMounts"]}
    assert paths == {"/tmp", "/var/cache/graphkin", environment("api")["GRAPHKIN_NEO4J_AUTH_FILE"]}
    for variable in ("NUMBA_CACHE_DIR", "GRAPHKIN_CACHE_DIR"):
        assert str(environment("api")[variable]).startswith("/var/cache/graphkin")
    claims = {
        each["persistentVolumeClaim"]["claimName"]
        for each in WORKLOADS["api"]["spec"]["template"]["spec"]["volumes"]
        if "persistentVolumeClaim" in each
    }
    assert claims == set(resources_of_kind("PersistentVolumeClaim"))
