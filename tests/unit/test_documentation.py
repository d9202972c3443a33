"""The documentation matches the commands, targets, settings, files and packages."""

import importlib
import os
import re
import resource
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from graphkin.api.settings import Settings
from graphkin.api.work.classes import CLASSES

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("script", "folder"), [("regenerate", "commands"), ("rest", "."), ("errors", ".")])
def test_reference_pages_are_generated(script: str, folder: str) -> None:
    pages = runpy.run_path(str(ROOT / "docs" / f"{script}.py"))["pages"]()
    texts = {path: path.read_text(encoding="utf-8") for path in pages if path.exists()}
    assert [path.name for path, text in pages.items() if texts.get(path) != text] == [], "run `make docs`"
    if folder == "commands":
        assert {*(ROOT / "docs" / "reference" / folder).glob("*.md")} == pages.keys(), "run `make docs`"


def test_make_without_a_target_lists_all_targets() -> None:
    output = subprocess.run(["make", "--silent"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    (phony,) = re.findall(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(re.findall(r"^make (\S+) +\S", output, re.MULTILINE)) == sorted(phony.split())


def test_hook_calls_only_make_lint() -> None:
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    assert repository["repo"] == "local"
    assert [(hook["language"], hook["entry"]) for hook in repository["hooks"]] == [("system", "make lint")]


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/develop/extending.md"])
def test_files_and_names_in_contributor_pages_exist(page: str) -> None:
    """Each file that the page names exists, and holds the names that the list item mentions."""
    missing = []
    for point in re.split(r"\n\n|\n(?=- )", (ROOT / page).read_text(encoding="utf-8")):
        references = re.findall(r"`(?!\.\./)([^`\s]+)`", point)  # files outside of the repository are not checked
        paths = [
            ROOT / reference
            for reference in references
            if "/" in reference or reference.endswith((".md", ".toml", ".yaml", ".yml"))
        ]
        missing += [path for path in paths if not path.exists()]
        if point.startswith("- "):
            files = [file for path in paths for file in (path.rglob("*.py") if path.is_dir() else [path])]
            text = "".join(file.read_text(encoding="utf-8") for file in files if file.is_file())
            names = [part for reference in references if ROOT / reference not in paths for part in reference.split(".")]
            missing += [name for name in names if name not in text]
    assert missing == []


def test_modules_in_developer_pages_exist() -> None:
    """A page may name a module by the end of its path, where a table or a sentence names its package."""
    folders = ("graphkin", "api", "ingest", "trainer", "studies", "benchmarks", "tests")
    paths = [
        Path(folder, name).as_posix() for top in folders for folder, _, names in os.walk(ROOT / top) for name in names
    ]
    for page in (ROOT / "docs" / "develop").glob("*.md"):
        for module in re.findall(r"`([\w/]+\.(?:py|ts|svelte))`", page.read_text(encoding="utf-8")):
            assert (ROOT / module).exists() or any(path.endswith(f"/{module}") for path in paths), (
                f"{page.name}: {module}"
            )


def settings_rows(section: str, page: str = "reference/settings.md") -> dict[str, list[str]]:
    """The cells of each row of the tables under a heading, without backticks, by the names of the variables."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    text = text.partition(f"## {section}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`[A-Z].*) \|$", text, re.MULTILINE)
    cells = [[cell.strip().replace("`", "") for cell in row.split("|")] for row in rows]
    return {names: rest for names, *rest in cells}


def test_each_setting_is_documented() -> None:
    """The table has the default and the unit of each setting of the server."""
    rows = settings_rows("Server")
    units = {"bytes": "bytes", "seconds": "seconds", "hours": "hours", "connections": "connections"}
    expected = {}
    for name, field in Settings.model_fields.items():
        if name == "store":  # `--store` of every command
            continue
        default = field.default
        if name == "cache_dir":
            text = "~/.cache/graphkin"
        elif isinstance(default, tuple):
            text = ",".join(default) or "none"
        else:
            text = "none" if default is None else str(default).lower().removesuffix(".0" if name != "host" else "")
        unit = next((unit for suffix, unit in units.items() if suffix in name.split("_")), "")
        expected[f"GRAPHKIN_{name.upper()}"] = (text, unit)
    documented = {name: (default, unit) for name, (default, unit, _) in rows.items()}
    assert documented == expected


def test_each_variable_is_documented() -> None:
    """Every variable that the code reads is in a table, and every variable of the tables is one that it reads."""
    code = "\n".join(
        path.read_text(encoding="utf-8")
        for folder in ("graphkin", "api", "ingest", "trainer")
        for path in (ROOT / folder).rglob("*.py")
    )
    read = set(re.findall(r"\"(GRAPHKIN_[A-Z0-9_]+)\"", code)) | {
        f"GRAPHKIN_{name.upper()}" for name in Settings.model_fields
    }
    documented = {name for section in ("Commands", "Neo4j", "Server") for name in settings_rows(section)}
    assert documented == read


def test_each_variable_of_compose_is_documented() -> None:
    """docker-compose.yml has the defaults that the page names."""
    compose = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    defaults = dict(re.findall(r"\$\{(\w+):[-?]([^}]*)\}", compose))
    defaults["GRAPHKIN_RUNS"] = "the volume runs"
    rows = settings_rows("Variables", "how-to/docker.md")
    documented = {
        name: default
        for names, (texts, _) in rows.items()
        for name, default in zip(names.split(", "), texts.split(", ") if ", " in names else [texts], strict=True)
    }
    assert documented == defaults


def test_limits_of_work_are_documented() -> None:
    """The page has the limits of each class of work."""
    rows = re.findall(
        r"^\| `(\w+)` \| .* \| (\d+) \| (\d+) \| (\d+) s \| (\d+) s \|$",
        (ROOT / "docs" / "reference" / "limits.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    limits = {
        name: (each.max_running, each.max_waiting, each.patience, each.retry_after) for name, each in CLASSES.items()
    }
    assert {name: tuple(map(int, numbers)) for name, *numbers in rows} == limits


def test_metrics_are_documented() -> None:
    page = (ROOT / "docs" / "reference" / "metrics-and-logs.md").read_text(encoding="utf-8")
    names = set(re.findall(r"^\| `(graphkin_\w+)`", page, re.MULTILINE))
    code = [(ROOT / "api" / path).read_text(encoding="utf-8") for path in ("http/metrics.py", "state_metrics.py")]
    written = {f"graphkin_{name}" for name in re.findall(r"(?:gauge|counter)\(\s*\"(\w+)\"", code[1])}
    written |= set(re.findall(r"\"(graphkin_\w+)\"", code[0]))
    assert {name.removesuffix("_total") for name in names} == written
    dashboard = (ROOT / "deploy" / "grafana" / "graphkin.json").read_text(encoding="utf-8")
    shown = {re.sub("_bucket$", "", name) for name in re.findall(r"graphkin_[a-z_]+", dashboard)}
    assert names - shown == {"graphkin_damaged_generations", "graphkin_connections_closed_total"}


def test_links_between_pages_exist() -> None:
    hooks = runpy.run_path(str(ROOT / "docs" / "hooks.py"))
    generated = {ROOT / "docs" / page for page in hooks["FROM_ROOT"].values()}
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        text = re.sub(r"```.*?```|`[^`\n]+`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)  # SMILES
        for target in re.findall(r"\]\((?!http)([^)#]+)", text):
            path = page.parent / target
            assert path.exists() or path.resolve() in generated, f"{page.name}: {target}"


@pytest.mark.parametrize("package", [each.parent.name for each in (ROOT / "graphkin").glob("*/__init__.py")])
def test_imported_packages_belong_to_this_repository(package: str) -> None:
    """Images are built from all of them."""
    folder = (ROOT / "graphkin" / package).resolve()
    assert Path(importlib.import_module(f"graphkin.{package}").__file__ or "").resolve().parent == folder
    assert f"!{folder.relative_to(ROOT).parts[0]}" in (ROOT / ".dockerignore").read_text().splitlines()


def test_help_takes_less_than_half_a_second() -> None:
    """Packages are imported lazily. The test measures processor time, because the machine may be busy."""
    command = [str(Path(sys.executable).with_name("graphkin")), "--help"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.5


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shell_completes_commands(shell: str) -> None:
    """It runs the command of the page, and then the command that the shell runs."""
    variable = f"_GRAPHKIN_COMPLETE={shell}_source"
    assert variable in (ROOT / "docs" / "reference" / "commands" / "index.md").read_text(encoding="utf-8")
    command = [str(Path(sys.executable).with_name("graphkin"))]

    def output(**environment: str) -> str:
        return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}).stdout

    assert "_GRAPHKIN_COMPLETE" in output(_GRAPHKIN_COMPLETE=f"{shell}_source")
    current = "neigh" if shell == "fish" else "1"
    assert "neighbors" in output(
        _GRAPHKIN_COMPLETE=f"{shell}_complete", COMP_WORDS="graphkin neigh", COMP_CWORD=current
    )
