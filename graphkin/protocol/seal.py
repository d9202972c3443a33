"""Sealed documents: JSON values with their SHA-256."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def seal_document(what: str, values: Mapping[str, Any]) -> bytes:
    """Return a document with the values, under the key `what`, and their digest."""
    return json.dumps({"sha256": _digest(values), what: values}, indent=1).encode()


def unseal_document(what: str, content: bytes) -> tuple[dict[str, Any], bool]:
    """Return the values of a document, and whether they match their digest.

    Raises:
        ValueError: The content is not a sealed document.
    """
    try:
        document = json.loads(content)
        values, digest = dict(document[what]), document["sha256"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{error}") from error
    return values, _digest(values) == digest


def _digest(values: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
