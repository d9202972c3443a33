"""Sealed documents: JSON values with their SHA-256."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def seal_document(name: str, values: Mapping[str, Any]) -> bytes:
    """Return a JSON document with the values under the key `name`, and their SHA-256."""
    return json.dumps({"sha256": _digest(values), name: values}, indent=1).encode()


def unseal_document(name: str, content: bytes) -> tuple[dict[str, Any], bool]:
    """Return the values under the key `name` of a sealed document, and whether they match their SHA-256.

    Raises:
        ValueError: The content is not a sealed document.
    """
    try:
        document = json.loads(content)
        values, digest = dict(document[name]), document["sha256"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{error}") from error
    return values, _digest(values) == digest


def _digest(values: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
