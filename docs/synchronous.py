"""Write graphkin/client/synchronous/ from graphkin/client/asynchronous/. Run by `make docs`.

`--check` fails if a file is stale.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import unasync

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "graphkin" / "client" / "asynchronous"
TARGET = ROOT / "graphkin" / "client" / "synchronous"

NAMES = {
    "AsyncClient": "Client",
    "AsyncCancellation": "Cancellation",
    "AsyncCollection": "Collection",
    "AsyncConnection": "Connection",
    "AsyncGenerationReader": "GenerationReader",
    "AsyncGraphkin": "Graphkin",
    "AsyncRetrying": "Retrying",
    "AsyncUploads": "Uploads",
    "aclose": "close",
    "aclosing": "closing",
    "aiter_bytes": "iter_bytes",
    "aread": "read",
    "asynchronous": "synchronous",
}
"""Replacements in addition to those that unasync knows."""

PACKAGE = '"""The client as plain functions, made from `graphkin/client/asynchronous/` by `make docs`."""\n'
HEAD = "# Made from graphkin/client/asynchronous/{name} by `make docs`: edit that.\n\n"


def synchronous(path: Path) -> str:
    """Return a module with plain functions instead of coroutines."""
    if path.name == "__init__.py":
        return PACKAGE
    with TemporaryDirectory() as folder:
        unasync.unasync_files([str(path)], [unasync.Rule(f"{path.parent}/", f"{folder}/", NAMES)])
        code = Path(folder, path.name).read_text(encoding="utf-8")
    for tidied in (["check", "--fix", "--unsafe-fixes", "--select", "I,UP028"], ["format"]):
        command = [
            str(Path(sys.executable).with_name("ruff")),
            *tidied,
            "--quiet",
            "--stdin-filename",
            str(TARGET / path.name),
            "-",
        ]
        code = subprocess.run(command, input=code, check=True, capture_output=True, text=True).stdout
    return HEAD.format(name=path.name) + code


def main() -> None:
    modules = {TARGET / path.name: synchronous(path) for path in sorted(SOURCE.glob("*.py"))}
    if "--check" in sys.argv:
        there = {path: path.read_text(encoding="utf-8") for path in TARGET.glob("*.py")}
        sys.exit(None if modules == there else "graphkin/client/synchronous/ is not what asynchronous/ makes")
    for path, text in modules.items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
