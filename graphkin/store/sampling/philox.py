"""Philox4x32-10, the counter-based generator that makes samples reproducible.

Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. The key identifies the request.
The counter identifies one random number of that request, so no state and no order is needed.
"""

import hashlib
import json

import numpy as np

from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.values import MAX_SEED
from graphkin.store.kernels import kernel

# The last word of the counter names the decision that the random number is for.
STEP, END, RANK, TIE, RACE, PAD, NEGATIVE, SERVER, RESTART = range(9)

_LOW = np.uint64(0xFFFFFFFF)
_WORD = np.uint64(32)
_MULTIPLIER_0, _MULTIPLIER_1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL_0, _WEYL_1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_FIVE, _SIX, _TWENTY_SIX = np.uint64(5), np.uint64(6), np.uint64(26)


def replay_key(seed: int, generation: str, stream: str, epoch: int) -> np.uint64:
    """Return a 64-bit key for a request.

    Args:
        seed: 0 to `MAX_SEED`.
        generation: The id of the generation.
        stream: The canonical policy, or another name of the sample.
        epoch: 0 or more.

    Raises:
        InvalidInput: `seed` or `epoch` is out of range.
    """
    if not 0 <= seed <= MAX_SEED:
        raise InvalidInput(
            "seed is out of range", given=seed, expected=f"0 to {MAX_SEED}", hint="choose a seed such as 0"
        )
    if epoch < 0:
        raise InvalidInput("epoch is out of range", given=epoch, expected="0 or more", hint="count epochs from 0")
    request = json.dumps([int(seed), generation, stream, int(epoch)])
    return np.uint64(int.from_bytes(hashlib.blake2b(request.encode(), digest_size=8).digest(), "little"))


@kernel
def block(
    key: np.uint64, a: np.uint64, b: np.uint64, c: np.uint64, d: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Return the four 32-bit words at the counter (a, b, c, d).

    The low half of the key is the first key word of Random123.
    """
    key_0, key_1 = key & _LOW, key >> _WORD
    for _ in range(10):
        left, right = _MULTIPLIER_0 * a, _MULTIPLIER_1 * c
        a, b, c, d = (right >> _WORD) ^ b ^ key_0, right & _LOW, (left >> _WORD) ^ d ^ key_1, left & _LOW
        key_0, key_1 = (key_0 + _WEYL_0) & _LOW, (key_1 + _WEYL_1) & _LOW
    return a, b, c, d


@kernel
def uniforms(key: np.uint64, subject: int, stream: int, index: int, purpose: int) -> tuple[float, float]:
    """Return two independent uniform floats in [0, 1) with 53 random bits each.

    Args:
        key: The key of the request, from `replay_key`.
        subject: The anchor or the number of the batch.
        stream: The number of the walk, the candidate, the attempt or the place in a row.
        index: The number of the step and of its attempt, 0 for decisions without steps.
        purpose: The decision, such as `STEP`.

    `subject`, `stream`, `index` and `purpose` are the counter and must be below 2^32.
    """
    a, b, c, d = block(key, np.uint64(subject), np.uint64(stream), np.uint64(index), np.uint64(purpose))
    first = ((a >> _FIVE) << _TWENTY_SIX) | (b >> _SIX)
    second = ((c >> _FIVE) << _TWENTY_SIX) | (d >> _SIX)
    return first * 2.0**-53, second * 2.0**-53
