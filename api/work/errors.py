"""Errors on their way from one process to another."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from graphkin.protocol.errors import Damage, GraphkinError, StoreDamaged


def packed(error: GraphkinError) -> dict[str, Any]:
    """As JSON can hold it."""
    damage = {"damage": asdict(error.damage)} if isinstance(error, StoreDamaged) else {}
    return {"kind": type(error).__name__, **vars(error), **damage}


def unpacked(said: dict[str, Any]) -> GraphkinError | None:
    """The error that was packed; None for what is none of ours."""
    if "damage" in said:
        return StoreDamaged(Damage(**said["damage"]))
    for kind in _kinds(GraphkinError):
        if kind.__name__ == said["kind"]:
            error = kind.__new__(kind, said["detail"])
            vars(error).update({name: value for name, value in said.items() if name != "kind"})
            return error
    return None


def _kinds(parent: type[GraphkinError]) -> Iterator[type[GraphkinError]]:
    yield parent
    for child in parent.__subclasses__():
        yield from _kinds(child)
