"""CXSMILES extensions, `|field,field|`, which follow a SMILES and describe more of the molecule."""

import re

from graphkin.similarity.describer import Rejected

_ATOMS = r"\d+(?:,\d+)*"
_SUPPORTED = re.compile(
    rf"(?P<group>[&o]\d+:(?P<atoms>{_ATOMS}))"
    rf"|a:{_ATOMS}"
    rf"|\^[1-7]:{_ATOMS}"  # radicals
    rf"|(?:ctu|c|t):{_ATOMS}"  # double bonds
    r"|(?:C|w|wU|wD):\d+\.\d+(?:,\d+\.\d+)*"  # coordinate bonds; wavy bonds and wedges
    r"|\([^()|]*\)"  # coordinates
    r"|\$;*\$|\$_AV:[^$|]*\$"  # empty labels of atoms; values of atoms
    r"|atomProp(?::\d+\.[^.:,|]+\.[^:,|]*)+"
    r"|lp:\d+:\d+(?:,\d+:\d+)*"  # lone pairs
    rf"|SgD:(?:{_ATOMS})?(?::(?:\([^()|]*\)|[^:,|]*))*"  # data
)
_UNSUPPORTED = {
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
_EXCERPT = 40


def count_grouped_atoms(extension: str) -> int:
    """Check an extension, and return the number of atoms in its stereo groups of type "and" (&) and "or" (o).

    Raises:
        Rejected: The extension has a field that an item cannot represent or that is not CXSMILES. RDKit would skip the
            field.
    """
    if len(extension) < len("||") or not extension.endswith("|"):
        raise Rejected("the extension of the SMILES is never closed")
    count, start, end = 0, 1, len(extension) - 1
    while start < end:
        field = _SUPPORTED.match(extension, start, end)
        if field is None or extension[field.end()] not in ",|":
            raise Rejected(_rejection_reason(extension[start:end]))
        if field["group"]:
            count += field["atoms"].count(",") + 1
        start = field.end() + 1
    return count


def _rejection_reason(fields: str) -> str:
    feature = next((name for prefix, name in _UNSUPPORTED.items() if fields.startswith(prefix)), None)
    excerpt = fields[:_EXCERPT] + ("…" if len(fields) > _EXCERPT else "")
    return (
        f"its extension has a feature that is not stored ({feature}): {excerpt}"
        if feature
        else f"no CXSMILES: {excerpt}"
    )


def split_smiles(text: str) -> tuple[str, str, str]:
    """Split a text into the SMILES, its extension with both pipes, and the remaining text.

    The parts have no surrounding white space. A missing part is an empty string. Without a second pipe, the extension
    extends to the end of the text.
    """
    smiles, *rest = text.split(None, 1)
    tail = rest[0].strip() if rest else ""
    end = (tail.find("|", 1) + 1 or len(tail)) if tail.startswith("|") else 0
    return smiles, tail[:end], tail[end:].lstrip()
