"""The public Python API: the entries of the reference pages, and which parts of their docstrings are missing.

`python -m tests.reference` lists every public function and method whose docstring lacks parameters, results, errors or
an example that can be read.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import griffe

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "docs" / "reference" / "python.md", ROOT / "docs" / "reference" / "client.md")

NEVER_FAILS = re.compile(
    r"\.(close|get_n_splits|head|__\w+__|to_dict|to_pylist|to_html|nearest_tables)$|^graphkin\.protocol\.errors\."
)
"""Functions and methods that need no section `Raises`."""


@cache
def package() -> griffe.Module:
    """The package `graphkin`, read without being imported."""
    loaded = griffe.load("graphkin", search_paths=[str(ROOT)], docstring_parser="google")
    assert isinstance(loaded, griffe.Module)
    return loaded


def entries(pages: tuple[Path, ...] = PAGES) -> list[str]:
    """The names that the pages ask mkdocstrings to render."""
    texts = "".join(page.read_text(encoding="utf-8") for page in pages)
    return re.findall(r"^::: (\S+)", texts, re.MULTILINE)


def rendered() -> set[str]:
    """The names that the reference pages show: the entries, and the members of modules among them."""
    found = [package()[name.removeprefix("graphkin.")] for name in entries()]
    members = [member for each in found if each.is_module for member in each.members.values() if not member.is_alias]
    return {each.canonical_path for each in [*found, *members]}


def functions(name: str) -> Iterator[griffe.Function]:
    """The function of this name, or the public functions and methods of the class or module, inherited ones too."""
    entry = package()[name.removeprefix("graphkin.")]
    inherited = [each.final_target for each in entry.inherited_members.values() if isinstance(each, griffe.Alias)]
    members = [*inherited, *entry.members.values()] if entry.is_class or entry.is_module else []
    for each in [entry, *members]:
        if each.is_alias or (each is not entry and each.name.startswith("_")):
            continue
        if isinstance(each, griffe.Function) and "property" not in each.labels:
            yield each
        elif each is not entry and isinstance(each, griffe.Class):
            yield from functions(each.path)


def missing_parts(function: griffe.Function) -> list[str]:
    """The parts that the docstring of a function lacks."""
    if function.docstring is None:
        return ["docstring"]
    sections = {section.kind: section.value for section in function.docstring.parse("google", warnings=False)}
    described = {each.name.lstrip("*") for each in sections.get(griffe.DocstringSectionKind.parameters, [])}
    parts = [
        f"Args: {parameter.name}"
        for parameter in function.parameters
        if parameter.name not in ("self", "cls") and parameter.name not in described
    ]
    returns = str(function.returns)
    generator = bool(re.match(r"(Async)?(Iterator|Generator)\b", returns))
    results = {griffe.DocstringSectionKind.returns, griffe.DocstringSectionKind.yields}
    if returns not in ("None", "Self") and not results & sections.keys():
        parts.append("Yields" if generator else "Returns")
    if griffe.DocstringSectionKind.raises not in sections and not NEVER_FAILS.search(function.path):
        parts.append("Raises")
    if re.search(r"^Examples?:", function.docstring.value, re.MULTILINE) and not re.search(
        r"^ *(>>> |```)", function.docstring.value, re.MULTILINE
    ):
        parts.append("an example as a block (``` or >>>)")
    return parts


def incomplete() -> dict[str, list[str]]:
    """The missing parts, by the name of the function or method."""
    parts = {function.path: missing_parts(function) for name in entries() for function in functions(name)}
    return {path: missing for path, missing in parts.items() if missing}


if __name__ == "__main__":
    for path, missing in incomplete().items():
        print(f"{path}: {', '.join(missing)}")
