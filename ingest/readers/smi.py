"""SMILES files: one structure a line, then white space and an optional name."""

from collections.abc import Iterable, Iterator

from ingest.readers.lines import Line
from ingest.readers.records import Record, faulted

_BARE_RETURN = "contains a carriage return that does not end the line"


def read_smi(lines: Iterable[Line]) -> Iterator[Record]:
    """Every line is a record, a blank one too, but for a first line whose first field is "smiles" in any case.

    A line that starts with white space has an empty SMILES. The name is the rest of the line, without the white space
    around it.
    """
    for number, line, fault in lines:
        text = line.rstrip("\r\n")
        if fault is None and "\r" in text:
            fault = _BARE_RETURN  # old Macintosh line ends: the next molecules must not pass for a name
        if fault is not None:
            yield faulted(number, text, fault)
            continue
        fields = text.split(None, 1)
        smiles = fields[0] if fields and not text[0].isspace() else ""
        if number == 1 and smiles.lower() == "smiles":
            continue
        name = text[len(smiles) :].strip()
        yield number, smiles, name or None, (), (), None
