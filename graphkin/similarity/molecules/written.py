"""Structures as they are written: what RDKit is given to read, and what it must not skip while it does."""

import re
from typing import Literal, NamedTuple, Self

from rdkit import Chem

from graphkin.similarity.describer import Rejected
from graphkin.similarity.molecules import extension

Writing = Literal["smiles", "molblock", "inchi"]

_STEREO_GROUP = re.compile(r"MDLV30/STE(?:RAC|REL)\d*\s+ATOMS=\((\d+)")


class Unreadable(Exception):
    """RDKit has said why."""


class Written(NamedTuple):
    """A structure as it is written. `may_say_more`: its format has words for what no item is; `grouped_atoms`: how many
    it puts into groups of racemates and relative configurations."""

    text: str
    writing: Writing
    may_say_more: bool
    grouped_atoms: int

    @classmethod
    def of(cls, text: str, writing: Writing) -> Self:
        """Raises `Rejected`."""
        match writing:
            case "molblock":
                return cls(text, writing, True, sum(map(int, _STEREO_GROUP.findall(text))))
            case "inchi":
                return cls(_ascii(text.strip(), writing), writing, False, 0)
            case "smiles":
                smiles, given, after = extension.split_smiles(text)
                if after:
                    raise Rejected(f"white space inside the SMILES{' and its extension' if given else ''}")
                if "~" in smiles:
                    raise Rejected("~ is a query, not a bond")
                joined = _ascii(f"{smiles} {given}" if given else smiles, writing)
                return cls(joined, writing, bool(given), extension.grouped_atoms(given) if given else 0)

    def molecule(self) -> Chem.Mol:
        """Raises `Unreadable`."""
        match self.writing:
            case "smiles":
                molecule = Chem.MolFromSmiles(self.text)
            case "molblock":
                molecule = Chem.MolFromMolBlock(self.text)
            case "inchi":
                molecule = Chem.MolFromInchi(self.text)  # type: ignore[no-untyped-call]
        if molecule is None:
            raise Unreadable
        return molecule


def _ascii(text: str, writing: Writing) -> str:
    """RDKit strips other characters from both ends, and reads what is left."""
    if not text.isascii():
        other = next(character for character in text if not character.isascii())
        raise Rejected(f"holds U+{ord(other):04X}, which no {writing} does")
    return text
