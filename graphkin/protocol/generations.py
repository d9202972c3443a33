"""Ids of generations, of which the beginning is enough where it is of one alone."""

from collections.abc import Sequence

from graphkin.protocol.errors import InvalidInput

LENGTH = 64
"""Characters of a whole id."""


def begun_with(beginning: str, generations: Sequence[str]) -> str:
    """The one of these ids that begins so; what was given where none does: it may be of one that was deleted.

    Raises `InvalidInput` where several do, and for nothing at all.
    """
    if not beginning:
        raise InvalidInput("no generation is named", given="an empty id", expected="an id, or how it begins")
    found = [id for id in generations if id.startswith(beginning)]
    if len(found) > 1:
        told = ", ".join(id[: len(beginning) + 6] for id in found)
        raise InvalidInput("several generations begin so", given=beginning, expected=f"more of one of {told}")
    return found[0] if found else beginning
