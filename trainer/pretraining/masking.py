"""AdaM: masks that spread over the graph, and uniform masks to compare with (docs/training.md)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.model.batch import Batch
from graphkin.trainer.model.ranks import ALONE, Ranks

Unit = Literal["batch", "per_graph"]
Score = Literal["softmax", "one_minus_ce", "kl"]
LossOver = Literal["all", "masked"]
Predict = Callable[[Batch], Tensor]

_FLOOR = 1e-12  # of a probability whose logarithm is taken
_LEAST_SCORE = 1e-6


@dataclass(frozen=True)
class Masking:
    """How the atoms to mask are chosen, and which of them the loss counts (docs/training.md).

    ratio        share of the atoms to mask, in (0, 1); the budget is floor(ratio * n) + 1
    times        T, the steps that the budget is spread over; 1 is uniform masking
    unit         whose n it is: that of the whole `batch`, or `per_graph` of each graph
    score        softmax: p ∝ exp(-c / temperature), c being the disturbance, as the authors' code does;
                 one_minus_ce: p ∝ max(1 - c, 1e-6), as the paper writes; kl: softmax with KL divergence for c
    temperature  of the softmax, > 0
    loss         cross-entropy over `all` atoms or over the `masked` ones. AdaM needs all: its score compares
                 predictions at atoms that are not masked
    freeze       scoring leaves the running statistics of batch normalisation as they are
    """

    ratio: float = 0.15
    times: int = 5
    unit: Unit = "batch"
    score: Score = "softmax"
    temperature: float = 0.07
    loss: LossOver = "all"
    freeze: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.ratio < 1:
            raise InvalidInput("no mask ratio", given=self.ratio, expected="above 0 and below 1")
        if self.times < 1:
            raise InvalidInput("no number of masking steps", given=self.times, expected="1 or more")
        if not self.temperature > 0:
            raise InvalidInput("no temperature", given=self.temperature, expected="above 0")

    def budget(self, atoms: Tensor) -> Tensor:
        """floor(ratio * n) + 1 of every n, exact where the ratio is a decimal."""
        ratio = Fraction(repr(self.ratio))
        return atoms * ratio.numerator // ratio.denominator + 1

    def steps(self, atoms: Tensor) -> Iterator[Tensor]:
        """How many atoms of each unit, (U,), every step masks; atoms (U,) are the units' sizes.

        batch: floor(M / T) T times and the rest in one step more; all at once if M < T.
        per_graph: floor(M / T), and one more in the first M mod T steps.
        """
        budget = self.budget(atoms)
        share, rest = budget // self.times, budget % self.times
        if self.unit == "per_graph":
            yield from (share + (step < rest) for step in range(self.times))
            return
        if int(share):
            yield from [share] * self.times
        if int(rest):
            yield rest


def uniform(ratio: float = 0.15) -> Masking:
    """RdM: floor(ratio * n) + 1 atoms of every molecule, uniformly; loss over the masked ones."""
    return Masking(ratio, times=1, unit="per_graph", loss="masked")


def choose(
    masking: Masking,
    batch: Batch,
    predict: Predict,
    generator: torch.Generator,
    ranks: Ranks = ALONE,
    everyone: Batch | None = None,
) -> Tensor:
    """The atoms of the batch to mask, (N,) bool.

    `predict` gives the atom-type logits (N, 119) of a (masked) batch; it is asked without gradients, and not at all if
    T = 1. The first step is uniform. Each later one compares the predictions with all atoms masked so far, S, and with
    those masked a step earlier, S' (none at the second step): c_v = -Σ_a y_va(S') log max(y_va(S), 1e-12), and atoms
    whose prediction was little disturbed are likely to be masked next.

    With several ranks, `batch` is this one's share of the graphs of `everyone`; atoms are chosen among those of all.
    """
    whole = batch if everyone is None else everyone
    units, own = Units.of(masking.unit, whole), _atoms(whole, ranks.share(whole.graphs))
    mask = torch.zeros(whole.atoms, dtype=torch.bool, device=batch.graph.device)
    before: Tensor | None = None
    with torch.no_grad():
        for step, counts in enumerate(masking.steps(units.sizes)):
            if step == 0:
                weights = torch.zeros(whole.atoms, device=mask.device)
            else:
                before = _probabilities(predict, batch) if before is None else before
                now = _probabilities(predict, batch.masked(mask[own]))
                weights = ranks.rows(log_weights(masking, before, now), own.start, whole.atoms)
                before = now
            mask = mask | units.pick(weights.masked_fill(mask, -torch.inf), counts, generator)
    return mask[own]


def _atoms(batch: Batch, graphs: slice) -> slice:
    """The atoms of some graphs in a row."""
    ends = [0, *batch.atom_ends]
    return slice(int(ends[graphs.start]), int(ends[graphs.stop]))


def log_weights(masking: Masking, before: Tensor, now: Tensor) -> Tensor:
    """log p of every atom, up to a constant, from its predictions (N, 119) before and after the last step's masking.

    The authors' score max c + min c - c_v differs from -c_v by a constant, which the softmax does not see.
    """
    disturbance = -(before * now.clamp_min(_FLOOR).log()).sum(1)
    if masking.score == "one_minus_ce":
        return (1 - disturbance).clamp_min(_LEAST_SCORE).log()
    if masking.score == "kl":
        disturbance = disturbance + (before * before.clamp_min(_FLOOR).log()).sum(1)
    return -disturbance / masking.temperature


def masking_loss(
    logits: Tensor, atom_type: Tensor, mask: Tensor, over: LossOver = "all", ranks: Ranks = ALONE
) -> Tensor:
    """The mean cross-entropy of logits (N, 119) against the original types (N,), over all atoms or the masked ones."""
    losses = F.cross_entropy(logits.to(torch.promote_types(logits.dtype, torch.float32)), atom_type, reduction="none")
    counted = torch.ones_like(losses) if over == "all" else mask.to(losses)
    return ranks.sum((losses * counted).sum()) / ranks.sum(counted.sum())


def _probabilities(predict: Predict, batch: Batch) -> Tensor:
    logits = predict(batch)
    return logits.to(torch.promote_types(logits.dtype, torch.float32)).softmax(1)


@dataclass(frozen=True, eq=False)
class Units:
    """Runs of atoms that atoms are picked from: owner (N,), first (U,) atom, sizes (U,)."""

    owner: Tensor
    first: Tensor
    sizes: Tensor

    @classmethod
    def of(cls, unit: Unit, batch: Batch) -> "Units":
        """The whole batch as one, or each of its graphs."""
        if unit == "per_graph":
            return cls(batch.graph, batch.atom_ptr[:-1], batch.atom_ptr.diff())
        # the sizes of a whole batch are known to the host, and so are the steps
        return cls(torch.zeros_like(batch.graph), torch.zeros_like(batch.graph[:1]), torch.tensor([batch.atoms]))

    def pick(self, log_weights: Tensor, counts: Tensor, generator: torch.Generator) -> Tensor:
        """(N,) bool: counts (U,) of each unit, one after the other in proportion to the weights of those left.

        The largest of log w plus Gumbel noise are just such a draw (Yellott, 1977).
        """
        noise = torch.empty_like(log_weights).exponential_(generator=generator).clamp_min(1e-30).log()
        order = (log_weights - noise).argsort(descending=True, stable=True)
        order = order[self.owner[order].argsort(stable=True)]
        place = torch.arange(len(order), device=order.device) - self.first[self.owner]
        limit = counts.to(order.device, non_blocking=True)[self.owner]  # as owners ascend, order does not change them
        return torch.zeros_like(order, dtype=torch.bool).scatter_(0, order, place < limit)
