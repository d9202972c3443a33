"""What the fingerprints of files are, told before they are read."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing

from graphkin.ingest.readers.formats import EXTENSIONS, open_source, told
from graphkin.ingest.readers.fps import Header, read_header
from graphkin.ingest.readers.lines import read_lines
from graphkin.ingest.readers.raw import inflate, readable
from graphkin.ingest.readers.source import STDIN, ReadOptions, opened
from graphkin.protocol.errors import InvalidInput
from graphkin.store.records import FingerprintType


def fingerprint_type(files: Sequence[str], writings: Mapping[str, str], options: ReadOptions) -> FingerprintType:
    """How many bits the fingerprints of all these files have, and of which type they are: as the header of FPS says,
    else as the first record shows. Types that are not told are "".

    Raises `InvalidInput` for files that differ, for one that does not tell, and as `open_source` does.
    """
    found = {file: _told(file, writings, options) for file in files}
    types = {header.type for header in found.values() if header.type}
    widths = {header.bits for header in found.values()}
    if len(widths) > 1 or len(types) > 1:
        raise InvalidInput(
            "these files hold different fingerprints",
            given="; ".join(f"{file}: {header.bits} bits {header.type}".strip() for file, header in found.items()),
            expected="one number of bits and one type",
        )
    (bits,) = widths
    if bits is None:
        raise InvalidInput("the first record does not show how many bits there are", given=files[0], hint="add --bits")
    return FingerprintType(bits, next(iter(types), ""))


def _told(path: str, writings: Mapping[str, str], options: ReadOptions) -> Header:
    if path == STDIN:
        raise InvalidInput("standard input does not tell how many bits there are", hint="add --bits")
    header = Header()
    if told(path, options.format, writings, EXTENSIONS) == "fps":
        with ExitStack() as resources:
            raw, _ = opened(path, None, resources)
            with readable(path, raw):
                header, _ = read_header(path, read_lines(inflate(path, raw, "at least one record")[0]))
    if header.bits is not None:
        return header
    with closing(open_source(path, writings, options)) as source:
        first = next((text for batch in source for text in batch["text"].to_pylist()), "")
    return Header(4 * len(first) or None, header.type)
