"""A structure of 1 kB whose canonical SMILES takes RDKit seconds."""


def fused(atoms: int) -> str:
    """Return the SMILES of fused rings. RDKit parses it at once, but its canonical SMILES takes seconds."""
    free_marks, text = list(range(1, 100)), ""
    open_marks: dict[int, int] = {}
    for number in range(atoms):
        marks = []
        if number >= 3:
            marks.append(open_marks.pop(number - 3))
            free_marks.insert(0, marks[0])
        if number < atoms - 3:
            open_marks[number] = free_marks.pop(0)
            marks.append(open_marks[number])
        text += "C" + "".join(str(mark) if mark < 10 else f"%{mark}" for mark in marks)
    return text
