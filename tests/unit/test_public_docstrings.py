"""The docstrings of the public Python API are complete: the reference renders them without any other text.

The public API is `import graphkin`, `graphkin.client` and the dataset that `Collection.feed` returns.
"""

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from graphkin import library
from graphkin.client import AsyncCollection, AsyncGraphkin
from graphkin.library.collection import Hits

FUNCTIONS = (library.connect, library.ingest, library.open, library.similar_pairs)
CLASSES = (library.Collection, library.Collections, library.Table, AsyncCollection, AsyncGraphkin)
_SECTION = re.compile(r"^(Args|Returns|Yields|Raises|Example|Attributes):$", re.MULTILINE)
_ARGUMENT = re.compile(r"^    \*{0,2}(\w+):", re.MULTILINE)


def public_callables() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the name and the function of each public function and method."""
    for function in FUNCTIONS:
        yield function.__name__, function
    for owner in CLASSES:
        for name, member in vars(owner).items():
            if not name.startswith("_") and inspect.isfunction(member):
                yield f"{owner.__name__}.{name}", member


def sections(function: Callable[..., Any]) -> dict[str, str]:
    """Return the sections of a docstring by title. The text before the first section has the title ""."""
    parts = _SECTION.split(inspect.getdoc(function) or "")
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def gaps(function: Callable[..., Any]) -> list[str]:
    """Return what the docstring of a function lacks."""
    found = sections(function)
    signature = inspect.signature(function)
    parameters = [name for name in signature.parameters if name != "self"]
    documented = _ARGUMENT.findall(found.get("Args", ""))
    lacking = [] if found[""].strip() else ["a summary"]
    lacking += [f"the parameter {name}" for name in parameters if name not in documented]
    lacking += [f"no parameter is called {name}" for name in documented if name not in parameters]
    returns_value = signature.return_annotation not in (None, "None", inspect.Signature.empty)
    if returns_value and not {"Returns", "Yields"} & found.keys():
        lacking.append("the result")
    return lacking


CALLABLES = dict(public_callables())


@pytest.mark.parametrize("name", CALLABLES)
def test_docstring_covers_parameters_and_result(name: str) -> None:
    assert gaps(CALLABLES[name]) == []


def test_incomplete_docstring_is_found() -> None:
    def function(documented: int, missing: int) -> int:
        """Return a number.

        Args:
            documented: A number.
            renamed: A number.
        """
        return documented + missing

    assert gaps(function) == ["the parameter missing", "no parameter is called renamed", "the result"]


def test_every_public_name_is_covered() -> None:
    classes = {each.__name__ for each in CLASSES} | {Hits.__name__, "TruncatedPairsWarning"}
    assert set(library.__all__) <= {*CALLABLES, *classes}
    assert len(CALLABLES) > 60
