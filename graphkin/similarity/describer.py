"""The describer: the interface that turns the text of one record into a row of the item table."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Generic, TypeVar

import pyarrow as pa

from graphkin.similarity.recipe import Recipe

Recipe_co = TypeVar("Recipe_co", bound=Recipe, covariant=True)

_PATH_OR_ADDRESS = re.compile(r"\S*/\S*|\b0x[0-9a-fA-F]+\b")  # a path or a memory address
_MAX_LENGTH = 200


class Rejected(Exception):
    """The record cannot become an item; the message is the reason."""


def failure_reason(error: Exception) -> str:
    """Return the reason for rejecting a record whose description raised an unexpected error.

    The reason is the error's type and the first line of its message, without paths and memory addresses.
    """
    first = next(iter(str(error).strip().splitlines()), "")
    message = _PATH_OR_ADDRESS.sub("…", first)[:_MAX_LENGTH].encode(errors="backslashreplace").decode()
    return f"could not be described: {type(error).__name__}{': ' if message else ''}{message}"


class Describer(ABC, Generic[Recipe_co]):
    """Turns the text of a record into a row of `schema`.

    Each process that reads records creates its own instance.

    The `digest` column of the schema (16 bytes) identifies the item: records with equal digests are the same item.
    Columns whose names match columns of the item table are stored there.
    """

    schema: pa.Schema
    key: bytes
    """Everything that determines the result of `describe`; part of the key of cached descriptions."""
    preload: ClassVar[Sequence[str]] = ()
    """Modules, besides its own, to import in the fork server before worker processes are forked."""

    @abstractmethod
    def __init__(self, recipe: Recipe_co, max_size: int) -> None:
        """Create a describer for `recipe`.

        Args:
            recipe: The recipe that decides how records are described.
            max_size: Items with more atoms or nodes than this are rejected.
        """

    @abstractmethod
    def describe(self, text: str, notation: str, name: str | None) -> Sequence[object]:
        """Return the row of `schema` for one record.

        Args:
            text: The structure as text.
            notation: Notation of the text, one of `Kind.notations`.
            name: Name of the record, if it has one.

        Raises:
            Rejected: The record cannot become an item.
        """
