"""Molecules that come with a fingerprint of somebody's own beside their SMILES."""

from graphkin.similarity.describer import Rejected

WITH_FINGERPRINT = "fingerprint and smiles"
"""How the text of such a record is written: the bits in hexadecimal, a space, and the SMILES."""


def beside(fingerprint: str, smiles: str) -> str:
    """The text of such a record."""
    return f"{fingerprint} {smiles}"


def apart(text: str, writing: str) -> tuple[str, str]:
    """Fingerprint and SMILES of such a record. Raises `Rejected` where there is no fingerprint."""
    fingerprint, _, smiles = text.partition(" ")
    if writing != WITH_FINGERPRINT or not fingerprint:
        raise Rejected("has no fingerprint beside its SMILES")
    return fingerprint, smiles
