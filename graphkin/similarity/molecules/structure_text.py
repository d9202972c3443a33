"""Texts of structures, and checks for content that RDKit would skip without an error."""

import re
from typing import Literal, NamedTuple, Self

from rdkit import Chem

from graphkin.similarity.describer import Rejected
from graphkin.similarity.molecules import extension

Notation = Literal["smiles", "molblock", "inchi"]

_STEREO_GROUP = re.compile(r"MDLV30/STE(?:RAC|REL)\d*\s+ATOMS=\((\d+)")


class UnreadableStructure(Exception):
    """RDKit cannot read a structure. The reason is in its log messages."""


class StructureText(NamedTuple):
    """The text of a structure in the form that RDKit reads.

    Attributes:
        text: The text to parse.
        notation: Notation of the text.
        may_have_unsupported_features: Whether the notation can express features that an item cannot represent.
        grouped_atom_count: Number of atoms that the text puts into stereo groups of type "and" or "or".
    """

    text: str
    notation: Notation
    may_have_unsupported_features: bool
    grouped_atom_count: int

    @classmethod
    def from_text(cls, text: str, notation: Notation) -> Self:
        """Check a text and return it in the form that RDKit reads.

        Raises:
            Rejected: The text has content that RDKit would skip, or that an item cannot represent.
        """
        match notation:
            case "molblock":
                return cls(text, notation, True, sum(map(int, _STEREO_GROUP.findall(text))))
            case "inchi":
                return cls(_require_ascii(text.strip(), notation), notation, False, 0)
            case "smiles":
                smiles, fields, rest = extension.split_smiles(text)
                if rest:
                    raise Rejected(f"white space inside the SMILES{' and its extension' if fields else ''}")
                if "~" in smiles:
                    raise Rejected("~ is a query, not a bond")
                content = _require_ascii(f"{smiles} {fields}" if fields else smiles, notation)
                return cls(content, notation, bool(fields), extension.count_grouped_atoms(fields) if fields else 0)

    def molecule(self) -> Chem.Mol:
        """Parse the text.

        Raises:
            UnreadableStructure: RDKit cannot read it.
        """
        match self.notation:
            case "smiles":
                molecule = Chem.MolFromSmiles(self.text)
            case "molblock":
                molecule = Chem.MolFromMolBlock(self.text)
            case "inchi":
                molecule = Chem.MolFromInchi(self.text)  # type: ignore[no-untyped-call]
        if molecule is None:
            raise UnreadableStructure
        return molecule


def _require_ascii(text: str, notation: Notation) -> str:
    """Return `text` unchanged if it is ASCII.

    RDKit would strip other characters from both ends, and read what is left.

    Raises:
        Rejected: The text has characters that are not ASCII.
    """
    if not text.isascii():
        other = next(character for character in text if not character.isascii())
        raise Rejected(f"holds U+{ord(other):04X}, which no {notation} does")
    return text
