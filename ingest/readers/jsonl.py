"""Reader of graphs in JSON Lines: each line is a JSON object in the format of `Structure.read`, with a name."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from graphkin.ingest.readers.lines import Line
from graphkin.ingest.readers.records import Record, faulty_record, text_fault

_GRAPH_KEYS = {"name", "edges", "num_nodes", "labels"}


def read_jsonl(lines: Iterable[Line]) -> Iterator[Record]:
    """Yield each line as a record.

    The value of the key `name`, a string or an integer, is the name. All keys except `name`, `edges`, `num_nodes` and
    `labels` become properties, unless their value is null.
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
        properties = {key: value for key, value in content.items() if key not in _GRAPH_KEYS and value is not None}
        values = [value if isinstance(value, str) else json.dumps(value) for value in properties.values()]
        names = [] if name is None else [str(name)]
        if fault := text_fault("".join([*names, *properties, *values])):
            yield faulty_record(number, text, f"its name or a property {fault}")
            continue
        yield number, text, next(iter(names), None), list(properties), values, None


def _content(text: str) -> dict[str, Any]:
    """Return the object, or an empty one if the text is not a JSON object: `Describer.describe` then rejects it."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
