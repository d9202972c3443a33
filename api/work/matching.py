"""The tasks `read_pattern`, `describe` and `match`: which items have a substructure that somebody looks for."""

from base64 import b64decode
from collections.abc import Generator
from functools import lru_cache
from typing import Any

import numpy as np

from graphkin.runtime.workers.worker import at_most
from graphkin.similarity.kind import Pattern, Substructures
from graphkin.similarity.kinds import kind_named, kind_of
from graphkin.store import kept_open


def read_pattern(kind: str, recipe: dict[str, Any], text: str, writing: str) -> dict[str, str]:
    """The pattern, packed. Raises as `Kind.pattern` does."""
    named = kind_named(kind)
    return packed(named.pattern(named.recipe(recipe), text, writing))


def packed(pattern: Pattern) -> dict[str, str]:
    """As JSON can hold it."""
    return {"writing": pattern.writing, "text": pattern.text, "screen": pattern.screen.hex()}


def unpacked(said: dict[str, str]) -> Pattern:
    """The pattern that was packed."""
    return Pattern(said["writing"], said["text"], bytes.fromhex(said["screen"]))


def describe(store: str, collection: str, generation: str, block: int) -> None:
    """Describe a block of items, unless this machine has it."""
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
    """Which of some items of a block, int32 in parts, have the pattern: a piece for each part, of a byte each. Before
    them a piece says that the block is open, which may take its time. A part ends this process after so many seconds of
    its own."""
    substructures = _substructures(store, collection, generation)
    substructures.prepare(block)
    yield b""
    for part in parts:
        with at_most(seconds):
            has = substructures.having(unpacked(pattern), np.frombuffer(b64decode(part), np.int32))
        yield has.tobytes()


@lru_cache(maxsize=2)
def _substructures(store: str, collection: str, generation: str) -> Substructures:
    found = kept_open(store, collection, generation)
    return kind_of(found).substructures(found)
