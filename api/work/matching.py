"""Tasks `read_pattern`, `describe` and `match`: substructure search in worker processes."""

from base64 import b64decode
from collections.abc import Generator
from functools import lru_cache
from typing import Any

import numpy as np

from graphkin.runtime.workers.worker import at_most
from graphkin.similarity.kind import Pattern, Substructures
from graphkin.similarity.kinds import kind_named, kind_of
from graphkin.store import open_cached


def read_pattern(kind: str, recipe: dict[str, Any], text: str, writing: str) -> dict[str, str]:
    """Return a packed pattern. Raises the errors of `Kind.pattern`."""
    item_kind = kind_named(kind)
    return pack_pattern(item_kind.pattern(item_kind.recipe(recipe), text, writing))


def pack_pattern(pattern: Pattern) -> dict[str, str]:
    """Return a pattern as a JSON-serializable dict."""
    return {"writing": pattern.notation, "text": pattern.text, "screen": pattern.screen.hex()}


def unpack_pattern(message: dict[str, str]) -> Pattern:
    """Return the pattern in a dict that `pack_pattern` returned."""
    return Pattern(message["writing"], message["text"], bytes.fromhex(message["screen"]))


def describe(store: str, collection: str, generation: str, block: int) -> None:
    """Describe a block of items, unless this machine has cached it."""
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
    """Match items of one block with a pattern.

    Args:
        store: Location of the store.
        collection: Name of the collection.
        generation: Id of the generation.
        pattern: Packed pattern.
        block: Number of the block.
        parts: Ids of the items in parts, each as base64 of an int32 array.
        seconds: Processor time limit of each part. Exceeding it ends this process.

    Yields:
        An empty piece once the block is open, which may take a while. Then for each part, one bool byte per item.
    """
    substructures = _substructures(store, collection, generation)
    substructures.prepare(block)
    yield b""
    for part in parts:
        with at_most(seconds):
            matches = substructures.match(unpack_pattern(pattern), np.frombuffer(b64decode(part), np.int32))
        yield matches.tobytes()


@lru_cache(maxsize=2)
def _substructures(store: str, collection: str, generation: str) -> Substructures:
    source = open_cached(store, collection, generation)
    return kind_of(source).substructures(source)
