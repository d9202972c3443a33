"""RDKit's log messages, captured and turned into reasons for rejections."""

import logging
import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from rdkit import rdBase

_PREFIX = re.compile(r"^\[\d\d:\d\d:\d\d\]\s*(ERROR:)?")
_VIOLATION = "Violation occurred on line "
_HEADING = re.compile(r"^[\w-]+ (Violation|Error)$")
_PLAIN_WORDS = re.compile(r"^[A-Za-z][\w ,.'-]*$")  # text such as "Atomic number not found", not a C++ expression
_REPETITION = "SMILES Parse Error: Failed parsing SMILES "  # repeats an earlier message
_POINTER_CHARACTERS = set("~^")  # of a line that points to a place in the SMILES above it
_MAX_LENGTH = 200


def readable_messages(messages: Iterable[str], text: str) -> str:
    """Return RDKit's messages about a structure as one line, without the structure itself.

    If an internal check of RDKit fails, the messages contain source files, line numbers, a stack trace and paths of
    this machine. Only the description of the check is returned then, or "" if it is a C++ expression.

    Args:
        messages: RDKit's messages.
        text: The text of the structure.
    """
    lines = [line for line in map(str.strip, messages) if line]
    if violation := next((number for number, line in enumerate(lines) if line.startswith(_VIOLATION)), None):
        description = lines[violation - 1]
        return description if _PLAIN_WORDS.match(description) and not _HEADING.match(description) else ""
    relevant = (line for line in lines if line not in text and not line.startswith(_REPETITION))
    return "; ".join(dict.fromkeys(map(_shorten, relevant)))


def _shorten(line: str) -> str:
    return line if len(line) <= _MAX_LENGTH else f"{line[:_MAX_LENGTH]}…"


class _Collector(logging.Handler):
    """Appends RDKit's log lines to the list of the current thread, or drops them if the thread has no list."""

    def __init__(self) -> None:
        super().__init__()
        self.local = threading.local()

    def emit(self, record: logging.LogRecord) -> None:
        messages: list[str] | None = getattr(self.local, "messages", None)
        line = _PREFIX.sub("", record.getMessage()).strip()
        if messages is not None and line and not set(line) <= _POINTER_CHARACTERS:
            messages.append(line)


_collector = _Collector()


def _capture_rdkit_log() -> None:
    rdBase.LogToPythonLogger()
    logger = logging.getLogger("rdkit")
    logger.propagate = False
    logger.handlers = [_collector]


_capture_rdkit_log()


@contextmanager
def rdkit_messages() -> Iterator[list[str]]:
    """Collect the messages that RDKit logs in this thread, instead of printing them.

    Libraries such as PyTorch Geometric switch RDKit's log off for the whole process, so it is switched on again first.

    Yields:
        A list to which the messages are appended.
    """
    for level in ("rdApp.error", "rdApp.warning"):
        rdBase.EnableLog(level)
    messages: list[str] = []
    _collector.local.messages = messages
    try:
        yield messages
    finally:
        _collector.local.messages = None
