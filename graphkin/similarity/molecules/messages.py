"""What RDKit says, collected from its log and put into words that are fit for a reason."""

import logging
import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from rdkit import rdBase

_PREFIX = re.compile(r"^\[\d\d:\d\d:\d\d\]\s*(ERROR:)?")
_BROKEN = "Violation occurred on line "
_HEADING = re.compile(r"^[\w-]+ (Violation|Error)$")
_WORDS = re.compile(r"^[A-Za-z][\w ,.'-]*$")  # of the kind "Atomic number not found", no expression in C++
_REPEATS = "SMILES Parse Error: Failed parsing SMILES "
_MARKER = set("~^")
_LONGEST = 200


def in_words(messages: Iterable[str], text: str) -> str:
    """What RDKit said about a structure, on one line, without quoting the structure again and again.

    A broken assumption of its own comes with the files and lines of whoever built it, a stack, and the paths of this
    machine: of that only what it says in words is left, or "".
    """
    lines = [line for line in map(str.strip, messages) if line]
    if broken := next((at for at, line in enumerate(lines) if line.startswith(_BROKEN)), None):
        what = lines[broken - 1]
        return what if _WORDS.match(what) and not _HEADING.match(what) else ""
    telling = (line for line in lines if line not in text and not line.startswith(_REPEATS))
    return "; ".join(dict.fromkeys(map(_short, telling)))


def _short(line: str) -> str:
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


class _Collector(logging.Handler):
    """Hands RDKit's log lines to whoever listens on this thread, and drops the rest."""

    def __init__(self) -> None:
        super().__init__()
        self.listening = threading.local()

    def emit(self, record: logging.LogRecord) -> None:
        messages: list[str] | None = getattr(self.listening, "messages", None)
        line = _PREFIX.sub("", record.getMessage()).strip()
        if messages is not None and line and not set(line) <= _MARKER:
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
    """Collects what RDKit logs on this thread, instead of printing it; also after somebody has switched its log off for
    the whole process, as PyTorch Geometric does."""
    for level in ("rdApp.error", "rdApp.warning"):
        rdBase.EnableLog(level)
    messages: list[str] = []
    _collector.listening.messages = messages
    try:
        yield messages
    finally:
        _collector.listening.messages = None
