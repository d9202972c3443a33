"""Documents that say what stands in files beside them: JSON with a SHA-256 of all that it says."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def sealed(what: str, values: Mapping[str, Any]) -> bytes:
    """The values, JSON themselves, by the name `what`, and their digest."""
    return json.dumps({"sha256": _digest(values), what: values}, indent=1).encode()


def unsealed(what: str, content: bytes) -> tuple[dict[str, Any], bool]:
    """The values, and whether they are what was sealed. Raises `ValueError` for what is no such document."""
    try:
        said = json.loads(content)
        values, digest = dict(said[what]), said["sha256"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{error}") from error
    return values, _digest(values) == digest


def _digest(values: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
