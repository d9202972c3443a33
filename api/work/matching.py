"""Tasks `read_pattern`, `describe` and `match`: substructure search in worker processes.

A block of items has to be described before it is matched: the molecules are converted to the form that the matcher
reads, and cached on this machine (`similarity.kind.Substructures`).
"""

from base64 import b64decode
from collections.abc import Generator
from functools import lru_cache
from typing import Any

import numpy as np

from graphkin.runtime.workers.worker import cpu_limit
from graphkin.similarity.kind import Pattern, Substructures
from graphkin.similarity.kinds import kind_named, kind_of
from graphkin.store import open_cached


def read_pattern(kind: str, recipe: dict[str, Any], text: str, notation: str) -> dict[str, str]:
    """Read a substructure pattern and return it packed.

    Args:
        kind: Kind of the items.
        recipe: Recipe of the generation, as JSON.
        text: Pattern.
        notation: Notation of the pattern.

    Raises:
        GraphkinError: The errors of `Kind.pattern`.
    """
    item_kind = kind_named(kind)
    return pack_pattern(item_kind.pattern(item_kind.recipe(recipe), text, notation))


def pack_pattern(pattern: Pattern) -> dict[str, str]:
    """Return a pattern as a JSON-serializable dict."""
    return {"notation": pattern.notation, "text": pattern.text, "screen": pattern.screen.hex()}


def unpack_pattern(message: dict[str, str]) -> Pattern:
    """Return the pattern in a dict that `pack_pattern` returned."""
    return Pattern(message["notation"], message["text"], bytes.fromhex(message["screen"]))


def describe(store: str, collection: str, generation: str, block: int) -> None:
    """Describe a block of items, unless its description is cached on this machine."""
    _substructures(store, collection, generation).prepare(block)


def match(
    store: str,
    collection: str,
    generation: str,
    pattern: dict[str, str],
    block: int,
    parts: list[str],
    seconds: float,
) -> Generator[bytes, None, None]:
    """Determine which items of one block contain a pattern.

    Args:
        store: Location of the store.
        collection: Name of the collection.
        generation: Id of the generation.
        pattern: Pattern packed by `pack_pattern`.
        block: Number of the block.
        parts: Ids of the items, divided into parts. Each part is an int32 array in base64.
        seconds: Limit of processor time per part. A part that exceeds it ends this process.

    Yields:
        First an empty piece, once the block is described, which may take seconds. Then one piece per part, with one
        byte per item: 1 if the item contains the pattern, else 0.
    """
    substructures = _substructures(store, collection, generation)
    substructures.prepare(block)
    yield b""
    for part in parts:
        with cpu_limit(seconds):
            matches = substructures.match(unpack_pattern(pattern), np.frombuffer(b64decode(part), np.int32))
        yield matches.tobytes()


@lru_cache(maxsize=2)
def _substructures(store: str, collection: str, generation: str) -> Substructures:
    source = open_cached(store, collection, generation)
    return kind_of(source).substructures(source)
