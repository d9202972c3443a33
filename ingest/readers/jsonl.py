"""Graphs as JSON Lines: one object a line, as `similarity.graphs.structure.Structure.read` has them, with a name."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from graphkin.ingest.readers.lines import Line
from graphkin.ingest.readers.records import Record, faulted, unsound

_STRUCTURE = {"name", "edges", "num_nodes", "labels"}


def read_jsonl(lines: Iterable[Line]) -> Iterator[Record]:
    """Every line is a record. `name` is a text or a number; keys that say nothing of the structure are properties."""
    for number, line, fault in lines:
        text = line.rstrip("\r\n")
        if fault is not None:
            yield faulted(number, text, fault)
            continue
        content = _content(text)
        name = content.get("name")
        if name is not None and type(name) not in (str, int):
            yield faulted(number, text, '"name" is neither a text nor a whole number')
            continue
        kept = {key: value for key, value in content.items() if key not in _STRUCTURE and value is not None}
        values = [value if isinstance(value, str) else json.dumps(value) for value in kept.values()]
        told = [] if name is None else [str(name)]
        if fault := unsound("".join([*told, *kept, *values])):
            yield faulted(number, text, f"what it says of itself {fault}")
            continue
        yield number, text, next(iter(told), None), list(kept), values, None


def _content(text: str) -> dict[str, Any]:
    """Nothing where the text is no JSON object: whoever reads its structure says what is wrong."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
