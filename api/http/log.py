"""The access log: one JSON object per line.

The log holds no queries, bodies or headers, so it contains neither structures nor secrets.
"""

import logging
import sys
from datetime import UTC, datetime
from logging.handlers import WatchedFileHandler
from pathlib import Path

from pydantic_core import to_json

from graphkin.api.http.exchange import Exchange
from graphkin.protocol.errors import InvalidInput


class AccessLog:
    """Access log in a file, which log rotation may rename at any time, or on standard output.

    Args:
        path: The file; `-` for standard output.

    Raises:
        InvalidInput: The file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._handler = logging.StreamHandler(sys.stdout) if str(path) == "-" else WatchedFileHandler(path)
        except OSError as error:
            raise InvalidInput(
                f"cannot write the access log: {error.strerror}",
                given=str(path),
                expected="a file, or - for standard output",
                hint="set GRAPHKIN_ACCESS_LOG to a file that can be written",
            ) from error

    def write(self, exchange: Exchange) -> None:
        """Write one line with the current time and the fields of an exchange."""
        fields = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), **exchange._asdict()}
        line = to_json({**fields, "seconds": round(exchange.seconds, 6)}).decode()
        self._handler.emit(logging.LogRecord("graphkin.access", logging.INFO, "", 0, line, None, None))

    def close(self) -> None:
        if isinstance(self._handler, WatchedFileHandler):
            self._handler.close()
