"""How benchmarks start `graphkin` as a process of its own."""

import socket
import sys
from pathlib import Path


def graphkin(*arguments: str | Path) -> list[str]:
    """The command with these arguments."""
    return [sys.executable, "-m", "graphkin", *map(str, arguments)]


def free_port() -> int:
    """One of this machine, at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    return port
