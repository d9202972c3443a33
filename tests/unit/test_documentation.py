"""The documentation tells the truth about commands, targets, settings, files and packages."""

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

ROOT = Path(__file__).parents[2]


def test_the_command_page_is_what_the_commands_say() -> None:
    regenerate = runpy.run_path(str(ROOT / "docs" / "regenerate.py"))
    assert (ROOT / "docs" / "cli.md").read_text(encoding="utf-8") == regenerate["page"](), "run `make docs`"


def test_make_without_a_target_says_every_target() -> None:
    told = subprocess.run(["make", "--silent"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    (phony,) = re.findall(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(re.findall(r"^make (\S+) +\S", told, re.MULTILINE)) == sorted(phony.split())


def test_the_hook_calls_make_lint_and_nothing_else() -> None:
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    assert repository["repo"] == "local"
    assert [(hook["language"], hook["entry"]) for hook in repository["hooks"]] == [("system", "make lint")]


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/extending.md"])
def test_files_and_names_that_contributors_are_sent_to_exist(page: str) -> None:
    """Every file that the page names, and the names that a point of its lists says are in them."""
    missing = []
    for point in re.split(r"\n\n|\n(?=- )", (ROOT / page).read_text(encoding="utf-8")):
        named = re.findall(r"`(?!\.\./)([^`\s]+)`", point)  # but not beside the repository
        places = [ROOT / each for each in named if "/" in each or each.endswith((".md", ".toml", ".yaml", ".yml"))]
        missing += [place for place in places if not place.exists()]
        if point.startswith("- "):
            files = [file for place in places for file in (place.rglob("*.py") if place.is_dir() else [place])]
            text = "".join(file.read_text(encoding="utf-8") for file in files if file.is_file())
            names = [part for each in named if ROOT / each not in places for part in each.split(".")]
            missing += [name for name in names if name not in text]
    assert missing == []


def test_every_setting_is_documented() -> None:
    from graphkin.api.settings import Settings

    guide = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")
    missing = [name for name in Settings.model_fields if f"GRAPHKIN_{name.upper()}" not in guide]
    assert missing == []


def test_links_between_pages_lead_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        text = re.sub(r"`[^`\n]+`", "", page.read_text(encoding="utf-8"))  # in code, brackets are of SMILES
        for target in re.findall(r"\]\((?!http)([^)#]+)", text):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("package", [each.parent.name for each in (ROOT / "graphkin").glob("*/__init__.py")])
def test_imported_packages_are_this_repositorys(package: str) -> None:
    """And images are built of all of them."""
    folder = (ROOT / "graphkin" / package).resolve()
    assert Path(importlib.import_module(f"graphkin.{package}").__file__ or "").resolve().parent == folder
    assert f"!{folder.relative_to(ROOT).parts[0]}" in (ROOT / ".dockerignore").read_text().splitlines()


def test_help_takes_less_than_half_a_second() -> None:
    """Rooms are imported lazily. Of processor time: the machine may be busy."""
    command = [str(Path(sys.executable).with_name("graphkin")), "--help"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.5


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_commands_as_it_is_told(shell: str) -> None:
    """By what the page says to run, and by what that then asks."""
    told = f"_GRAPHKIN_COMPLETE={shell}_source"
    assert told in (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    command = [str(Path(sys.executable).with_name("graphkin"))]

    def said(**environment: str) -> str:
        return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}).stdout

    assert "_GRAPHKIN_COMPLETE" in said(_GRAPHKIN_COMPLETE=f"{shell}_source")
    current = "neigh" if shell == "fish" else "1"
    assert "neighbors" in said(_GRAPHKIN_COMPLETE=f"{shell}_complete", COMP_WORDS="graphkin neigh", COMP_CWORD=current)
