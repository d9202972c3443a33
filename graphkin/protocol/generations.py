"""Abbreviated ids of generations."""

from collections.abc import Sequence

from graphkin.protocol.errors import InvalidInput

LENGTH = 64
"""Number of characters of a full id."""


def expand_id(beginning: str, generations: Sequence[str]) -> str:
    """Return the id that begins with `beginning`.

    If there is none, return `beginning` itself, because it may be the id of a deleted generation.

    Raises:
        InvalidInput: Several ids begin with it, or it is empty.
    """
    if not beginning:
        raise InvalidInput("no generation is named", given="an empty id", expected="an id, or how it begins")
    matches = [id for id in generations if id.startswith(beginning)]
    if len(matches) > 1:
        choices = ", ".join(id[: len(beginning) + 6] for id in matches)
        raise InvalidInput("several generations begin so", given=beginning, expected=f"more of one of {choices}")
    return matches[0] if matches else beginning
