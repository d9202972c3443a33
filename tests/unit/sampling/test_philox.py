import numpy as np
import pytest
from scipy import stats

from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.values import MAX_SEED
from graphkin.store.sampling import philox


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_blocks_equal_the_known_answers_of_random123(counter, key, words):
    assert philox.block(np.uint64(key[0] | key[1] << 32), *map(np.uint64, counter)) == words


def test_uniforms_are_53_bits_of_two_words_each():
    a, b, c, d = (int(word) for word in philox.block(np.uint64(99), *map(np.uint64, (5, 6, 7, 8))))
    assert philox.uniforms(np.uint64(99), 5, 6, 7, 8) == (
        ((a >> 5) * 2**26 + (b >> 6)) / 2**53,
        ((c >> 5) * 2**26 + (d >> 6)) / 2**53,
    )


@pytest.mark.parametrize("part", range(4))
def test_uniforms_are_independent_along_each_part_of_the_counter(part):
    counters = np.full((4000, 4), 3)
    counters[:, part] = np.arange(4000)
    pairs = np.array([philox.uniforms(np.uint64(1), *counter) for counter in counters.tolist()])
    assert (pairs >= 0).all()
    assert (pairs < 1).all()
    assert stats.kstest(pairs[:, 0], "uniform").pvalue > 1e-3
    assert stats.kstest(pairs[:, 1], "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(pairs[:, 0], pairs[:, 1])[0, 1]) < 0.06
    assert abs(np.corrcoef(pairs[1:, 0], pairs[:-1, 0])[0, 1]) < 0.06


def test_each_part_of_a_request_changes_its_key():
    requests = [
        (0, "a", "s", 0),
        (1, "a", "s", 0),
        (0, "b", "s", 0),
        (0, "a", "t", 0),
        (0, "a", "s", 1),
        (1, "a", "s", 1),
    ]
    assert len({int(philox.replay_key(*request)) for request in requests}) == len(requests)
    assert philox.replay_key(3, "a", "s", 4) == philox.replay_key(np.int64(3), "a", "s", np.int32(4))  # type: ignore[arg-type]


@pytest.mark.parametrize(("seed", "epoch"), [(-1, 0), (MAX_SEED + 1, 0), (0, -1)])
def test_seed_or_epoch_out_of_range_is_refused(seed, epoch):
    with pytest.raises(InvalidInput, match="out of range"):
        philox.replay_key(seed, "g", "s", epoch)
