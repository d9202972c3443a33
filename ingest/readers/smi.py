"""SMILES files: one structure a line, with its extension if it has one, then white space and an optional name."""

from collections.abc import Iterable, Iterator

from graphkin.ingest.readers.lines import Line
from graphkin.ingest.readers.records import Record, faulted
from graphkin.similarity.molecules.extension import split_smiles

_BARE_RETURN = "contains a carriage return that does not end the line"


def read_smi(lines: Iterable[Line]) -> Iterator[Record]:
    """Every line is a record, a blank one too, but for a first line whose first field is "smiles" in any case.

    A line that starts with white space has an empty SMILES. What begins with a pipe after the SMILES is its extension
    (CXSMILES) up to the next pipe, and belongs to the structure; if there is none, all of the line does. The name is
    the rest of the line, without the white space around it.
    """
    for number, line, fault in lines:
        text = line.rstrip("\r\n")
        if fault is None and "\r" in text:
            fault = _BARE_RETURN  # old Macintosh line ends: the next molecules must not pass for a name
        if fault is not None:
            yield faulted(number, text, fault)
            continue
        smiles, extension, name = split_smiles(text) if text and not text[0].isspace() else ("", "", text.strip())
        if number == 1 and smiles.lower() == "smiles":
            continue
        yield number, f"{smiles} {extension}".strip(), name or None, (), (), None
