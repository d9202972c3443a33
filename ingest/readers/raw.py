"""The bytes of a source as they are stored: counted, hashed and inflated while they are read."""

import gzip
import hashlib
import io
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, Any
from zipfile import BadZipFile

import pyarrow as pa

from graphkin.protocol.errors import InvalidInput, StoreError
from graphkin.protocol.manifest import Input

_BUFFER = 1 << 18
_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_ALWAYS_UNPACKED = 10_000_000  # bytes
_MOST_UNPACKED = 50  # times its size


class Raw(io.RawIOBase):
    """A stream that counts and hashes what passes through it. Closing it leaves the file beneath open."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        self._hash.update(data)
        self.count += len(data)
        return len(data)

    def read_to(self, position: int | None) -> None:
        """Read on, for the hash, until `count` reaches `position` (None: the end)."""
        buffer = bytearray(_BUFFER)
        while (position is None or self.count < position) and self.readinto(buffer):
            pass

    def digest(self, name: str) -> Input:
        """The size and SHA-256 of what has been read so far."""
        return Input(name=name, bytes=self.count, sha256=self._hash.hexdigest())


class _Unpacked(io.RawIOBase):
    """What is read from a compressed file. Raises as `require_proportion` does."""

    def __init__(self, name: str, stream: gzip.GzipFile, raw: Raw) -> None:
        self._name, self._stream, self._raw = name, stream, raw
        self._count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        self._count += len(data)
        require_proportion(self._name, self._count, self._raw.count)
        return len(data)


def require_proportion(name: str, unpacked: int, packed: int) -> None:
    """Raises `InvalidInput` for bytes that would have to be held whole and are far more than they look."""
    if unpacked > max(_ALWAYS_UNPACKED, _MOST_UNPACKED * packed):
        raise InvalidInput(
            f"{name} unpacks to more than {_MOST_UNPACKED} times its size",
            given=f"{packed:,} bytes",
            expected=f"at most {_ALWAYS_UNPACKED:,} bytes unpacked, or {_MOST_UNPACKED} times its size",
            hint="if it is sound, unpack it first",
        )


def inflate(name: str, raw: Raw, expected: str, *, whole: bool = False) -> tuple[IO[bytes], bool]:
    """The content of a file that may be gzipped, told by its first bytes, after a byte order mark; and whether it is.

    `whole`: it will be held whole, so reading it raises as `require_proportion` does. Raises `InvalidInput` where there
    is none.
    """
    stream: io.BufferedReader[Any] = io.BufferedReader(raw, _BUFFER)
    if gzipped := stream.peek(2)[:2] == _GZIP:
        unpacked = gzip.GzipFile(fileobj=stream)
        stream = io.BufferedReader(_Unpacked(name, unpacked, raw) if whole else unpacked, _BUFFER)
    if stream.peek(3)[:3] == _BOM:
        stream.read(3)
    if not stream.peek(1):
        raise InvalidInput(f"{name} is empty", expected=expected)
    return stream, gzipped


@contextmanager
def readable(name: str, raw: Raw) -> Iterator[None]:
    """What goes wrong below while bytes are read, as `InvalidInput` saying where."""
    try:
        yield
    except (EOFError, zlib.error, BadZipFile, OSError, pa.ArrowException) as error:
        raise InvalidInput(
            f"{name} is damaged or cannot be read, about byte {raw.count:,}", given=str(error)
        ) from error


def spooled(stream: IO[bytes], resources: ExitStack) -> IO[bytes]:
    """A seekable temporary copy. Raises `StoreError` if there is no room for it."""
    with _room():
        copy = resources.enter_context(tempfile.TemporaryFile(buffering=0))  # noqa: SIM115 - `resources` closes it
    while data := stream.read(_BUFFER):
        with _room():
            _write(copy, data)
    copy.seek(0)
    return copy


def _write(file: IO[bytes], data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]


@contextmanager
def _room() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            "cannot write a temporary copy of the input",
            given=error.strerror,
            hint="free some space in the temporary folder, or set TMPDIR to another one",
        ) from error
