"""Streams of the stored bytes of a source, which are counted, hashed and decompressed while they are read."""

import codecs
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
# Compressed files are recognized by their first bytes. In bzip2, these include the header of a block or of the end.
_GZIP, _XZ, _ZSTD = b"\x1f\x8b", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"
_BZIP2 = tuple(b"BZh%d%b" % (level, block) for level in range(1, 10) for block in (b"1AY&SY", b"\x17rE8P\x90"))
_MAX_SIGNATURE = 10  # bytes
_XZ_MEMORY = 2**28  # maximum memory of the decompressor, in bytes; files by xz -9 need 65 million
_BOM = b"\xef\xbb\xbf"
_ALWAYS_ALLOWED = 10_000_000  # decompressed bytes that are allowed at any ratio
_MAX_RATIO = 50  # maximum ratio of decompressed to compressed size

COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
"""Extensions of compressed files. The first bytes of a file, not its name, decide how it is decompressed."""


class Content(Protocol):
    """The stored bytes of a source, or the data in memory that takes their place.

    Attributes:
        count: Number of bytes read so far.
    """

    @property
    def count(self) -> int: ...
    def read_to(self, position: int | None) -> None: ...
    def digest(self, name: str) -> Input: ...


class Raw(io.RawIOBase):
    """Stream that counts and hashes the bytes read from a file. Closing it leaves the file open.

    Attributes:
        count: Number of bytes read so far.
    """

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
        """Read, hash and discard bytes until `count` reaches `position`, or to the end if `position` is None."""
        buffer = bytearray(_BUFFER)
        while (position is None or self.count < position) and self.readinto(buffer):
            pass

    def digest(self, name: str) -> Input:
        """Return the size and SHA-256 of the bytes read so far, under the name of the file."""
        return Input(name=name, bytes=self.count, sha256=self._hash.hexdigest())


