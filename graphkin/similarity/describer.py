"""The interface of describers, which compute the columns of an item from the text of a record."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Generic, TypeVar

import pyarrow as pa

from graphkin.similarity.recipe import Recipe

Recipe_co = TypeVar("Recipe_co", bound=Recipe, covariant=True)

_PATH_OR_ADDRESS = re.compile(r"\S*/\S*|\b0x[0-9a-fA-F]+\b")
_MAX_LENGTH = 200


class Rejected(Exception):
    """A record cannot become an item. The message gives the reason."""


def failure_reason(error: Exception) -> str:
    """Return the reason for rejecting a record on which `Describer.describe` raised an unexpected error.

    The reason consists of the error's type and the first line of its message, without paths and memory addresses.
    """
    first = next(iter(str(error).strip().splitlines()), "")
    message = _PATH_OR_ADDRESS.sub("…", first)[:_MAX_LENGTH].encode(errors="backslashreplace").decode()
    return f"could not be described: {type(error).__name__}{': ' if message else ''}{message}"


class Describer(ABC, Generic[Recipe_co]):
    """Computes the columns of an item from the text of a record.

    Each process that reads records creates an instance of its own.

    Attributes:
        schema: Columns of the result. The column `digest`, 16 bytes, identifies the item: records with equal digests
            are the same item. Columns that the item table has too are stored there.
        key: Everything that determines the result of `describe`. It is part of the key of cached descriptions.
        preload: Modules that the fork server imports before it forks worker processes, besides the describer's own.
    """

    schema: pa.Schema
    key: bytes
    preload: ClassVar[Sequence[str]] = ()

    @abstractmethod
    def __init__(self, recipe: Recipe_co, max_size: int) -> None:
        """Create a describer for `recipe`.

        Args:
            recipe: The recipe that decides how records are described.
            max_size: Maximum number of atoms or nodes of an item. Records of larger items are rejected.
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
