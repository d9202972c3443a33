"""Graphs as JSON Lines: one named object per line, in the form of `similarity.graphs.structure.Structure.read`."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from graphkin.ingest.readers.lines import Line
from graphkin.ingest.readers.records import Record, faulty_record, text_fault

_STRUCTURE = {"name", "edges", "num_nodes", "labels"}


def read_jsonl(lines: Iterable[Line]) -> Iterator[Record]:
    """Yield every line as a record.

    `name` is a text or an integer. Keys that are not part of the structure are properties.
    """
    for number, line, fault in lines:
        text = line.rstrip("\r\n")
        if fault is not None:
            yield faulty_record(number, text, fault)
            continue
        content = _content(text)
        name = content.get("name")
        if name is not None and type(name) not in (str, int):
            yield faulty_record(number, text, '"name" is neither a text nor a whole number')
            continue
        properties = {key: value for key, value in content.items() if key not in _STRUCTURE and value is not None}
        values = [value if isinstance(value, str) else json.dumps(value) for value in properties.values()]
        names = [] if name is None else [str(name)]
        if fault := text_fault("".join([*names, *properties, *values])):
            yield faulty_record(number, text, f"what it says of itself {fault}")
            continue
        yield number, text, next(iter(names), None), list(properties), values, None


def _content(text: str) -> dict[str, Any]:
    """Return the object, empty if the text is not a JSON object. Reading the structure reports the error later."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
