"""What is committed of the corpus: JSON Lines of cases, each with an id of its own.

Long texts are written in parts: a list of texts and of [text or parts, how often]. Bytes that are no text are base64.
"""

import json
import os
from base64 import b64decode
from pathlib import Path
from typing import Any, TypeAlias
from zlib import crc32

Parts: TypeAlias = Any  # a text, or a list of texts and of [parts, how often]


ALL = os.environ.get("GRAPHKIN_FUZZ") == "all"
"""Whether a run replays all of the corpus; else a part of it, always the same."""


def chosen(id: str, among: int) -> int:
    """A number below `among` that follows from the id; 0 where all are wanted."""
    return 0 if ALL else crc32(id.encode()) % among


def lines(name: str) -> list[dict[str, Any]]:
    """The objects of one committed file, in order."""
    text = Path(__file__).with_name(name).read_text(encoding="ascii")
    return [json.loads(line) for line in text.splitlines()]


def whole(parts: Parts) -> str:
    """The text that parts stand for."""
    if isinstance(parts, str):
        return parts
    return "".join(part if isinstance(part, str) else whole(part[0]) * part[1] for part in parts)


def content(parts: Parts) -> bytes:
    """The bytes that parts stand for: text as UTF-8, `{"base64": ...}` as it is."""
    if isinstance(parts, dict):
        return b64decode(parts["base64"])
    if isinstance(parts, str):
        return parts.encode()
    return b"".join(content(part) if isinstance(part, str | dict) else content(part[0]) * part[1] for part in parts)
