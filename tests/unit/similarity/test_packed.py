"""Fingerprints in hexadecimal, compared with RDKit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdkit import DataStructs

from graphkin.protocol.errors import InvalidInput
from graphkin.similarity.describer import Rejected
from graphkin.similarity.packed import pack_hex, read_fingerprint


@given(st.integers(1, 300).flatmap(lambda bits: st.tuples(st.just(bits), st.sets(st.integers(0, bits - 1)))))
def test_hexadecimal_fingerprint_of_rdkit_is_read(example: tuple[int, set[int]]) -> None:
    bits, set_bits = example
    vector = DataStructs.ExplicitBitVect(bits)
    vector.SetBitsFromList(sorted(set_bits))
    text = DataStructs.BitVectToFPSText(vector)
    words = read_fingerprint(text.upper(), bits)
    assert words.shape == (-(-bits // 64),)
    positions = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))
    assert set(positions.tolist()) == set_bits


@pytest.mark.parametrize(
    ("text", "bits", "reason"),
    [
        ("0g", 8, "hexadecimal"),
        ("", 8, "0 bits"),
        ("00", 16, "8 bits, not 16"),
        ("000", 12, "12 bits"),
        ("10", 4, "beyond"),
    ],
)
def test_invalid_fingerprint_is_rejected_with_a_reason(text: str, bits: int, reason: str) -> None:
    with pytest.raises(Rejected, match=reason):
        pack_hex(text, bits)
    with pytest.raises(InvalidInput, match=reason):
        read_fingerprint(text, bits)
