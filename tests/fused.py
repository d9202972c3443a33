"""A structure of 1 kB that takes seconds."""


def fused(atoms: int) -> str:
    """Rings upon rings: RDKit parses it in no time and looks for its canonical SMILES for seconds."""
    free, text = list(range(1, 100)), ""
    opened: dict[int, int] = {}
    for number in range(atoms):
        marks = []
        if number >= 3:
            marks.append(opened.pop(number - 3))
            free.insert(0, marks[0])
        if number < atoms - 3:
            opened[number] = free.pop(0)
            marks.append(opened[number])
        text += "C" + "".join(str(mark) if mark < 10 else f"%{mark}" for mark in marks)
    return text
