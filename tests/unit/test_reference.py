"""The reference pages render every public function and method, each with parameters, results and errors."""

from pathlib import Path

import griffe

import graphkin
from graphkin import client, library
from tests import reference

PENDING: set[str] = set()
"""Functions and methods whose docstring is incomplete. Remove a name when its docstring is complete."""


def test_every_public_name_has_an_entry() -> None:
    public = [getattr(library, name) for name in library.__all__] + [client.Graphkin, client.Collection]
    names = {f"{each.__module__}.{each.__name__}" for each in public}
    assert names - reference.rendered() == set(), "add an entry to a page in docs/reference"
    assert set(graphkin.__all__) <= set(library.__all__)


def test_every_docstring_is_complete() -> None:
    assert {path: parts for path, parts in reference.incomplete().items() if path not in PENDING} == {}


def test_incomplete_docstring_is_seen() -> None:
    code = """
def rows(ids: list[int], k: int) -> Iterator[int]:
    '''Yield rows.

    Args:
        ids: Item ids.

    Example:
        rows([1])
    '''
"""
    (function,) = griffe.visit("m", Path("m.py"), code).members.values()
    assert isinstance(function, griffe.Function)
    assert reference.missing_parts(function) == ["Args: k", "Yields", "Raises", "an example as a block (``` or >>>)"]
