"""deploy/kubernetes agrees with docker-compose.yml, the Dockerfile and the settings. No container is started."""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import httpx
import kubernetes_validate
import pytest
import yaml

from graphkin.api.settings import Settings
from graphkin.protocol.keys import create_key
from graphkin.store import open_store

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
    """Variables of graphkin are the same, except those of this cluster. Those of Neo4j have the same values."""
    composed, own_container = (
        set(COMPOSE[name]["environment"]) - {"<<"},
        set(environment(name)),
    )
    shared = {"GRAPHKIN_NEO4J_AUTH_FILE", "NUMBA_CACHE_DIR"} if name == "api" else set()
    assert composed | shared <= own_container
    if name == "neo4j":
        defaults = {
            key: re.sub(r"\$\{\w+:-(.*)\}", r"\1", value) for key, value in COMPOSE[name]["environment"].items()
        }
        assert environment(name) == defaults
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


def test_database_is_filled_before_the_api_starts_as_in_compose() -> None:
    """The init container is the service `demo` of Compose, with no more rights than the API."""
    (demo,) = WORKLOADS["api"]["spec"]["template"]["spec"]["initContainers"]
    assert (demo["name"], demo["image"], demo["args"]) == ("demo", "graphkin", COMPOSE["demo"]["command"])
    variables = {each["name"]: each["value"] for each in demo["env"]}
    assert variables == COMPOSE["demo"]["environment"]
    for key in ("resources", "securityContext", "volumeMounts"):
        assert demo[key] == container("api")[key]


ALLOWED = {
    ("api", "neo4j"): 7687,
    ("ingest", "neo4j"): 7687,
    ("client", "api"): 8000,
}
"""Connections between pods, by the value of the label `app`. Every other one is refused."""


def pods_of(peers: list[dict[str, Any]]) -> set[str]:
    """Return the pods of this namespace among the peers of a rule."""
    return {peer["podSelector"]["matchLabels"]["app"] for peer in peers if set(peer) == {"podSelector"}}


def test_network_policies_allow_each_connection_at_both_ends_and_no_other() -> None:
    policies = resources_of_kind("NetworkPolicy")
    ports = {port["name"]: port["containerPort"] for name in WORKLOADS for port in container(name)["ports"]}
    incoming: dict[tuple[str, str], int] = {}
    outgoing: dict[tuple[str, str], int] = {}
    for policy in (each["spec"] for each in policies.values()):
        pod = policy["podSelector"].get("matchLabels", {}).get("app")
        for rule in policy.get("ingress", []):
            ((port,),) = (each.values() for each in rule["ports"])
            incoming |= {(source, pod): ports[port] for source in pods_of(rule["from"])}
        for rule in policy.get("egress", []):
            for target in pods_of(rule["to"]):
                outgoing[pod, target] = rule["ports"][0]["port"]
    assert incoming == outgoing == ALLOWED
    assert policies["default"]["spec"]["podSelector"] == {}
    assert policies["default"]["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert "ingress" not in policies["default"]["spec"]
    (dns,) = policies["default"]["spec"]["egress"]
    assert {(port["protocol"], port["port"]) for port in dns["ports"]} == {("UDP", 53), ("TCP", 53)}


def test_only_neo4j_reaches_the_internet_and_no_private_address() -> None:
    """The image of Neo4j downloads the plugin when it starts."""
    outside = {
        name: rule
        for name, policy in resources_of_kind("NetworkPolicy").items()
        for rule in policy["spec"].get("egress", [])
        if any("ipBlock" in peer for peer in rule["to"])
    }
    assert set(outside) == {"neo4j"}
    assert outside["neo4j"]["ports"] == [{"port": 443}]
    for peer in outside["neo4j"]["to"]:
        block = ip_network(peer["ipBlock"]["cidr"])
        excluded = [ip_network(each) for each in peer["ipBlock"]["except"]]
        assert all(each.subnet_of(block) for each in excluded)  # type: ignore[arg-type]
        for address in map(ip_address, ("10.96.0.1", "172.20.1.1", "192.168.3.4", "169.254.169.254", "fd00::1")):
            assert address not in block or any(address in each for each in excluded)


def test_prometheus_may_connect_to_the_api() -> None:
    (rule,) = resources_of_kind("NetworkPolicy")["api"]["spec"]["ingress"]
    (peer,) = (peer for peer in rule["from"] if "namespaceSelector" in peer)
    assert peer["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": "monitoring"}
    assert peer["podSelector"]["matchLabels"] == {"app.kubernetes.io/name": "prometheus"}


@pytest.mark.parametrize("address", [POD_IP, "fd00::7"])
def test_prometheus_scrapes_a_pod_with_a_key_of_the_least_scope(
    serve: Callable[..., AbstractContextManager[str]], tmp_path: Path, address: str
) -> None:
    """A scrape as the annotations say, with the Host header of the pod's address, of a real server that has keys."""
    keys = {}
    with open_store(tmp_path / "store", create=True) as store:
        for scope in ("metrics", "read"):
            keys[scope], key = create_key(scope, [scope])
            store.keys().add(key)
    annotations = WORKLOADS["api"]["spec"]["template"]["metadata"]["annotations"]
    assert annotations["prometheus.io/scrape"] == "true"
    hosts = (environment("api")["GRAPHKIN_ALLOWED_HOSTS"] or "").replace("$(POD_IP)", address)
    authority = f"[{address}]" if ":" in address else address
    headers = {"Host": f"{authority}:{annotations['prometheus.io/port']}"}
    with serve(tmp_path / "store", allowed_hosts=hosts.split(",")) as url:

        def scrape(**extra: str) -> httpx.Response:
            return httpx.get(f"{url}{annotations['prometheus.io/path']}", headers={**headers, **extra})

        reply = scrape(Authorization=f"Bearer {keys['metrics']}")
        assert (reply.status_code, "graphkin_damaged_generations" in reply.text) == (200, True)
        assert scrape().status_code == 401
        assert scrape(Authorization=f"Bearer {keys['read']}").status_code == 403
        assert scrape(Authorization=f"Bearer {keys['metrics']}", Host="10.9.9.9:8000").status_code == 400
        refused = httpx.get(f"{url}/v1/collections", headers={"Authorization": f"Bearer {keys['metrics']}"})
        assert refused.status_code == 403


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
