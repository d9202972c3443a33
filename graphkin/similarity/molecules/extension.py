"""CXSMILES extensions, `|field,field|`, and the fields that an item can represent."""

import re

from graphkin.similarity.describer import Rejected

_ATOMS = r"\d+(?:,\d+)*"
_KEPT = re.compile(
    rf"(?P<group>[&o]\d+:(?P<atoms>{_ATOMS}))"
    rf"|a:{_ATOMS}"
    rf"|\^[1-7]:{_ATOMS}"  # radicals
    rf"|(?:ctu|c|t):{_ATOMS}"  # double bonds
    r"|(?:C|w|wU|wD):\d+\.\d+(?:,\d+\.\d+)*"  # coordinate bonds; wavy bonds and wedges
    r"|\([^()|]*\)"  # coordinates
    r"|\$;*\$|\$_AV:[^$|]*\$"  # no labels; values of atoms
    r"|atomProp(?::\d+\.[^.:,|]+\.[^:,|]*)+"
    r"|lp:\d+:\d+(?:,\d+:\d+)*"  # lone pairs
    rf"|SgD:(?:{_ATOMS})?(?::(?:\([^()|]*\)|[^:,|]*))*"  # data
)
_REFUSED = {
    "$": "labels of atoms",
    "Sg:": "polymers and other groups of atoms",
    "SgH:": "groups of atoms",
    "LN:": "link nodes",
    "m:": "attachment at several atoms",
    "H:": "hydrogen bonds",
    "Z:": "bonds of order zero",
    "rb:": "query features",
    "s:": "query features",
    "u:": "query features",
    "LO:": "the order of ligands",
    "RG:": "R-group definitions",
    "f:": "which fragments belong together",
    "r": "relative stereo of the whole molecule",
}
_SHOWN = 40


def grouped_atoms(extension: str) -> int:
    """Return the number of atoms in the extension's "and" (&) and "or" (o) stereo groups.

    Raises:
        Rejected: The extension has a field that an item cannot represent, or that is not CXSMILES. RDKit would skip
            such a field.
    """
    if len(extension) < len("||") or not extension.endswith("|"):
        raise Rejected("the extension of the SMILES is never closed")
    grouped, at, end = 0, 1, len(extension) - 1
    while at < end:
        field = _KEPT.match(extension, at, end)
        if field is None or extension[field.end()] not in ",|":
            raise Rejected(_refusal(extension[at:end]))
        if field["group"]:
            grouped += field["atoms"].count(",") + 1
        at = field.end() + 1
    return grouped


def _refusal(rest: str) -> str:
    refused = next((words for prefix, words in _REFUSED.items() if rest.startswith(prefix)), None)
    shown = rest[:_SHOWN] + ("…" if len(rest) > _SHOWN else "")
    return f"its extension says more than is kept ({refused}): {shown}" if refused else f"no CXSMILES: {shown}"


def split_smiles(text: str) -> tuple[str, str, str]:
    """Split a text into the SMILES, its extension with both pipes, and the rest, without surrounding white space.

    A missing part is an empty string. If the extension is not closed, it contains the whole rest.
    """
    smiles, *rest = text.split(None, 1)
    after = rest[0].strip() if rest else ""
    end = (after.find("|", 1) + 1 or len(after)) if after.startswith("|") else 0
    return smiles, after[:end], after[end:].lstrip()
