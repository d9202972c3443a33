"""The help of every command: groups, summaries and examples that fit the command."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from copy import copy

import click
import pytest

from graphkin.cli import graphkin
from graphkin.cli.help import SECTIONS, Command, Group, Option

GROUPS = ["Build", "Query", "Analyze", "Export", "Train", "Serve", "Maintain"]
WRAPPERS = ("echo", "torchrun")
"""Programs with which an example may begin: it then contains a command of graphkin."""


def root_context() -> click.Context:
    """The context of `graphkin`, from which those of commands inherit their settings."""
    return graphkin.make_context("graphkin", [], resilient_parsing=True)


def walk(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Command | Group]]:
    """The path and the command of each command and group."""
    assert isinstance(command, Command | Group), path
    yield path, command
    if isinstance(command, click.Group):
        context = root_context()
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            yield from walk(child, (*path, name))


COMMANDS = dict(walk(graphkin))
LEAVES = {path: command for path, command in COMMANDS.items() if isinstance(command, Command)}


def help_of(path: tuple[str, ...], width: int = 100) -> str:
    """The text that `graphkin PATH --help` prints to a pipe."""
    command: click.Command | None = graphkin
    context = root_context()
    context.terminal_width = width
    for name in path:
        assert isinstance(command, click.Group)
        command = command.get_command(context, name)
        assert command is not None
        context = command.make_context(name, [], parent=context, resilient_parsing=True)
    assert command is not None
    return click.unstyle(command.get_help(context))


def words_of(example: str) -> list[str]:
    """The arguments of graphkin in an example."""
    words = shlex.split(example.rpartition(" | ")[2].partition(" < ")[0])
    return words[words.index("graphkin") + 1 :]


@pytest.mark.parametrize("path", LEAVES)
def test_commands_that_run_without_the_main_command_have_both_help_options(path: tuple[str, ...]) -> None:
    # click keeps the option of the first context in which a command runs
    command = copy(LEAVES[path])
    command._help_option = None
    option = command.get_help_option(command.context_class(command, **command.context_settings))
    assert option is not None
    assert option.opts == ["-h", "--help"]


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_each_command_has_an_example_of_itself(path: tuple[str, ...]) -> None:
    examples = COMMANDS[path].examples
    assert examples
    assert words_of(examples[0].command)[: len(path)] == [*path]


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_examples_are_accepted_by_the_command_line(path: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every option and argument of an example exists, and every value has the type of its option."""
    monkeypatch.setattr(click.Path, "convert", lambda _self, value, _parameter, _context: value)  # no file is there
    for purpose, line in COMMANDS[path].examples:
        assert purpose[0].isupper()
        assert not purpose.endswith(".")
        assert line.split()[0] in ("graphkin", *WRAPPERS)
        arguments = words_of(line)
        command: click.Command = graphkin
        context = root_context()
        while isinstance(command, click.Group):
            child = command.get_command(context, arguments.pop(0))
            assert child is not None, line
            command = child
        command.make_context(str(command.name), arguments, parent=context).close()


def test_a_wrong_example_is_noticed() -> None:
    context = root_context()
    search = graphkin.get_command(context, "search")
    assert search is not None
    with pytest.raises(click.UsageError):
        search.make_context("search", words_of("graphkin search CCO --stor s --collection m")[1:], parent=context)


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_summary_is_one_sentence_that_is_not_cut(path: tuple[str, ...]) -> None:
    help = COMMANDS[path].help
    assert help is not None
    summary = help.partition("\n\n")[0]
    assert len(summary) <= 75
    assert re.fullmatch(r"[A-Z][^.]*\.", summary)
    assert summary in help_of(path[:-1])


def test_commands_are_in_groups() -> None:
    headings = re.findall(r"^(\w+):$", help_of(()), re.MULTILINE)
    assert headings[: len(GROUPS)] == GROUPS
    assert "Commands" not in headings


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_each_option_is_described_in_a_group(path: tuple[str, ...]) -> None:
    text = help_of(path)
    for parameter in LEAVES[path].params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name
            assert parameter.help[0].isupper() or parameter.help.split(":")[0].islower()
            assert isinstance(parameter, Option)
            assert parameter.panel in SECTIONS or parameter.name in ("quiet", "verbose")
            assert parameter.opts[0] in text
    headings = [name for name in re.findall(r"^(\w+):$", text, re.MULTILINE) if name in SECTIONS]
    assert headings == sorted(headings, key=SECTIONS.index)


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_lines_fit_the_terminal(path: tuple[str, ...]) -> None:
    assert [line for line in help_of(path, 100).splitlines() if len(line) > 100] == []


def test_folded_examples_can_be_pasted() -> None:
    text = help_of(("ingest", "molecules"), 80)
    shown = [shlex.split(line) for line in text.replace("\\\n", "").splitlines() if line.startswith("  graphkin ")]
    assert shown == [shlex.split(line) for _, line in COMMANDS["ingest", "molecules"].examples]
    assert "\\\n" in text


def test_variables_of_the_environment_are_at_the_top() -> None:
    top = help_of(()).partition("Build:")[0]
    assert "GRAPHKIN_STORE" in top
    assert "GRAPHKIN_COLLECTION" in top


def test_help_does_not_import_rich_until_it_prints() -> None:
    code = "import sys, graphkin.cli.commands.ingest; print('rich.console' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.parametrize("variables", [{}, {"GITHUB_ACTIONS": "true"}])
def test_help_in_a_pipe_has_no_colors(variables: dict[str, str]) -> None:
    command = [sys.executable, "-m", "graphkin", "search", "--help"]
    output = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **variables}).stdout
    assert "\x1b[" not in output
