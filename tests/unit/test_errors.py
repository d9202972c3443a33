"""Every place that creates an error names the accepted values and the next step, and every hint is true."""

import ast
import importlib
import inspect
import pkgutil
import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest

import graphkin
from graphkin.cli import graphkin as command_line
from graphkin.protocol import errors
from graphkin.protocol.errors import (
    Closed,
    Damage,
    Damaged,
    GraphkinError,
    InvalidInput,
    NotFound,
    StoreBusy,
    StoreDamaged,
    Unavailable,
)
from tests.unit.test_words import modules

FACTORIES = {"require": InvalidInput, "from_problem": errors.InvalidReply, "unknown_file_system": InvalidInput}
"""Functions that create an error from the same arguments. `require` may get all of them by position."""

COMPLETE = {"unknown_file_system", "from_problem", "StoreDamaged"}
"""Functions and classes that add a hint themselves."""

EXCEPTIONS = {
    ("graphkin/cli/file_search.py", "_structure"): "holds one row of a file, whose reason is written into the output",
    ("api/work/pool.py", "translate"): "the message is an unexpected exception of a worker process, for the log",
}
"""Places that need no accepted values or no hint, with the reason."""


class Site(NamedTuple):
    """A call that creates an error."""

    path: str
    function: str
    line: int
    name: str
    call: ast.Call

    @property
    def arguments(self) -> set[str | None]:
        """The names of the keyword arguments."""
        return {keyword.arg for keyword in self.call.keywords}

    def texts(self) -> str:
        """The constant text of all arguments; `…` stands for the values inside."""
        arguments = [*self.call.args, *(keyword.value for keyword in self.call.keywords)]
        return "\n".join(map(constant_text, arguments))


def classes() -> dict[str, type[GraphkinError]]:
    """All error classes of the installed packages by name."""
    for module in pkgutil.walk_packages(graphkin.__path__, "graphkin."):
        if module.name.endswith((".errors", ".pool", ".protocol")):
            importlib.import_module(module.name)
    found: list[type[GraphkinError]] = [GraphkinError]
    for each in found:
        found += [sub for sub in each.__subclasses__() if sub.__module__.startswith("graphkin.")]
    return {each.__name__: each for each in found}


def constant_text(node: ast.AST) -> str:
    """Return the text of an expression, with `…` for everything that is not constant."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(map(constant_text, values))
        case ast.IfExp(body=body, orelse=orelse):
            return f"{constant_text(body)}\n{constant_text(orelse)}"
        case ast.FormattedValue(value=value):
            return constant_text(value)
        case ast.BinOp(left=left, right=right):
            return constant_text(left) + constant_text(right)
        case ast.BoolOp(values=values) | ast.Call(args=values):
            return "\n".join(map(constant_text, values))
    return "…"


def sites() -> Iterator[Site]:
    """Yield every call that creates an error of graphkin."""
    names = {*classes(), *FACTORIES}

    def visit(path: str, node: ast.AST, function: str) -> Iterator[Site]:
        for child in ast.iter_child_nodes(node):
            inner = child.name if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else function
            if isinstance(child, ast.Call):
                match child.func:
                    # A method `require` of another object is no factory.
                    case ast.Name(id=name) | ast.Attribute(attr="from_problem" as name) if name in names:
                        yield Site(path, function, child.lineno, name, child)
            yield from visit(path, child, inner)

    for path, tree in modules():
        yield from visit(path, tree, "")


SITES = [*sites()]


def lacks(site: Site) -> list[str]:
    """The parts that an error lacks: accepted values where the user typed something, and always a hint."""
    kind = FACTORIES.get(site.name) or classes()[site.name]
    has_hint = "hint" in site.arguments or site.name in COMPLETE or kind.default_hint is not None
    has_hint = has_hint or (site.name == "require" and len(site.call.args) == 5)
    if issubclass(kind, Unavailable):  # the hint is to try again after these seconds
        has_hint = has_hint or "retry_after" in site.arguments or issubclass(kind, StoreBusy)
    has_expected = "expected" in site.arguments or (site.name == "require" and len(site.call.args) >= 4)
    needs_expected = issubclass(kind, InvalidInput | NotFound) and kind is not errors.Deleted
    needs_expected = needs_expected and not site.path.startswith("graphkin/cli/")  # options that exclude each other
    return [
        *([] if has_hint else ["hint"]),
        *([] if has_expected or not needs_expected or site.name in COMPLETE else ["expected"]),
    ]


def test_walk_finds_the_places_that_create_errors() -> None:
    assert len(SITES) > 450
    assert {path.split("/")[0] for path, *_ in SITES} == {"graphkin", "api", "ingest", "trainer"}


def test_every_error_names_the_accepted_values_and_the_next_step() -> None:
    incomplete = {
        f"{site.path}:{site.line} {site.name} lacks {' and '.join(missing)}"
        for site in SITES
        if (missing := lacks(site)) and (site.path, site.function) not in EXCEPTIONS
    }
    assert not incomplete, "\n".join(sorted(incomplete))


def test_exceptions_are_needed() -> None:
    used = {(site.path, site.function) for site in SITES if lacks(site)}
    assert set(EXCEPTIONS) <= used, set(EXCEPTIONS) - used


@pytest.mark.parametrize("source", ['InvalidInput("x", hint="y")', 'NotFound("x", given=1)', 'StoreError("x")'])
def test_incomplete_errors_are_recognized(source: str) -> None:
    (call,) = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    assert lacks(Site("", "", 1, source.split("(")[0], call))


def test_every_class_has_a_meaning_and_an_exit_code() -> None:
    for name, kind in classes().items():
        assert inspect.getdoc(kind), name
        assert kind.__dict__.get("__doc__"), f"{name} has only the docstring of its base class"
        assert kind.exit_code in (1, 2, 3, 4), name


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (StoreBusy("x"), "try again in 1 s"),
        (Unavailable("x", retry_after=5), "try again in 5 s"),
        (Closed("x"), Closed.default_hint),
        (Closed("x", hint="y"), "y"),
        (StoreDamaged(Damage("f", "p", "c", "g")), "run `graphkin verify` to list all damage"),
    ],
)
def test_default_hints(error: GraphkinError, hint: str) -> None:
    assert error.hint is not None
    assert error.hint.startswith(hint)


def test_message_shows_no_python_objects() -> None:
    error = Damaged("x", given={"a": [1, True, None]}, hint="y")
    assert str(error) == 'x\n  given: {"a": [1, true, null]}\n  hint: y'
    assert str(InvalidInput("x", given=("a", "b"))) == 'x\n  given: ["a", "b"]'


def commands(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield every command with its words, subcommands included."""
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            subcommand = command.get_command(context, name)
            assert subcommand is not None
            yield from commands(subcommand, (*words, name))


