"""Running the real command line in this process."""

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from graphkin.cli import run


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


Graphkin = Callable[..., Outcome]


@pytest.fixture
def graphkin(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Graphkin:
    """`graphkin("info", "--store", ...)`, in an empty working folder; `stdin` is the bytes on standard input."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capfd.readouterr()
        code = run([str(argument) for argument in arguments])
        captured = capfd.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


@pytest.fixture
def ingest(graphkin: Graphkin, tmp_path: Path) -> Graphkin:
    """`ingest(text_or_bytes_or_path, *options)` into tmp_path/store, collection c."""

    def call(source: str | bytes | Path, *options: object, name: str = "molecules.smi") -> Outcome:
        if isinstance(source, Path):
            path = source
        else:
            path = tmp_path / name
            path.write_bytes(source.encode() if isinstance(source, str) else source)
        return graphkin("ingest", "molecules", path, "--store", tmp_path / "store", "--collection", "c", *options)

    return call
