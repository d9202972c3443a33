"""Docstrings and names of the installed packages, and the texts that users read, can be understood at first reading."""

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import words

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


def section(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, title: str) -> list[str]:
    """The names that a section of the docstring, such as Args, describes."""
    lines = re.findall(rf"^{title}:\n((?: +.*\n?)+)", ast.get_docstring(node) or "", re.MULTILINE)
    return [name for text in lines for name in re.findall(r"^ {4}\*{0,2}(\w+):", text, re.MULTILINE)]


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """The names of all parameters of a function."""
    return {argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg)}


def attributes(node: ast.ClassDef) -> set[str]:
    """The names that a class defines: fields, methods, and attributes that its methods set."""
    names = {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}
    names |= {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    return names | {each.name for each in ast.walk(node) if isinstance(each, ast.FunctionDef)}


def stale_names(tree: ast.Module) -> list[str]:
    """The names in Args and Attributes of docstrings that the function or class does not have.

    Attributes of classes with base classes are not checked, because a base class may define them.
    """
    stale = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            stale += [name for name in section(node, "Args") if name not in parameters(node)]
        elif isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and method.name == "__init__":
                    stale += [name for name in section(node, "Args") if name not in parameters(method)]
            if not node.bases or [ast.unparse(base) for base in node.bases] == ["NamedTuple"]:
                stale += [name for name in section(node, "Attributes") if name not in attributes(node)]
    return stale


def test_docstrings_describe_only_existing_names() -> None:
    assert {path: names for path, tree in modules() if (names := stale_names(tree))} == {}


@pytest.mark.parametrize(
    ("header", "section_title", "body", "names"),
    [
        ("def f(new, *rest):", "Args", "pass", ["old"]),
        ("class C:", "Args", "def __init__(self, new, rest): ...", ["old"]),
        ("class C:", "Attributes", "new: int; rest: int", ["old"]),
        ("class C(Base):", "Attributes", "pass", []),
    ],
)
def test_stale_names_are_seen(header: str, section_title: str, body: str, names: list[str]) -> None:
    described = "        old: O.\n        new: N, which\n            goes: on.\n        rest: R."
    code = f'{header}\n    """C.\n\n    {section_title}:\n{described}\n    """\n    {body}'
    assert stale_names(ast.parse(code)) == names


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


RECORDS = {"docs/develop/evidence-plan.md"}
"""Texts that stay as they were published: a plan that was written before its first run."""


@pytest.mark.parametrize("kind", ["docs", "help", "page"])
def test_texts_follow_the_rules_of_writing(kind: str) -> None:
    assert {path: hits for path, hits in words.check(kind).items() if path not in RECORDS} == {}


@pytest.mark.parametrize(
    ("passage", "rules"),
    [
        ("Show the neighbors. What is rejected is kept.", ["What"]),
        ("What is a generation?", []),
        ("A row beside the item is written anew.", ["beside", "anew"]),
        ("Neighbours of a colour are standardised.", ["spelling"] * 3),
        ("The cap of the hierarchy", ["cap", "hierarchy"]),
        ("Two analyses on the basis of a promise, otherwise an exercise", []),
    ],
)
def test_each_rule_is_seen_to_fail(passage: str, rules: list[str]) -> None:
    assert sorted(rule for rule, _ in words.violations(passage)) == sorted(rules)


def test_passages_are_read_without_code() -> None:
    page = """# Title

- What `beside` is
  on two lines

```console
$ graphkin anew
```

| Whoever | a `cap` |
|---|---|
"""
    assert list(words.passages(page)) == ["Title", "What `code` is on two lines", "Whoever", "a `code`"]