COMMANDS = dict(commands(command_line))
OPTIONS = {
    option
    for each in COMMANDS.values()
    for parameter in each.params
    for option in parameter.opts + parameter.secondary_opts
} | {"--help", "--nproc-per-node"}
"""All options of the commands; the last one belongs to torchrun."""


def command_texts() -> Iterator[tuple[str, str]]:
    """Yield every constant text of the installed packages with its place."""
    for path, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield f"{path}:{node.lineno}", node.value
    for site in SITES:
        yield f"{site.path}:{site.line}", site.texts()


def unknown_commands(text: str) -> list[str]:
    """The commands in backquotes that do not exist, or lack an option that the text gives them."""
    wrong = []
    for quoted in re.findall(r"`graphkin ([^`]*)`", text):
        words: tuple[str, ...] = ()
        for word in quoted.split():
            if (*words, word) not in COMMANDS:
                break
            words = (*words, word)
        options = set(re.findall(r"--[a-z][a-z-]*", quoted)) - {"--help", "--version"}
        known = {option for parameter in COMMANDS[words].params for option in parameter.opts + parameter.secondary_opts}
        if not words and quoted != "--version":
            wrong.append(quoted)
        elif not options <= known:
            wrong.append(f"{quoted}: {' '.join(options - known)}")
    return wrong


def test_commands_in_hints_exist() -> None:
    wrong = {f"{place}: {each}" for place, text in command_texts() for each in unknown_commands(text)}
    assert not wrong, "\n".join(sorted(wrong))


def test_options_in_errors_exist() -> None:
    wrong = {
        f"{site.path}:{site.line}: {option}"
        for site in SITES
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", site.texts())
        if option not in OPTIONS
    }
    assert not wrong, "\n".join(sorted(wrong))


@pytest.mark.parametrize("text", ["run `graphkin inspect`", "`graphkin ingest molecules --kernel wl`"])
def test_unknown_commands_are_recognized(text: str) -> None:
    assert unknown_commands(text)


def test_python_modules_in_hints_exist() -> None:
    for site in SITES:
        for module in re.findall(r"`python -m ([\w.]+)", site.texts()):
            assert Path(*module.split(".")).exists() or Path(module.replace(".", "/") + ".py").exists(), site


VALIDATOR_WORDS = re.compile(r"Input should be|Value error|Field required|pydantic")


def test_no_error_shows_the_text_of_a_validator() -> None:
    raw = {
        f"{path}:{node.lineno}"
        for path, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == "msg"
    }
    assert {place.split(":")[0] for place in raw} <= {"graphkin/protocol/validation.py"}, raw
    assert not [site for site in SITES if VALIDATOR_WORDS.search(site.texts())]


BRITISH = re.compile(r"\b\w*(?:ise[ds]?\b|isation|neighbour|colour|centre\b|behaviour)", re.IGNORECASE)
SPELLED_SO = {
    "otherwise",
    "precise",
    "raise",
    "raised",
    "raises",
    "noise",
    "exercise",
    "promise",
    "advise",
    "rise",
    "rises",
}


def test_errors_are_in_american_spelling() -> None:
    british = {
        f"{site.path}:{site.line}: {word}"
        for site in SITES
        for word in BRITISH.findall(site.texts())
        if word.lower() not in SPELLED_SO
    }
    assert not british, "\n".join(sorted(british))


def test_reference_page_names_every_public_class() -> None:
    script = runpy.run_path("docs/errors.py")
    public = {kind.__name__ for kind in script["classes"]()}
    assert public == set(script["REMEDIES"])
    assert script["LOCAL"] <= public
    assert public >= classes().keys() - {"GraphkinError", "TaskError", "WorkerLost"}
    rows = re.findall(r"^\| (?:&emsp;)*`(\w+)` \|", script["page"](), re.MULTILINE)
    assert public <= set(rows)
    assert not [text for text in script["REMEDIES"].values() if unknown_commands(text)]
