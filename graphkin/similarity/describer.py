"""Reading one record: what every kind of item makes of its text, in whichever process."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Generic, TypeVar

import pyarrow as pa

from graphkin.similarity.recipe import Recipe

Recipe_co = TypeVar("Recipe_co", bound=Recipe, covariant=True)

_PLACE = re.compile(r"\S*/\S*|\b0x[0-9a-fA-F]+\b")  # a path, or where in memory
_LONGEST = 200


class Rejected(Exception):
    """This record is no item we keep; the message is the reason."""


def broken_off(error: Exception) -> str:
    """The reason to reject a record whose description broke off with an error that nobody expected: its kind and first
    line, without paths and addresses."""
    first = next(iter(str(error).strip().splitlines()), "")
    said = _PLACE.sub("…", first)[:_LONGEST].encode(errors="backslashreplace").decode()
    return f"could not be described: {type(error).__name__}{': ' if said else ''}{said}"


class Describer(ABC, Generic[Recipe_co]):
    """Turns the text of a record into a row of `schema`. Every process that reads records makes its own.

    Of the schema, `digest` (16 bytes) says which records are the same item; what has the name of a column of the item
    table goes there.
    """

    schema: pa.Schema
    key: bytes
    """All that decides what `describe` returns."""
    preload: ClassVar[Sequence[str]] = ()
    """Modules to import, beside its own, before a process is forked for every worker."""

    @abstractmethod
    def __init__(self, recipe: Recipe_co, max_size: int) -> None:
        """As the recipe says; items of more than `max_size` atoms or nodes are rejected."""

    @abstractmethod
    def describe(self, text: str, writing: str, name: str | None) -> Sequence[object]:
        """Raises `Rejected`."""
