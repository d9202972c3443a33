"""The length of the fingerprints or vectors in files, which the recipe needs before the files are read."""

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing

from graphkin.ingest.readers.formats import EXTENSIONS, choose_format, open_source
from graphkin.ingest.readers.fps import Header, read_header
from graphkin.ingest.readers.lines import read_lines
from graphkin.ingest.readers.memory import Input, input_name
from graphkin.ingest.readers.raw import open_decompressed, translate_read_errors
from graphkin.ingest.readers.source import STDIN, ReadOptions, open_raw
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.parameters import parameter
from graphkin.store.records import FingerprintType


def _hint() -> str:
    return f"add {parameter('--bits')} for fingerprints, or {parameter('--dimension')} for vectors"


def fingerprint_type(files: Sequence[Input], notations: Mapping[str, str], options: ReadOptions) -> FingerprintType:
    """Return the number of bits and the type of the fingerprints in some files.

    The header of an FPS file states them. In other files, the first record shows the number of bits, and the type is
    "".

    Raises:
        InvalidInput: The files differ, a file does not show its number of bits, or `open_source` raises it.
    """
    headers = [_header_or_first_record(file, notations, options) for file in files]
    types = {header.type for header in headers if header.type}
    widths = {header.bits for header in headers}
    if len(widths) > 1 or len(types) > 1:
        raise InvalidInput(
            "the files hold different types of fingerprints",
            given="; ".join(
                f"{input_name(file)}: {header.bits} bits {header.type}".strip()
                for file, header in zip(files, headers, strict=True)
            ),
            expected="one number of bits and one type in all files",
            hint="ingest each type into a collection of its own",
        )
    (bits,) = widths
    if bits is None:
        raise InvalidInput(
            "the first record does not show the number of bits",
            given=input_name(files[0]),
            expected=f"a fingerprint in the first record, or {parameter('--bits')}",
            hint=_hint(),
        )
    return FingerprintType(bits, next(iter(types), ""))


def vector_dimension(files: Sequence[Input], notations: Mapping[str, str], options: ReadOptions) -> int:
    """Return the number of components of the vectors in some files, which the first record of each file shows.

    Raises:
        InvalidInput: As `fingerprint_type` raises it.
    """
    lengths = [_component_count(_first_text(file, notations, options)) for file in files]
    (length, *others) = sorted(set(lengths))
    if others or not length:
        raise InvalidInput(
            "the files do not have vectors of one length",
            given="; ".join(f"{input_name(file)}: {length}" for file, length in zip(files, lengths, strict=True)),
            expected="vectors of one length",
            hint="ingest vectors of each length into a collection of its own; "
            f"{parameter('--dimension')} sets the length",
        )
    return length


def _component_count(text: str) -> int:
    try:
        content = json.loads(text)
    except ValueError:
        return 0
    return len(content) if isinstance(content, list) else 0


def _first_text(path: Input, notations: Mapping[str, str], options: ReadOptions) -> str:
    """Return the text of the first record, or "" if there is no record."""
    if path == STDIN:
        raise InvalidInput(
            "standard input does not show the length of fingerprints or vectors",
            given=path,
            expected="the length",
            hint=_hint(),
        )
    with closing(open_source(path, notations, options)) as source:
        return next((text for batch in source for text in batch["text"].to_pylist()), "")


def require_type(files: Sequence[Input], type: str, notations: Mapping[str, str], options: ReadOptions) -> None:
    """Check that no header of a file states another fingerprint type.

    Args:
        files: Paths of the files.
        type: The required type; "" accepts all types.
        notations: Accepted formats, each with the notation of its records.
        options: Options for reading the files.

    Raises:
        InvalidInput: A header states another type.
    """
    for file in files:
        header = _header(file, notations, options)
        if type and header.type and header.type != type:
            raise InvalidInput(
                f"{input_name(file)} holds another type of fingerprints than the collection",
                given=header.type,
                expected=type,
                hint="ingest this file into a collection of its own",
            )


def _header(path: Input, notations: Mapping[str, str], options: ReadOptions) -> Header:
    """Return the header of an FPS file, or an empty header for other inputs."""
    if not isinstance(path, str) or path == STDIN:
        return Header()
    if choose_format(path, options.format, notations, EXTENSIONS) != "fps":
        return Header()
    with ExitStack() as resources:
        raw, _ = open_raw(path, None, resources)
        with translate_read_errors(path, raw):
            return read_header(path, read_lines(path, open_decompressed(path, raw, "at least one record")[0]))[0]


def _header_or_first_record(path: Input, notations: Mapping[str, str], options: ReadOptions) -> Header:
    header = _header(path, notations, options)
    if header.bits is not None:
        return header
    return Header(4 * len(_first_text(path, notations, options)) or None, header.type)
