"""Abbreviated ids of generations."""

from collections.abc import Sequence

from graphkin.protocol.errors import InvalidInput

LENGTH = 64
"""Number of characters of a full id."""

_SHORT = 12  # characters of an id in text


def short_id(id: str) -> str:
    """Return the beginning of an id, which commands and functions accept in place of the id."""
    return id[:_SHORT]


def expand_id(id_prefix: str, generations: Sequence[str]) -> str:
    """Return the full id that starts with `id_prefix`.

    If there is none, return `id_prefix` itself, because it may be the id of a deleted generation.

    Raises:
        InvalidInput: Several ids start with the prefix, or the prefix is empty.
    """
    if not id_prefix:
        raise InvalidInput(
            "the generation id is empty",
            given=id_prefix,
            expected="a generation id, or its first characters",
            hint="`graphkin info` lists the generations of a store",
        )
    matches = [id for id in generations if id.startswith(id_prefix)]
    if len(matches) > 1:
        choices = ", ".join(id[: len(id_prefix) + 6] for id in matches)
        raise InvalidInput(
            "several generations have ids that begin with these characters",
            given=id_prefix,
            expected=f"one of {choices}",
            hint="add characters until only one id matches",
        )
    return matches[0] if matches else id_prefix
