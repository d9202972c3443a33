"""SMILES files: on each line a SMILES, an optional CXSMILES extension, and an optional name."""

from collections.abc import Iterable, Iterator

from graphkin.ingest.readers.lines import Line
from graphkin.ingest.readers.records import Record, faulty_record
from graphkin.similarity.molecules.extension import split_smiles

_BARE_RETURN = "contains a carriage return that does not end the line"


def read_smi(lines: Iterable[Line]) -> Iterator[Record]:
    """Yield one record per line, also for blank lines.

    The parts of a line are separated by white space. A pipe after the SMILES starts the CXSMILES extension, which ends
    at the next pipe, or at the end of the line. The remaining text is the name. If a line starts with white space, its
    SMILES is empty, and the whole line is the name.

    If the first word of the first line is "smiles", in any case, the line is a header and is skipped.
    """
    for number, line, fault in lines:
        text = line.rstrip("\r\n")
        if fault is None and "\r" in text:
            fault = _BARE_RETURN  # the file may end lines with \r alone, so the name would contain the next molecules
        if fault is not None:
            yield faulty_record(number, text, fault)
            continue
        smiles, extension, name = split_smiles(text) if text and not text[0].isspace() else ("", "", text.strip())
        if number == 1 and smiles.lower() == "smiles":
            continue
        yield number, f"{smiles} {extension}".strip(), name or None, (), (), None
