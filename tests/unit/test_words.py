"""Docstrings and names of the installed packages can be understood at first reading."""

import ast
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("graphkin", "api", "ingest", "trainer")  # the last three are links in graphkin/, which walks do not follow

ELLIPTIC = {
    *("What", "Who", "Whoever", "Whom", "Those", "Of", "That", "As", "By", "Where"),
    *("Likewise", "Nobody", "Somebody"),
}
"""First words of a docstring that lacks its subject or its verb."""

RIDDLES = {"asked", "told", "said", "begun", "chosen", "nursery", "shelf"}
"""Names that do not say what they hold."""

PUBLIC = {"graphkin/protocol/replies.py": {"chosen", "Chosen"}, "graphkin/cli/checkup.py": {"said"}}
"""Riddles that are fields of replies, by the module that defines them."""


def modules() -> Iterator[tuple[str, ast.Module]]:
    """The path and the code of each installed module."""
    for package in PACKAGES:
        for folder, folders, files in os.walk(ROOT / package):
            folders[:] = [name for name in folders if name not in ("node_modules", "__pycache__")]
            for name in files:
                if name.endswith(".py"):
                    path = Path(folder, name)
                    yield str(path.relative_to(ROOT)), ast.parse(path.read_text(encoding="utf-8"))


def elliptic(tree: ast.Module) -> list[str]:
    """The first lines of docstrings that begin with a word of `ELLIPTIC`."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    texts = [ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, documented)]
    lines = [text.partition("\n")[0] for text in texts if text]
    return [line for line in lines if line.partition(" ")[0].strip(",.:") in ELLIPTIC]


def riddles(tree: ast.Module) -> set[str]:
    """The names of `RIDDLES` that variables, parameters, functions or classes have."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
    return {name for name in names if name.strip("_").lower() in RIDDLES}


def test_no_docstring_begins_without_its_subject() -> None:
    assert {path: lines for path, tree in modules() if (lines := elliptic(tree))} == {}


def test_no_name_is_a_riddle() -> None:
    assert {path: names for path, tree in modules() if (names := riddles(tree) - PUBLIC.get(path, set()))} == {}


@pytest.mark.parametrize(
    ("code", "lines", "names"),
    [
        ('"""What this is."""', ["What this is."], set()),
        ('def f(asked):\n    """Return the request."""', [], {"asked"}),
        ('class Told:\n    """Those of it."""\n    begun = 1', ["Those of it."], {"Told", "begun"}),
        ('def read(request):\n    """Read a request."""\n    return request.said', [], set()),
    ],
)
def test_the_rules_are_seen_to_fail(code: str, lines: list[str], names: set[str]) -> None:
    assert (elliptic(ast.parse(code)), riddles(ast.parse(code))) == (lines, names)
