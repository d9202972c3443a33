"""Serialization of `GraphkinError` for transfer from worker processes to the server."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from graphkin.protocol.errors import Damage, GraphkinError, StoreDamaged


def pack_error(error: Exception) -> dict[str, Any] | None:
    """Return a `GraphkinError` as a JSON-serializable dict, None for any other error.

    Worker processes call this function on errors of their tasks (`PackError` of `runtime.workers`).
    """
    return pack(error) if isinstance(error, GraphkinError) else None


def pack(error: GraphkinError) -> dict[str, Any]:
    """Return an error as a JSON-serializable dict."""
    damage = {"damage": asdict(error.damage)} if isinstance(error, StoreDamaged) else {}
    return {"kind": type(error).__name__, **vars(error), **damage}


def unpack(packed: dict[str, Any]) -> GraphkinError | None:
    """Return the error in a dict that `pack` returned, None if it is not a `GraphkinError`."""
    if "damage" in packed:
        return StoreDamaged(Damage(**packed["damage"]))
    for error_type in _error_types(GraphkinError):
        if error_type.__name__ == packed["kind"]:
            error = error_type.__new__(error_type, packed["detail"])
            vars(error).update({name: value for name, value in packed.items() if name != "kind"})
            return error
    return None


def _error_types(parent: type[GraphkinError]) -> Iterator[type[GraphkinError]]:
    yield parent
    for child in parent.__subclasses__():
        yield from _error_types(child)
