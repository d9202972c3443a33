"""A release, from a tagged clone to the wheel under each version of Python with an interpreter."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

ROOT = Path(__file__).parents[2]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
LICENSES = "licenses/graphkin/api/ui/dist/third-party-licenses.txt"


class Release(NamedTuple):
    """A clone that has the version as its tag, and what was built from it."""

    clone: Path
    sdist: Path
    wheel: Path


def tagged_clone(folder: Path) -> Path:
    """Clone the commit of this checkout and tag the clone."""
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
    subprocess.run(["git", "-C", folder, "tag", VERSION], check=True)
    return folder


def build(source: Path, output: Path, *options: str) -> list[Path]:
    """Build in a fresh environment with the newest backend, as `python -m build` does. Return the files in order."""
    environment = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    command: list[str | Path] = [
        Path(sys.executable).with_name("uv"),
        "build",
        "--quiet",
        *options,
        "--out-dir",
        output,
        source,
    ]
    subprocess.run(command, check=True, env=environment)
    return sorted(path for path in output.iterdir() if path.name.endswith((".tar.gz", ".whl")))


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """Build the sdist of a tagged clone, and the wheel from the sdist."""
    folder = tmp_path_factory.mktemp("release")
    clone = tagged_clone(folder / "clone")
    wheel, sdist = build(clone, folder / "dist")
    return Release(clone, sdist, wheel)


def test_tag_and_all_files_name_the_same_version(release: Release) -> None:
    def text(name: str) -> str:
        return (release.clone / name).read_text(encoding="utf-8")

    describe: list[str | Path] = ["git", "-C", release.clone, "describe", "--tags", "--exact-match"]
    assert subprocess.run(describe, check=True, capture_output=True, text=True).stdout.strip() == VERSION
    assert release.sdist.name == f"graphkin-{VERSION}.tar.gz"
    assert release.wheel.name == f"graphkin-{VERSION}-py3-none-any.whl"
    images = yaml.safe_load(text("deploy/kubernetes/kustomization.yaml"))["images"]
    (image_version,) = (image["newTag"] for image in images if image["name"] == "graphkin")
    security = re.search(r"^## Supported versions\n.*?(\d+\.\d+\.\d+)", text("SECURITY.md"), re.MULTILINE | re.DOTALL)
    changes = re.search(r"^## \[(\S+)\] - ", text("CHANGELOG.md"), re.MULTILINE)
    assert security is not None
    assert changes is not None
    versions = {
        "pyproject.toml": tomllib.loads(text("pyproject.toml"))["project"]["version"],
        "CITATION.cff": yaml.safe_load(text("CITATION.cff"))["version"],
        "kustomization.yaml": image_version,
        "recipe.yaml": yaml.safe_load(text("deploy/conda/recipe.yaml"))["context"]["version"],
        "SECURITY.md": security[1],
        "CHANGELOG.md": changes[1],
        "install.md": ", ".join(set(re.findall(r"graphkin-([\d.]+)-py3", text("docs/install.md")))),
    }
    assert versions == dict.fromkeys(versions, VERSION)


def test_release_passes_the_checks_of_a_package_index(release: Release) -> None:
    for check in (
        ("check_wheel_contents", release.wheel),
        ("twine", "check", "--strict", release.sdist, release.wheel),
    ):
        subprocess.run([sys.executable, "-m", *check], check=True)


def test_second_clone_builds_the_same_bytes(release: Release, tmp_path: Path) -> None:
    """Its page is built again. Its wheel is built from the clone, and the first one was built from the sdist."""
    clone = tagged_clone(tmp_path / "elsewhere" / "clone")
    (sdist,) = build(clone, tmp_path / "sdist", "--sdist")
    (wheel,) = build(clone, tmp_path / "wheel", "--wheel")
    assert sdist.read_bytes() == release.sdist.read_bytes()
    assert wheel.read_bytes() == release.wheel.read_bytes()
    status = subprocess.run(["git", "-C", clone, "status", "--porcelain"], check=True, capture_output=True, text=True)
    assert status.stdout == ""


def interpreter(version: str) -> Path | None:
    """Return an interpreter of this version that starts. The shim of pyenv does so only if the version is active."""
    name, pyenv = f"python{version}", Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates = [Path(folder, name) for folder in os.get_exec_path()]
    candidates += sorted(pyenv.glob(f"versions/{version}.*/bin/{name}"))
    for candidate in candidates:
        if candidate.is_file() and subprocess.run([candidate, "-c", ""], capture_output=True).returncode == 0:
            return candidate
    return None


LIBRARY = """
import graphkin

graphkin.ingest("molecules.smi", store="store", collection="c")
print(graphkin.open("store")["c"].search("CCO", limit=2)["names"].to_pylist())
"""
METADATA = f"""
from importlib.metadata import distribution

graphkin = distribution("graphkin")
print(graphkin.version, graphkin.read_text({LICENSES!r}).count(", inside swagger-ui-dist: ") > 90)
"""
CLIENT = "from graphkin.client import AsyncGraphkin, Graphkin; import sys; assert 'torch' not in sys.modules"


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_wheel_works_as_a_library_and_runs_the_demo(version: str, release: Release, tmp_path: Path) -> None:
    """Install the wheel as a user would, first without extras and then with its server and client."""
    python = interpreter(version)
    if python is None:
        pytest.skip(f"NOT TESTED: no python{version} on PATH")
    subprocess.run([python, "-m", "venv", tmp_path / "venv"], check=True)
    programs = tmp_path / "venv" / "bin"
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}

    def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)

    install, demo = (
        (programs / "python", "-m", "pip", "install", "--quiet"),
        (programs / "graphkin", "demo", "--once", "--port", "0"),
    )
    run(*install, release.wheel).check_returncode()
    assert run(programs / "python", "-c", METADATA).stdout == f"{VERSION} True\n"
    (tmp_path / "molecules.smi").write_text("CCO a\nCCN b\nCCC c\nCCCO d\n")
    done = run(programs / "python", "-c", LIBRARY)
    assert done.stdout == "[['a'], ['d']]\n", done.stderr
    assert "install the extra server" in run(*demo).stderr
    run(*install, f"{release.wheel}[client,server]").check_returncode()
    run(programs / "python", "-m", "pip", "check").check_returncode()
    done = run(*demo)
    assert done.returncode == 0, done.stderr
    assert "most similar to aspirin" in done.stdout
    run(programs / "python", "-c", CLIENT).check_returncode()
