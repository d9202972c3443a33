"""Vectors as text: JSON arrays of numbers."""

import json
import math

import numpy as np

from graphkin.similarity.describer import Rejected
from graphkin.store.records import Float32, to_decimal_floats

_MIN_LENGTH, _MAX_LENGTH = 1e-30, 1e30  # between these lengths, no computation overflows or underflows


def read_vector(text: str, dimension: int) -> Float32:
    """Read a vector, (D,) float32. Numbers are rounded to float32, and -0 becomes 0.

    Args:
        text: The vector as JSON.
        dimension: The required number of components, D.

    Raises:
        Rejected: The text is not a valid vector. The message gives the reason.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Rejected("is not a JSON array of numbers") from error
    if not isinstance(content, list) or not all(type(number) in (int, float) for number in content):
        raise Rejected("is not a JSON array of numbers")
    if len(content) != dimension:
        raise Rejected(f"has {len(content):,} numbers, not {dimension:,}")
    try:
        exact = np.array(content, np.float64)
    except OverflowError as error:  # an integer outside the range of float64
        raise Rejected("contains a number that is not finite") from error
    with np.errstate(over="ignore"):
        vector = exact.astype(np.float32) + np.float32(0)  # adding 0 turns -0 into 0
    if not np.isfinite(vector).all():
        raise Rejected("contains a number that is not finite")
    if not vector.any():
        raise Rejected("is the zero vector, which has no direction")
    if not _MIN_LENGTH <= length(vector) <= _MAX_LENGTH:
        raise Rejected(f"has a length that is not from {_MIN_LENGTH:g} to {_MAX_LENGTH:g}")
    return vector


def length(vector: Float32) -> float:
    """Return the Euclidean norm, which is the same on every machine."""
    return math.sqrt(math.fsum(number * number for number in vector.tolist()))


def format_vector(vector: Float32) -> str:
    """Return the shortest JSON text from which `read_vector` reads the same vector."""
    return json.dumps(to_decimal_floats(vector), separators=(",", ":"))
