"""Raw bytes of a source: counted, hashed and decompressed while they are read."""

import gzip
import hashlib
import io
import tempfile
import zlib
from bz2 import BZ2Decompressor
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from lzma import FORMAT_XZ, LZMADecompressor, LZMAError
from typing import IO, Any, Protocol
from zipfile import BadZipFile

import pyarrow as pa

from graphkin.protocol.errors import InvalidInput, StoreError
from graphkin.protocol.manifest import Input

_BUFFER = 1 << 18
_GZIP, _XZ, _ZSTD = b"\x1f\x8b", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"
_BZIP2 = tuple(b"BZh%d%b" % (level, block) for level in range(1, 10) for block in (b"1AY&SY", b"\x17rE8P\x90"))
_LONGEST_MARK = 10
_XZ_MEMORY = 2**28  # bytes that a file may require; xz -9 requires 65 million
_BOM = b"\xef\xbb\xbf"
_ALWAYS_UNPACKED = 10_000_000  # bytes
_MOST_UNPACKED = 50  # times the compressed size

COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
"""Extensions of compressed files. The first bytes of a file, not its name, decide how it is decompressed."""


class Raw(io.RawIOBase):
    """Stream that counts and hashes the bytes that pass through it. Closing it leaves the underlying file open."""

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
        """Continue reading, for the hash, until `count` reaches `position` (None means the end)."""
        buffer = bytearray(_BUFFER)
        while (position is None or self.count < position) and self.readinto(buffer):
            pass

    def digest(self, name: str) -> Input:
        """Return the size and SHA-256 of the bytes read so far."""
        return Input(name=name, bytes=self.count, sha256=self._hash.hexdigest())


class _Reading(io.RawIOBase):
    """Raw stream over a function `read`, which returns at most `size` bytes and none at the end.

    `progress` is called with the number of bytes read so far.
    """

    def __init__(self, read: Callable[[int], bytes], progress: Callable[[int], None] | None = None) -> None:
        self._read, self._progress = read, progress
        self._count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._read(len(buffer))
        buffer[: len(data)] = data
        self._count += len(data)
        if self._progress is not None:
            self._progress(self._count)
        return len(data)


class _Decompressor(Protocol):
    """Interface of the standard library's incremental decompressors."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Members:
    """Decompressor of several concatenated compressed files, each optionally followed by zeros.

    The standard library's readers ignore other trailing bytes, and do not limit memory.
    """

    def __init__(self, stream: IO[bytes], decompressor: Callable[[], _Decompressor]) -> None:
        self._stream, self._new = stream, decompressor
        self._decompressor = decompressor()

    def read(self, size: int) -> bytes:
        """Return at most `size` bytes, none at the end.

        Raises:
            EOFError: the stream is truncated.
        """
        data = b""
        while not data:
            chunk = b""
            if self._decompressor.eof:
                chunk = self._next_member(self._decompressor.unused_data)
                if not chunk:
                    return b""
                self._decompressor = self._new()
            elif self._decompressor.needs_input and not (chunk := self._stream.read(_BUFFER)):
                raise EOFError("it ends before its end is marked")
            data = self._decompressor.decompress(chunk, size)
        return data

    def _next_member(self, rest: bytes) -> bytes:
        while not (start := rest.lstrip(b"\0")) and (rest := self._stream.read(_BUFFER)):
            pass
        return start


def require_proportion(name: str, unpacked: int, packed: int) -> None:
    """Raise `InvalidInput` for content that must be held in memory but is far larger than its compressed size."""
    if unpacked > max(_ALWAYS_UNPACKED, _MOST_UNPACKED * packed):
        raise InvalidInput(
            f"{name} unpacks to more than {_MOST_UNPACKED} times its size",
            given=f"{packed:,} bytes",
            expected=f"at most {_ALWAYS_UNPACKED:,} bytes unpacked, or {_MOST_UNPACKED} times its size",
            hint="if it is sound, unpack it first",
        )


def open_decompressed(name: str, raw: Raw, expected: str, *, whole: bool = False) -> tuple[IO[bytes], bool]:
    """Return the content of a file, and whether it is compressed.

    The first bytes decide whether it is gzip, bzip2, xz or Zstandard. A byte order mark is skipped.

    Args:
        name: name of the file, for errors.
        raw: the stored bytes.
        expected: expected content, for errors.
        whole: the content will be held in memory, so reading raises as `require_proportion` does.

    Raises:
        InvalidInput: the file is empty.
    """
    stream: io.BufferedReader[Any] = io.BufferedReader(raw, _BUFFER)
    if (read := _unpacking(stream)) is not None:
        check = (lambda count: require_proportion(name, count, raw.count)) if whole else None
        stream = io.BufferedReader(_Reading(read, check), _BUFFER)
    if stream.peek(3)[:3] == _BOM:
        stream.read(3)
    if not stream.peek(1):
        raise InvalidInput(f"{name} is empty", expected=expected)
    return stream, read is not None


def _unpacking(stream: "io.BufferedReader[Any]") -> Callable[[int], bytes] | None:
    """Return a function that reads the content of a compressed stream, None if the stream is not compressed."""
    mark = stream.peek(_LONGEST_MARK)
    if mark.startswith(_GZIP):
        return gzip.GzipFile(fileobj=stream).read
    if mark.startswith(_BZIP2):
        return _Members(stream, BZ2Decompressor).read
    if mark.startswith(_XZ):
        return _Members(stream, lambda: LZMADecompressor(FORMAT_XZ, memlimit=_XZ_MEMORY)).read
    if mark.startswith(_ZSTD):
        return pa.CompressedInputStream(stream, "zstd").read
    return None


@contextmanager
def translate_read_errors(name: str, raw: Raw) -> Iterator[None]:
    """Translate errors of reading and decompression in the block into `InvalidInput` with the byte position."""
    try:
        yield
    except (EOFError, zlib.error, LZMAError, BadZipFile, OSError, pa.ArrowException) as error:
        raise InvalidInput(
            f"{name} is damaged or cannot be read, about byte {raw.count:,}", given=str(error)
        ) from error


def spool_to_disk(stream: IO[bytes], resources: ExitStack) -> IO[bytes]:
    """Return a seekable temporary copy.

    Raises:
        StoreError: there is no space for it.
    """
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
