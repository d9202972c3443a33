"""Flip single bits of `keys.sqlite`. No flip may open the store, revive a revoked key or change the scope of a key.

`python -m tests.rigs.key_bits --flips 10000 --seed 0`
"""

import argparse
import asyncio
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import numpy as np

from graphkin.api.http.access import AccessControl
from graphkin.protocol.errors import Forbidden, StoreDamaged, StoreError, StoreFormat, Unauthorized
from graphkin.protocol.keys import Key, create_key
from graphkin.store.embedded.store import EmbeddedStore

REFUSED = "refused as damaged"
UNCHANGED = "all keys read as they were"

Lifetimes: TypeAlias = Sequence[tuple[str, timedelta | None]]

_LIFETIMES: Lifetimes = (("valid", None), ("revoked", None), ("expired", timedelta(seconds=-1)))


def flip(folder: Path, flips: int, seed: int) -> Counter[str]:
    """Count the outcomes of single-bit flips of key databases.

    Half of the flips are in the key database of a store with one key, half in that of a store with three keys.
    """
    one, three = folder / "one", folder / "three"
    return _flip(one, _LIFETIMES[:1], flips // 2, seed) + _flip(three, _LIFETIMES, flips - flips // 2, seed)


def _flip(folder: Path, lifetimes: Lifetimes, flips: int, seed: int) -> Counter[str]:
    store = EmbeddedStore(folder, create=True)
    secrets = _fill(store, lifetimes)
    keys, file = store.keys().all(), folder / "keys.sqlite"
    content = file.read_bytes()
    outcomes: Counter[str] = Counter()
    for position in _positions(content, flips, seed):
        damaged = bytearray(content)
        damaged[position // 8] ^= 1 << position % 8
        file.write_bytes(damaged)
        outcomes[asyncio.run(_outcome(store, secrets, keys))] += 1
    file.write_bytes(content)
    return outcomes


def _fill(store: EmbeddedStore, lifetimes: Lifetimes) -> dict[str, str]:
    """Add keys that may read one collection, and return their secrets."""
    secrets = {}
    for name, lifetime in lifetimes:
        secrets[name], key = create_key(name, ["read"], ["mine"], lifetime)
        store.keys().add(key)
        if name == "revoked":
            store.keys().revoke(key.id, key.created_at)
    return secrets


def _positions(content: bytes, flips: int, seed: int) -> Iterator[int]:
    """Yield the bits to flip: first the head of each page, where SQLite keeps its counts, then random bits."""
    heads = [
        8 * (page + byte) + bit for byte in range(108) for page in range(0, len(content), 4096) for bit in range(8)
    ]
    yield from heads[:flips]
    random = np.random.default_rng(seed)
    yield from random.integers(8 * len(content), size=max(0, flips - len(heads))).tolist()


async def _outcome(store: EmbeddedStore, secrets: dict[str, str], keys: list[Key]) -> str:
    try:
        access_control = AccessControl(store.keys())
    except StoreDamaged:
        return REFUSED
    except StoreFormat:
        return "refused as of another version"
    except StoreError:
        return "refused as unreadable"
    if await _admits(access_control, None, "mine"):
        return "VIOLATION: open without a key"
    if store.keys().all() != keys:
        return "VIOLATION: other keys than were written"
    if await _admits(access_control, secrets["valid"], "other"):
        return "VIOLATION: a key opens another collection"
    for name in secrets:
        if await _admits(access_control, secrets[name], "mine") != (name == "valid"):
            return f"VIOLATION: a key that is {name} is treated as another"
    return UNCHANGED


async def _admits(access_control: AccessControl, secret: str | None, collection: str) -> bool:
    headers = [] if secret is None else [(b"authorization", f"Bearer {secret}".encode())]
    scope: dict[str, Any] = {"headers": headers, "path_params": {"c": collection}}
    try:
        await access_control.authorize(scope, "read")
    except (Forbidden, Unauthorized):
        return False
    return True


def violations(outcomes: Counter[str]) -> int:
    return sum(count for outcome, count in outcomes.items() if outcome.startswith("VIOLATION"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flips", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        outcomes = flip(Path(folder), arguments.flips, arguments.seed)
    for outcome, count in outcomes.most_common():
        print(f"{count:7,}  {outcome}")
    return 1 if violations(outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
