"""SMILES files: one structure per line, an optional extension, then white space and an optional name."""

from collections.abc import Iterable, Iterator

from graphkin.ingest.readers.lines import Line
from graphkin.ingest.readers.records import Record, faulty_record
from graphkin.similarity.molecules.extension import split_smiles

_BARE_RETURN = "contains a carriage return that does not end the line"


def read_smi(lines: Iterable[Line]) -> Iterator[Record]:
    """Yield every line as a record, including blank ones, except a first line that starts with "smiles" in any case.

    A line that starts with white space has an empty SMILES. Text that begins with a pipe after the SMILES is its
    CXSMILES extension up to the next pipe, or up to the end of the line, and belongs to the structure. The name is the
    rest of the line without surrounding white space.
    """
    for number, line, fault in lines:
        text = line.rstrip("\r\n")
        if fault is None and "\r" in text:
            fault = _BARE_RETURN  # old Macintosh line ends would turn the next molecules into a name
        if fault is not None:
            yield faulty_record(number, text, fault)
            continue
        smiles, extension, name = split_smiles(text) if text and not text[0].isspace() else ("", "", text.strip())
        if number == 1 and smiles.lower() == "smiles":
            continue
        yield number, f"{smiles} {extension}".strip(), name or None, (), (), None
