"""The notation of records that contain a precomputed fingerprint and the SMILES of its molecule."""

from graphkin.similarity.describer import Rejected

WITH_FINGERPRINT = "fingerprint and smiles"
"""Name of the notation, in which a record consists of the fingerprint in hexadecimal, a space, and the SMILES."""


def join_fingerprint(fingerprint: str, smiles: str) -> str:
    """Return the text of a record in the notation `WITH_FINGERPRINT`."""
    return f"{fingerprint} {smiles}"


def split_fingerprint(text: str, notation: str) -> tuple[str, str]:
    """Split the text of a record into fingerprint and SMILES.

    Args:
        text: The text of the record.
        notation: Notation of the text, one of `Kind.notations`.

    Raises:
        Rejected: The notation is not `WITH_FINGERPRINT`, or the fingerprint is empty.
    """
    fingerprint, _, smiles = text.partition(" ")
    if notation != WITH_FINGERPRINT or not fingerprint:
        raise Rejected("has no fingerprint before its SMILES")
    return fingerprint, smiles