class _FunctionStream(io.RawIOBase):
    """Stream whose bytes come from a function.

    Args:
        read: Returns at most as many bytes as its argument says. It returns no bytes only at the end.
        progress: Called after each read with the number of bytes read so far.
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


class _MultiMemberDecompressor:
    """Decompresses a file that consists of several compressed members, each of which zeros may follow.

    The standard library's `bz2.BZ2File` and `lzma.LZMAFile` ignore other bytes after a member, and cannot limit the
    memory of the decompressor.

    Args:
        stream: The compressed bytes.
        new_decompressor: Returns a decompressor for one member.
    """

    def __init__(self, stream: IO[bytes], new_decompressor: Callable[[], _Decompressor]) -> None:
        self._stream, self._new_decompressor = stream, new_decompressor
        self._decompressor = new_decompressor()

    def read(self, size: int) -> bytes:
        """Return at most `size` decompressed bytes. No bytes are returned only at the end.

        Raises:
            EOFError: The stream is truncated.
        """
        data = b""
        while not data:
            chunk = b""
            if self._decompressor.eof:
                chunk = self._next_member(self._decompressor.unused_data)
                if not chunk:
                    return b""
                self._decompressor = self._new_decompressor()
            elif self._decompressor.needs_input and not (chunk := self._stream.read(_BUFFER)):
                raise EOFError("it ends before its end is marked")
            data = self._decompressor.decompress(chunk, size)
        return data

    def _next_member(self, unread: bytes) -> bytes:
        """Skip zeros, and return the first bytes of the next member, or b"" at the end.

        Args:
            unread: Bytes that were read after the last member.
        """
        while not (first_bytes := unread.lstrip(b"\0")) and (unread := self._stream.read(_BUFFER)):
            pass
        return first_bytes


def require_proportion(name: str, unpacked: int, packed: int) -> None:
    """Check that content that must be held in memory is not far larger than its compressed size.

    Otherwise a small file that was made to unpack to a huge one could fill the memory.

    Args:
        name: Name of the file, for the message.
        unpacked: Decompressed size in bytes, or the number of bytes decompressed so far.
        packed: Compressed size in bytes.

    Raises:
        InvalidInput: The content is too large.
    """
    if unpacked > max(_ALWAYS_ALLOWED, _MAX_RATIO * packed):
        raise InvalidInput(
            f"{name} unpacks to more than {_MAX_RATIO:g} times its size",
            given=f"{packed:,} bytes packed",
            expected=f"at most {_ALWAYS_ALLOWED:,} bytes unpacked, or {_MAX_RATIO} times its size",
            hint="if the file is sound, unpack it first",
        )


def open_decompressed(name: str, raw: Raw, expected: str, *, whole: bool = False) -> tuple[IO[bytes], bool]:
    """Return a stream of the decompressed content of a file, and whether the file is compressed.

    gzip, bzip2, xz and Zstandard are recognized by their first bytes. A byte order mark is skipped.

    Args:
        name: Name of the file, for errors.
        raw: The stored bytes of the file.
        expected: Phrase that names the content, such as "at least one record", for errors.
        whole: Whether the caller will hold all content in memory. The stream then checks it as `require_proportion`.

    Raises:
        InvalidInput: The file is empty.
    """
    stream: io.BufferedReader[Any] = io.BufferedReader(raw, _BUFFER)
    if (read := _decompressed_reader(stream)) is not None:
        check_ratio = (lambda count: require_proportion(name, count, raw.count)) if whole else None
        stream = io.BufferedReader(_FunctionStream(read, check_ratio), _BUFFER)
    if stream.peek(3)[:3] == _BOM:
        stream.read(3)
    if not stream.peek(1):
        raise InvalidInput(
            f"{name} is empty", expected=expected, hint="check the path and the program that wrote the file"
        )
    return stream, read is not None


def _decompressed_reader(stream: "io.BufferedReader[Any]") -> Callable[[int], bytes] | None:
    """Return the `read` function of a decompressor for the stream, or None if the stream is not compressed."""
    signature = stream.peek(_MAX_SIGNATURE)
    if signature.startswith(_GZIP):
        return gzip.GzipFile(fileobj=stream).read
    if signature.startswith(_BZIP2):
        return _MultiMemberDecompressor(stream, BZ2Decompressor).read
    if signature.startswith(_XZ):
        return _MultiMemberDecompressor(stream, lambda: LZMADecompressor(FORMAT_XZ, memlimit=_XZ_MEMORY)).read
    if signature.startswith(_ZSTD):
        return pa.CompressedInputStream(stream, "zstd").read
    return None


def as_utf8(name: str, stream: IO[bytes], encoding: str) -> IO[bytes]:
    """Return a stream of UTF-8 with the text of a stream in another encoding.

    Args:
        name: Name of the file, for errors.
        stream: The text.
        encoding: Its encoding, as Python names it, such as "cp1252" or "utf-16".

    Raises:
        InvalidInput: There is no such encoding. While the stream is read: its bytes are not text in this encoding.
    """
    try:
        "".encode(encoding)  # refuses codecs that are no text encodings, such as "hex"
        decoder = codecs.getincrementaldecoder(encoding)()
    except (LookupError, ValueError) as error:
        raise InvalidInput(
            f"there is no encoding {encoding!r}",
            given=encoding,
            expected="a text encoding of Python, such as utf-8, utf-16, cp1252 or latin-1",
            hint="correct the name of the encoding, or leave it out for UTF-8",
        ) from error

    def read(size: int) -> bytes:
        text = b""
        while not text and (data := stream.read(max(size // 4, 1))):  # a character has at most 4 bytes in UTF-8
            text = recode(data, final=False)
        return text or recode(b"", final=True)

    def recode(data: bytes, *, final: bool) -> bytes:
        try:
            return decoder.decode(data, final).encode()
        except UnicodeError as error:
            raise InvalidInput(
                f"{name} is not text in the encoding {encoding}",
                given=str(error)[:200],
                expected=f"text in the encoding {encoding}",
                hint="name the encoding in which the program wrote the file",
            ) from error

    return io.BufferedReader(_FunctionStream(read), _BUFFER)


@contextmanager
def translate_read_errors(name: str, raw: Content) -> Iterator[None]:
    """Translate errors of reading and decompression into `InvalidInput` with the approximate byte position."""
    try:
        yield
    except MemoryError:  # Arrow's is an `ArrowException` too.
        raise
    except (EOFError, zlib.error, LZMAError, BadZipFile, OSError, pa.ArrowException) as error:
        raise InvalidInput(
            f"{name} is damaged or cannot be read, near byte {raw.count:,}",
            given=str(error)[:200],
            expected="an undamaged file",
            hint="copy the file again; if it is compressed, test it with the program that packed it",
        ) from error


def spool_to_disk(stream: IO[bytes], resources: ExitStack) -> IO[bytes]:
    """Copy a stream to a temporary file and return that file, at its start.

    Args:
        stream: The stream to copy, to its end.
        resources: Closes, and thereby deletes, the temporary file.

    Raises:
        StoreError: The file cannot be written, for example because the disk is full.
    """
    with _translate_write_errors():
        copy = resources.enter_context(tempfile.TemporaryFile(buffering=0))  # noqa: SIM115 - `resources` closes it
    while data := stream.read(_BUFFER):
        with _translate_write_errors():
            _write(copy, data)
    copy.seek(0)
    return copy


def _write(file: IO[bytes], data: bytes) -> None:
    """Write all of the data. One call of an unbuffered file may write only part of it."""
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]


@contextmanager
def _translate_write_errors() -> Iterator[None]:
    """Translate errors of writing the temporary copy into `StoreError`."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            "cannot write a temporary copy of the input",
            given=error.strerror,
            expected="a temporary folder with free space",
            hint="free space in the temporary folder, or set TMPDIR to another folder",
        ) from error
