"""The HGC losses against closed forms and against sums written out term by term (docs/reference/training.md)."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from graphkin.trainer.pretraining.hgc import (
    EdgeSet,
    first_order_loss,
    graphcl_loss,
    high_order_loss,
    in_batch_masks,
    nt_xent_loss,
    shared_mask,
    twins,
    unit,
)

TAU = 0.07


def vectors(*shape: int, seed: int = 0) -> Tensor:
    return unit(torch.randn(*shape, 16, generator=torch.Generator().manual_seed(seed), dtype=torch.float64))


def term(hit: Tensor, negatives: list[Tensor]) -> Tensor:
    """-log of the share of the positive, temperature 0.07."""
    all_logits = torch.stack([hit, *negatives]) / TAU
    return torch.logsumexp(all_logits, 0) - all_logits[0]


@pytest.mark.parametrize("slots", [1, 3])
@pytest.mark.parametrize("size", [2, 8])
def test_orthonormal_embeddings_equal_to_their_positives(size: int, slots: int) -> None:
    """H5; a direction is one cross-entropy, and there are two for every slot."""
    z = torch.eye(size, dtype=torch.float64)
    loss = first_order_loss(z, z.expand(slots, size, size), TAU)
    expected = -math.log(math.exp(1 / TAU) / (math.exp(1 / TAU) + size - 1))
    assert float(loss) == pytest.approx(2 * slots * expected, abs=1e-9)


@pytest.mark.parametrize("slots", [1, 3])
def test_equal_embeddings_give_log_b(slots: int) -> None:
    z = torch.full((8, 4), 0.5, dtype=torch.float64)
    assert float(first_order_loss(z, z.expand(slots, 8, 4), TAU)) == pytest.approx(2 * slots * math.log(8))
    shared = high_order_loss(z, z.expand(slots, 8, 4), z[:6], TAU)
    assert float(shared) == pytest.approx(2 * math.log(7))  # a mean, not a sum, over slots


def test_first_order_is_the_sum_over_slots_of_both_directions() -> None:
    z, k = vectors(5), vectors(3, 5, seed=1)
    expected = torch.zeros((), dtype=torch.float64)
    for s in range(3):
        for i in range(5):
            others = [j for j in range(5) if j != i]
            expected = expected + term(z[i] @ k[s, i], [z[i] @ k[s, j] for j in others]) / 5
            expected = expected + term(z[i] @ k[s, i], [z[j] @ k[s, i] for j in others]) / 5
    torch.testing.assert_close(first_order_loss(z, k, TAU), expected, rtol=0, atol=1e-10)


def test_high_order_is_the_mean_over_anchors_and_slots() -> None:
    z, k, n = vectors(4), vectors(2, 4, seed=1), vectors(7, seed=2)
    mask = torch.rand(4, 7, generator=torch.Generator().manual_seed(3)) < 0.3
    expected = torch.zeros((), dtype=torch.float64)
    for s in range(2):
        for i in range(4):
            kept = [m for m in range(7) if not mask[i, m]]
            for query in (z[i], k[s, i]):
                expected = expected + term(z[i] @ k[s, i], [query @ n[m] for m in kept]) / 8
    torch.testing.assert_close(high_order_loss(z, k, n, TAU, mask), expected, rtol=0, atol=1e-10)


def test_in_batch_masks_take_out_the_row_and_its_positive_and_nothing_else() -> None:
    anchors = torch.tensor([1, 2, 3, 4])
    positives = torch.tensor([[2, 9, 9, 8], [7, 1, 6, 5]])
    forward, reverse = in_batch_masks(anchors, positives)
    for s in range(2):
        for i in range(4):
            for j in range(4):
                column = positives[s, j]
                assert forward[s, i, j] == (j != i and column in (anchors[i], positives[s, i]))
                assert reverse[s, i, j] == (j != i and anchors[i] in (column, anchors[j]))
    assert forward.any()
    assert reverse.any()


def test_masked_columns_leave_the_denominator() -> None:
    """Anchor 0's positive is anchor 1: so it is no negative where anchor 1's positive stands for anchor 0."""
    anchors, positives = torch.tensor([1, 2, 3]), torch.tensor([[2, 1, 5]])
    z, k = vectors(3), vectors(1, 3, seed=1)
    loss = first_order_loss(z, k, TAU, in_batch_masks(anchors, positives))
    expected = torch.zeros((), dtype=torch.float64)
    for i, forward, reverse in [(0, [2], [2]), (1, [2], [2]), (2, [0, 1], [0, 1])]:
        expected = expected + term(z[i] @ k[0, i], [z[i] @ k[0, j] for j in forward]) / 3
        expected = expected + term(z[i] @ k[0, i], [z[j] @ k[0, i] for j in reverse]) / 3
    torch.testing.assert_close(loss, expected, rtol=0, atol=1e-10)


def test_shared_negatives_are_masked_where_they_are_the_anchor_or_its_positives() -> None:
    anchors, positives = torch.tensor([10, 11]), torch.tensor([[1, 2], [3, 3]])
    mask = shared_mask(anchors, positives, torch.tensor([1, 2, 3, 4, 10, 11]))
    assert mask.tolist() == [[True, False, True, False, True, False], [False, True, True, False, False, True]]


def test_twins_count_as_one() -> None:
    lowest = twins(7, np.array([[5, 2], [6, 5], [1, 4]]))
    assert lowest.tolist() == [0, 1, 2, 3, 1, 2, 2]
    kin = torch.from_numpy(lowest)
    mask = shared_mask(kin[[6]], kin[[4]].view(1, 1), kin[[1, 2, 3, 5]])
    assert mask.tolist() == [[True, True, False, True]]


def test_known_neighbours_are_masked_on_demand() -> None:
    edges = EdgeSet(torch.tensor([[1, 9], [4, 2], [19, 0], [9, 1]]))
    pairs = {(1, 9), (4, 2), (19, 0)}
    rows, columns = torch.arange(20).unsqueeze(1), torch.arange(20)
    joined = edges.joins(rows, columns)
    expected = [[(i, j) in pairs or (j, i) in pairs for j in range(20)] for i in range(20)]
    assert joined.tolist() == expected
    anchors, positives = torch.tensor([1, 2]), torch.tensor([[8, 9]])
    forward, reverse = in_batch_masks(anchors, positives, edges)
    assert forward.tolist() == [[[False, True], [False, False]]]  # 9 is a neighbour of 1, if not its positive
    assert reverse.tolist() == [[[False, True], [False, False]]]
    assert shared_mask(anchors, positives, torch.tensor([9, 4]), edges).tolist() == [[True, False], [True, True]]


def test_a_draw_shows_some_edges() -> None:
    edges = EdgeSet.from_samples(torch.tensor([1, 2]), torch.tensor([[8, 9], [7, 1]]))
    ids = torch.arange(10)
    assert edges.joins(ids.unsqueeze(1), ids).nonzero().tolist() == [
        [1, 2], [1, 7], [1, 8], [2, 1], [2, 9], [7, 1], [8, 1], [9, 2]
    ]  # fmt: skip


def test_no_edges_join_nothing() -> None:
    assert not EdgeSet(torch.empty(0, 2, dtype=torch.int32)).joins(torch.arange(3), torch.arange(3)).any()


def test_losses_are_float32_under_autocast() -> None:
    z, k, n = vectors(6).float(), vectors(2, 6, seed=1).float(), vectors(5, seed=2).float()
    with torch.autocast("cpu", torch.bfloat16):
        inside = first_order_loss(z.bfloat16(), k.bfloat16()), high_order_loss(z, k, n), unit(z.bfloat16())
        views_loss = graphcl_loss(z, k[0])
    assert all(value.dtype == torch.float32 for value in inside)
    assert torch.equal(inside[1], high_order_loss(z, k, n))
    assert torch.equal(views_loss, graphcl_loss(z, k[0]))


def test_a_batch_of_one_has_no_negatives() -> None:
    assert float(first_order_loss(vectors(1), vectors(2, 1), TAU)) == 0


@pytest.mark.parametrize("seed", [0, 1])
def test_the_gradient_is_the_papers(seed: int) -> None:
    """H10 with I. S_i and S_j sum over all graphs, i and j among them (B.2 of the paper with N = |G|).

    The paper's factor is (Q_ij + P_ij) + Q_ji: of L_i with j's part in S_i held fixed, and of L_j. Autograd moves that
    part too, which leaves Q_ij + Q_ji.
    """
    w = torch.randn(16, generator=torch.Generator().manual_seed(seed), dtype=torch.float64, requires_grad=True)
    z_j, others = vectors(1, seed=seed + 7)[0], vectors(20, seed=seed + 9)
    z_i = F.normalize(w, dim=0)
    everyone = torch.cat([z_i[None], z_j[None], others])

    loss = high_order_loss(z_i[None], z_j[None, None], everyone, TAU)
    hit, of_i, of_j = z_i @ z_j / TAU, everyone @ z_i / TAU, everyone @ z_j / TAU
    fixed = torch.cat([of_i[:1], of_i[1:2].detach(), of_i[2:]])
    held = torch.cat([hit[None], fixed]).logsumexp(0) + torch.cat([hit[None], of_j]).logsumexp(0) - 2 * hit
    assert loss.item() == pytest.approx(held.item())
    gradient, held_gradient = (torch.autograd.grad(each, w, retain_graph=True)[0] for each in (loss, held))

    with torch.no_grad():
        p_ij = hit.exp() / (hit.exp() + of_i.exp().sum())
        p_ji = hit.exp() / (hit.exp() + of_j.exp().sum())
        q_ij, q_ji = 1 - 2 * p_ij, 1 - 2 * p_ji
        direction = (z_j - (z_i @ z_j) * z_i) / (TAU * w.norm())
        shares = of_i[2:].exp() / (hit.exp() + of_i.exp().sum())
        away = shares @ (others - (others @ z_i)[:, None] * z_i) / (TAU * w.norm())
    torch.testing.assert_close(held_gradient, away - direction * ((q_ij + p_ij) + q_ji), rtol=0, atol=1e-12)
    torch.testing.assert_close(gradient, away - direction * (q_ij + q_ji), rtol=0, atol=1e-12)


@pytest.mark.parametrize("size", [2, 7])
def test_graphcl_loss_is_that_of_its_authors(size: int) -> None:
    """Written out in NumPy: one direction, size - 1 negatives, and no positive in the denominator."""
    random = np.random.default_rng(size)
    first, second = random.normal(size=(2, size, 16))
    total = 0.0
    for i in range(size):
        cosines = [first[i] @ second[j] / np.sqrt((first[i] @ first[i]) * (second[j] @ second[j])) for j in range(size)]
        others = sum(np.exp(cosines[j] / 0.1) for j in range(size) if j != i)
        total -= np.log(np.exp(cosines[i] / 0.1) / others)
    loss = graphcl_loss(unit(torch.from_numpy(first)), unit(torch.from_numpy(second)))
    assert float(loss) == pytest.approx(total / size, rel=1e-12)


@pytest.mark.parametrize("size", [2, 8])
def test_graphcl_loss_of_equal_embeddings_is_the_log_of_the_negatives(size: int) -> None:
    z = torch.full((size, 4), 0.5, dtype=torch.float64)
    assert float(graphcl_loss(z, z)) == pytest.approx(math.log(size - 1), abs=1e-12)
    orthonormal = torch.eye(size, dtype=torch.float64)
    assert float(graphcl_loss(orthonormal, orthonormal)) == pytest.approx(math.log(size - 1) - 10)


def test_nt_xent_is_written_out_over_all_copies() -> None:
    """Chen et al. (2020), equation 1: every copy against its partner and all others."""
    one, other = vectors(5), vectors(5, seed=1)
    copies = [*one, *other]
    expected = torch.stack(
        [
            term(
                copies[i] @ copies[(i + 5) % 10],
                [copies[i] @ copies[j] for j in range(10) if j not in (i, (i + 5) % 10)],
            )
            for i in range(10)
        ]
    ).mean()
    torch.testing.assert_close(nt_xent_loss(one, other, TAU), expected, rtol=0, atol=1e-10)
    torch.testing.assert_close(nt_xent_loss(one, other, TAU, torch.arange(5)), expected, rtol=0, atol=1e-10)


def test_copies_of_equal_graphs_are_no_negatives_of_each_other() -> None:
    one, other = vectors(4), vectors(4, seed=1)
    kin, copies = torch.tensor([7, 3, 7, 5]), [*one, *other]
    rows = []
    for i in range(8):
        partner = (i + 4) % 8
        others = [j for j in range(8) if j != partner and kin[j % 4] != kin[i % 4]]
        rows.append(term(copies[i] @ copies[partner], [copies[i] @ copies[j] for j in others]))
    torch.testing.assert_close(nt_xent_loss(one, other, TAU, kin), torch.stack(rows).mean(), rtol=0, atol=1e-10)


@pytest.mark.parametrize("size", [2, 8])
def test_nt_xent_of_equal_embeddings_is_the_log_of_all_others(size: int) -> None:
    z = torch.full((size, 4), 0.5, dtype=torch.float64)
    assert float(nt_xent_loss(z, z, TAU)) == pytest.approx(math.log(2 * size - 1))
