"""Blocks of all documentation pages that can be checked without running them, and the facts that pages share."""

import re
import shlex
import tomllib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import click
import pytest
import yaml
from packaging.requirements import Requirement

from graphkin.cli import graphkin
from tests.documentation import SHELL, Block, blocks_of

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


UNTAGGED = {"docs/reference/reports.md"}
"""Pages with blocks that do not name their language."""


def shell_blocks(page: Path) -> Iterator[Block]:
    for block in blocks_of(page.read_text(encoding="utf-8")):
        if block.language in SHELL:
            yield block


def commands(block: Block) -> Iterator[str]:
    """Yield the lines of a block, with continued lines joined and without here-documents."""
    text = re.sub(r"<<-?\s*'?(\w+)'?.*?^\1$", "", block.text.replace("\\\n", " "), flags=re.M | re.S)
    yield from filter(None, map(str.strip, text.splitlines()))


def unquoted(line: str) -> str:
    """Return a line without what stands in quotes or after a backslash."""
    return re.sub(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.", "_", line)


def breaks_in_zsh(line: str) -> bool:
    """Return whether zsh reads a line differently than sh: a glob that must match a file, or a comment.

    An interactive zsh reads `#` as a word, and refuses `?`, `[` and `*` that match nothing.
    """
    bare = re.sub(r"\$\(|\$\?|\$#", "_", unquoted(line))
    return re.search(r"(^|\s)#|[?\[]", bare) is not None


@pytest.mark.parametrize(
    ("line", "breaks"),
    [
        ("curl http://localhost/items?name=a", True),
        ("curl 'http://localhost/items?name=a'", False),
        ("pip install graphkin[client]", True),
        ("pip install '.[client]'", False),
        ("graphkin info  # all of them", True),
        ("curl http://localhost/page#top", False),
        ('echo "$(date)" and \\[', False),
        ("echo $?", False),
    ],
)
def test_zsh_rule(line: str, breaks: bool) -> None:
    assert breaks_in_zsh(line) == breaks


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_shell_blocks_can_be_pasted_into_zsh(page: Path) -> None:
    wrong = [f"{block.line}: {line}" for block in shell_blocks(page) for line in commands(block) if breaks_in_zsh(line)]
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_block_names_its_language(page: Path) -> None:
    bare = [block.line for block in blocks_of(page.read_text(encoding="utf-8")) if not block.language]
    assert bare == [] or str(page.relative_to(ROOT)) in UNTAGGED


def requirements(line: str) -> Iterator[str]:
    """Yield the requirements and paths of a `pip install` command."""
    words = shlex.split(line)
    values = {"-r", "-c", "--index-url", "--find-links"}
    for before, word in pairwise(words[1:]):
        if word != "install" and not word.startswith("-") and before not in values:
            yield word


def test_pip_commands_name_extras_that_exist() -> None:
    checked = 0
    for page in PAGES:
        for block in shell_blocks(page):
            for line in commands(block):
                if not re.match(r"(python3? -m )?pip install ", line):
                    continue
                for word in requirements(line[line.index("pip") :]):
                    path = re.fullmatch(r"(\.|\S*graphkin-(\S+?)-py3-none-any\.whl)(?:\[([\w,]+)\])?", word)
                    if path is None:
                        assert Requirement(word).name != "graphkin", f"{page}: {line}: graphkin is on no index"
                        continue
                    extras = set(path[3].split(",")) if path[3] else set()
                    assert extras <= set(PROJECT["optional-dependencies"]), f"{page}: {line}"
                    assert path[2] in (None, PROJECT["version"]), f"{page}: {line}"
                    checked += 1
    assert checked >= 4


def resolve(words: list[str]) -> tuple[click.Command, list[str]]:
    """Return the command that words name, and the rest of the words."""
    command: click.Command = graphkin
    context = click.Context(graphkin)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        child = command.get_command(context, words[0])
        assert child is not None, f"no command {words[0]}"
        command, words = child, words[1:]
    return command, words


def check_options(line: str) -> None:
    """Check that the `graphkin` command in a line, if there is one, exists and has the options in the line."""
    line = re.sub(r"\$\([^()]*\)", "_", line)
    words = shlex.split(re.split(r"(?<!\S)(?:\||&&|;|&|>)(?!\S)", line)[0])
    names = [number for number, word in enumerate(words) if word == "graphkin"]
    if not names or any("=" not in word for word in words[: names[0]]):
        return
    command, rest = resolve(words[names[0] + 1 :])
    known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    known |= {"--help", "-h"} | ({"--version"} if command is graphkin else set())
    options = {word.partition("=")[0] for word in rest if word.startswith("--") and word != "--"}
    assert options <= known, f"{command.name} has no {', '.join(sorted(options - known))}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_and_options_in_shell_blocks_exist(page: Path) -> None:
    for block in shell_blocks(page):
        for line in commands(block):
            try:
                check_options(line)
            except (AssertionError, ValueError) as error:
                pytest.fail(f"{page.relative_to(ROOT)}:{block.line}: {line}: {error}")


@pytest.mark.parametrize("line", ["graphkin ingest --nothing", "graphkin nothing", "A=1 graphkin serve --stor x"])
def test_wrong_command_is_found(line: str) -> None:
    with pytest.raises(AssertionError):
        check_options(line)


def test_readme_is_short_and_begins_with_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    assert blocks_of(text)[0].text.split("\n") == ["make demo", "make test", ""]


def test_citation_matches_the_project() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    paper = citation["preferred-citation"]
    page = " ".join((ROOT / "docs" / "about" / "cite.md").read_text(encoding="utf-8").split())
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert (citation["version"], citation["license"]) == (PROJECT["version"], PROJECT["license"])
    assert f"version = {{{PROJECT['version']}}}" in page
    assert paper["title"] in page
    assert paper["title"] in readme
    assert paper["url"] in readme
    for author in paper["authors"]:
        assert f"{author['family-names']}, {author['given-names']}" in page


def test_security_page_supports_the_newest_version() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    (newest, date), *_ = re.findall(r"^## \[(\S+)\] - (\S+)$", changes, re.M)
    assert newest == PROJECT["version"]
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    (versions,) = re.findall(r"^## Supported versions\n(.*?)^## ", text, re.M | re.S)
    assert newest in versions
    assert ("not been released" in versions) == (date == "unreleased")
