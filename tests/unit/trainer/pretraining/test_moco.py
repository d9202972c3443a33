"""Momentum contrast, against a reference of plain tensors."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.eigenvectors import laplacian_eigenvectors
from graphkin.trainer.model.batch import Assembler
from graphkin.trainer.pretraining.config import Contrast, Model, Momentum, Nodes
from graphkin.trainer.pretraining.hgc import EdgeSet, queue_loss
from graphkin.trainer.pretraining.moco import MoCo, Queue
from graphkin.trainer.pretraining.objective import Draw, Step

MODEL = Model(layers=2, width=12, nodes=Nodes(degree_width=4))
CONTRAST = Contrast(momentum=Momentum(momentum=0.9, queue=10))
NONE = np.empty(0, np.int32)
SIZE = 16
TWINS = np.array([0, 1, 2, 3, 1, *range(5, SIZE)])  # 4 is as good as 1


@pytest.fixture(scope="module")
def many(random_corpus: Callable[..., Corpus]) -> Assembler:
    corpus = random_corpus([5, 9, 12, 30, 7, 3, 22, 14, 14, 8, 3, 17, 25, 6, 11, 19], seed=4)
    return Assembler(corpus.around(corpus.atoms // 3, laplacian_eigenvectors(corpus)))


def moco(contrast: Contrast = CONTRAST, edges: EdgeSet | None = None) -> MoCo:
    torch.manual_seed(0)
    assert contrast.momentum is not None
    return MoCo(MODEL, contrast, contrast.momentum, edges).double()


def draws(steps: int) -> list[Draw]:
    random = np.random.default_rng(0)
    ids = [random.choice(SIZE, 8, replace=False).astype(np.int32) for _ in range(steps)]
    return [Draw(each[:4], each[4:, None], NONE) for each in ids]


def run(made: MoCo, draw: Draw, many: Assembler) -> dict[str, Tensor]:
    return made(Step.from_draw(draw, many, TWINS), torch.Generator(), measure=True)


def test_several_steps_are_those_of_a_plain_reference(many: Assembler) -> None:
    """Losses, both encoders and the queue, over seven steps of four anchors: the queue of ten goes round twice."""
    made = moco()
    query, key = deepcopy(made.encoder), deepcopy(made.encoder)
    ours = torch.optim.SGD(made.trainable_parameters().values(), lr=0.1)
    theirs = torch.optim.SGD(query.parameters(), lr=0.1)
    queue: list[tuple[int, Tensor]] = []
    for draw in draws(7):
        told = run(made, draw, many)
        q = query.graphs(many.batch(draw.anchors))
        q = q / q.square().sum(1, keepdim=True).sqrt()
        with torch.no_grad():
            k = key.graphs(many.batch(draw.positives[:, 0]))
            k = k / k.square().sum(1, keepdim=True).sqrt()
        losses = []
        for row, (anchor, positive) in enumerate(zip(TWINS[draw.anchors], TWINS[draw.positives[:, 0]], strict=True)):
            others = [old for kin, old in queue if kin not in (anchor, positive)]
            logits = torch.stack([q[row] @ each for each in (k[row], *others)]) / 0.07
            losses.append(-logits.log_softmax(0)[0])
        expected = torch.stack(losses).mean()
        torch.testing.assert_close(told["loss"], expected, rtol=0, atol=1e-10)
        assert told["moco"] == told["loss"]
        assert told["alignment"].item() == pytest.approx(float((q - k).detach().square().sum(1).mean()))
        for optimizer, loss in ((ours, told["loss"]), (theirs, expected)):
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        made.after_step()
        with torch.no_grad():
            for slow, fast in zip(key.parameters(), query.parameters(), strict=True):
                slow.copy_(0.9 * slow + 0.1 * fast)
        queue = [*queue, *zip(TWINS[draw.positives[:, 0]].tolist(), k, strict=True)][-10:]
        for one, other in ((made.encoder, query), (made.key_encoder, key)):
            for name, value in other.state_dict().items():
                torch.testing.assert_close(one.state_dict()[name], value, rtol=0, atol=1e-10)
    order = (torch.arange(10) + made.queue.oldest) % 10
    assert made.queue.kin[order].tolist() == [kin for kin, _ in queue]
    torch.testing.assert_close(made.queue.keys[order], torch.stack([each for _, each in queue]), rtol=0, atol=1e-10)


def test_the_gradient_flows_through_the_query_alone(many: Assembler) -> None:
    made = moco()
    first, second = draws(2)
    run(made, first, many)
    made.after_step()
    run(made, second, many)["loss"].backward()
    assert {*made.trainable_parameters()} == {f"encoder.{name}" for name, _ in made.encoder.named_parameters()}
    grads = {name: parameter.grad for name, parameter in made.named_parameters()}
    assert all((grad is not None) == name.startswith("encoder.") for name, grad in grads.items())
    assert any(bool(grad.any()) for grad in grads.values() if grad is not None)
    assert not made.queue.keys.requires_grad


def test_an_empty_queue_has_nothing_to_tell(many: Assembler) -> None:
    (draw,) = draws(1)
    assert run(moco(), draw, many)["loss"].item() == 0


def test_the_state_is_all_that_it_remembers(many: Assembler) -> None:
    made, other = moco(), moco()
    *before, last = draws(4)
    for draw in before:
        run(made, draw, many)
        made.after_step()
    other.load_state_dict(made.state_dict())
    one, two = run(made, last, many), run(other, last, many)
    assert torch.equal(one["loss"], two["loss"])
    for each in (made, other):
        each.after_step()
    assert all(torch.equal(value, other.state_dict()[name]) for name, value in made.state_dict().items())


def test_known_neighbours_are_no_negatives_on_demand(many: Assembler) -> None:
    """All that the queue holds are neighbours of all anchors: nothing is left to tell apart."""
    first, second = draws(2)
    contrast = replace(CONTRAST, mask_neighbors=True)
    everyone = EdgeSet(torch.tensor([[one, other] for one in range(SIZE) for other in range(one)]))
    losses = []
    for made in (moco(), moco(contrast), moco(contrast, everyone)):
        run(made, first, many)
        made.after_step()
        losses.append(run(made, second, many)["loss"].item())
    assert losses[0] == losses[1] > losses[2] == 0


def test_the_oldest_keys_go_first() -> None:
    queue = Queue(5, 1)
    for begin in range(0, 12, 3):
        queue.push(torch.arange(begin, begin + 3.0).unsqueeze(1), torch.arange(begin, begin + 3))
    assert sorted(queue.kin.tolist()) == [7, 8, 9, 10, 11]
    assert queue.keys.squeeze(1).tolist() == queue.kin.tolist()
    assert queue.kin[queue.oldest].item() == 7


def test_the_loss_of_a_queue_of_orthogonal_keys() -> None:
    """H5, for one direction and M negatives: log(1 + M e^(-1/τ))."""
    z = torch.eye(9, dtype=torch.float64)
    expected = np.log1p(6 * np.exp(-1 / 0.07))
    assert queue_loss(z[:3], z[:3], z[3:], 0.07).item() == pytest.approx(expected, abs=1e-12)
    masked = torch.zeros(3, 6, dtype=torch.bool)
    masked[:, 2:] = True
    assert queue_loss(z[:3], z[:3], z[3:], 0.07, masked).item() == pytest.approx(np.log1p(2 * np.exp(-1 / 0.07)))
