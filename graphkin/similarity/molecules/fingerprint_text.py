"""Records that hold an externally computed fingerprint and the SMILES of its molecule."""

from graphkin.similarity.describer import Rejected

WITH_FINGERPRINT = "fingerprint and smiles"
"""Notation of such a record: the bits in hexadecimal, a space, and the SMILES."""


def join_fingerprint(fingerprint: str, smiles: str) -> str:
    """Return the text of a record with a fingerprint."""
    return f"{fingerprint} {smiles}"


def split_fingerprint(text: str, writing: str) -> tuple[str, str]:
    """Split the text of a record into fingerprint and SMILES.

    Raises:
        Rejected: The record has no fingerprint.
    """
    fingerprint, _, smiles = text.partition(" ")
    if writing != WITH_FINGERPRINT or not fingerprint:
        raise Rejected("has no fingerprint beside its SMILES")
    return fingerprint, smiles
