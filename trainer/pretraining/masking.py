"""AdaM: masks that spread over the graph, and uniform masks as a baseline.

Sources: paper, section 4.4 and appendix A.4.2; method.md D; docs/reference/training.md.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.errors import SETTINGS_HINT
from graphkin.trainer.model.batch import Batch, Padding
from graphkin.trainer.model.ranks import ALONE, Ranks

Unit = Literal["batch", "per_graph"]
Score = Literal["softmax", "one_minus_ce", "kl"]
LossOver = Literal["all", "masked"]
Predict = Callable[[Batch], Tensor]

_FLOOR = 1e-12  # lower bound of a probability before its logarithm
_LEAST_SCORE = 1e-6


@dataclass(frozen=True)
class Masking:
    """Options of masking: the choice of atoms, and the atoms that the loss counts (method.md D).

    Attributes:
        ratio: Share of the atoms to mask, in (0, 1). The budget is floor(ratio * n) + 1.
        times: T, the number of steps that the budget is spread over; 1 is uniform masking.
        unit: The n atoms of the budget: `batch` for the whole batch, `per_graph` for each graph.
        score: `softmax`, the authors' code, p ∝ exp(-c / temperature), where c is the disturbance; `one_minus_ce`, the
            paper's text, p ∝ max(1 - c, 1e-6); `kl`, softmax with the KL divergence as c.
        temperature: Temperature of the softmax, above 0.
        loss: Cross-entropy over `all` atoms or over the `masked` ones. AdaM needs `all`, because its score compares
            predictions at atoms that are not masked.
    """

    ratio: float = 0.15
    times: int = 5
    unit: Unit = "batch"
    score: Score = "softmax"
    temperature: float = 0.07
    loss: LossOver = "all"

    def __post_init__(self) -> None:
        if not 0 < self.ratio < 1:
            raise InvalidInput(
                "invalid share of masked nodes (ratio)",
                given=self.ratio,
                expected="above 0 and below 1",
                hint=SETTINGS_HINT,
            )
        if self.times < 1:
            raise InvalidInput(
                "invalid number of masking steps (times)", given=self.times, expected="1 or more", hint=SETTINGS_HINT
            )
        if not self.temperature > 0:
            raise InvalidInput("invalid temperature", given=self.temperature, expected="above 0", hint=SETTINGS_HINT)

    def budget(self, atoms: Tensor) -> Tensor:
        """Return floor(ratio * n) + 1 for every n, exact if the ratio is a decimal."""
        ratio = Fraction(repr(self.ratio))
        return atoms * ratio.numerator // ratio.denominator + 1

    def steps(self, atoms: Tensor, is_padded: bool = False) -> Iterator[Tensor]:
        """Yield the number of atoms that each step masks in each unit, (U,). M is the budget of a unit.

        batch: floor(M / T) atoms T times, and the remainder in one more step; all at once if M < T.
        per_graph: floor(M / T) atoms, and one more in the first M mod T steps.

        Args:
            atoms: (U,) Sizes of the units.
            is_padded: Whether the sizes belong to a padded batch. The number of steps then depends on T alone, and
                steps may mask no atoms.
        """
        budget = self.budget(atoms)
        share, rest = budget // self.times, budget % self.times
        if self.unit == "per_graph":
            yield from (share + (step < rest) for step in range(self.times))
        elif self.times == 1:
            yield budget
        else:
            is_split = share > 0
            first, last = torch.where(is_split, share, rest), torch.where(is_split, rest, 0)
            counts = [first, *[share] * (self.times - 1), last]
            yield from counts if is_padded else [count for count in counts if int(count)]


def uniform(ratio: float = 0.15) -> Masking:
    """Return the options of the strategy rdm, uniform random masking (method.md D).

    They mask floor(ratio * n) + 1 of the n atoms of every molecule, and the loss is over the masked atoms.
    """
    return Masking(ratio, times=1, unit="per_graph", loss="masked")


def choose(
    masking: Masking,
    batch: Batch,
    predict: Predict,
    generator: torch.Generator,
    ranks: Ranks = ALONE,
    everyone: Batch | None = None,
) -> Tensor:
    """Choose the atoms of the batch to mask, (N,) bool (paper, section 4.4; method.md D).

    The first step is uniform. Each later step compares the predictions with S masked, all atoms masked so far, and with
    S' masked, the atoms masked one step earlier (none at the second step): c_v = -Σ_a y_va(S') log max(y_va(S), 1e-12).
    Atoms whose prediction was disturbed little are likely to be masked next.

    Args:
        masking: Options.
        batch: This rank's share of the graphs of `everyone`.
        predict: Returns the atom-type logits (N, 119) of a batch. It is called without gradients, and not at all if T =
            1.
        generator: Source of random numbers.
        ranks: The processes that train together.
        everyone: The graphs of all ranks, among whose atoms the choice is made; None for `batch`.
    """
    all_graphs = batch if everyone is None else everyone
    units, padding = Units.from_batch(masking.unit, all_graphs), all_graphs.padding
    rows = slice(0, batch.atoms) if ranks.size == 1 else _atom_range(all_graphs, ranks.share(all_graphs.graphs))
    mask = torch.zeros(all_graphs.atoms, dtype=torch.bool, device=batch.graph.device)
    previous: Tensor | None = None
    with torch.no_grad():
        for step, counts in enumerate(masking.steps(units.sizes, padding is not None)):
            if step == 0:
                weights = torch.zeros(all_graphs.atoms, device=mask.device)
            else:
                previous = _probabilities(predict, batch) if previous is None else previous
                current = _probabilities(predict, batch.masked(mask[rows]))
                weights = ranks.rows(log_weights(masking, previous, current), rows.start, all_graphs.atoms)
                previous = current
            is_taken = mask if padding is None else mask | ~padding.is_atom
            mask = mask | units.pick(weights.masked_fill(is_taken, -torch.inf), counts, generator)
    return mask[rows]


def _atom_range(batch: Batch, graphs: slice) -> slice:
    """Return the range of atoms of consecutive graphs."""
    ends = [0, *batch.atom_ends]
    return slice(int(ends[graphs.start]), int(ends[graphs.stop]))


def log_weights(masking: Masking, previous: Tensor, current: Tensor) -> Tensor:
    """Return log p of every atom, up to a constant, (N,).

    The authors' score max c + min c - c_v differs from -c_v by a constant, which cancels in the softmax.

    Args:
        masking: Options.
        previous: (N, 119) Predicted probabilities before the last step's masking.
        current: (N, 119) Predicted probabilities after it.
    """
    disturbance = -(previous * current.clamp_min(_FLOOR).log()).sum(1)
    if masking.score == "one_minus_ce":
        return (1 - disturbance).clamp_min(_LEAST_SCORE).log()
    if masking.score == "kl":
        disturbance = disturbance + (previous * previous.clamp_min(_FLOOR).log()).sum(1)
    return -disturbance / masking.temperature


def masking_loss(
    logits: Tensor,
    atom_type: Tensor,
    mask: Tensor,
    over: LossOver = "all",
    ranks: Ranks = ALONE,
    padding: Padding | None = None,
) -> Tensor:
    """Return the mean cross-entropy of atom types over all atoms or the masked ones (method.md D).

    Args:
        logits: (N, 119) Logits.
        atom_type: (N,) Original atom types.
        mask: (N,) bool. Masked atoms.
        over: Which atoms count.
        ranks: The processes that train together.
        padding: The atoms of a padded batch, whose padding is not masked and never counts.
    """
    losses = F.cross_entropy(logits.to(torch.promote_types(logits.dtype, torch.float32)), atom_type, reduction="none")
    if over == "masked":
        weights = mask.to(losses)
    else:
        weights = torch.ones_like(losses) if padding is None else padding.is_atom.to(losses)
    return ranks.sum((losses * weights).sum()) / ranks.sum(weights.sum())


def _probabilities(predict: Predict, batch: Batch) -> Tensor:
    logits = predict(batch)
    return logits.to(torch.promote_types(logits.dtype, torch.float32)).softmax(1)


@dataclass(frozen=True, eq=False)
class Units:
    """Ranges of atoms to choose from: owner (N,), first atom (U,), sizes (U,), and the atoms of a padded batch."""

    owner: Tensor
    first: Tensor
    sizes: Tensor
    padding: Padding | None = None

    @classmethod
    def from_batch(cls, unit: Unit, batch: Batch) -> "Units":
        """Return the whole batch as one unit, or each of its graphs."""
        if unit == "per_graph":
            return cls(batch.graph, batch.atom_ptr[:-1], batch.atom_ptr.diff(), batch.padding)
        # The host knows the size of a batch without padding, so the number of steps needs no transfer from the device.
        size = torch.tensor([batch.atoms]) if batch.padding is None else batch.padding.atoms.view(1)
        return cls(torch.zeros_like(batch.graph), torch.zeros_like(batch.graph[:1]), size, batch.padding)

    def pick(self, log_weights: Tensor, counts: Tensor, generator: torch.Generator) -> Tensor:
        """Sample counts[u] atoms of each unit u in proportion to their weights, without replacement: (N,) bool.

        The largest values of log w plus Gumbel noise are such a sample (Yellott, 1977).
        """
        order = (log_weights - _log_exponential(log_weights, generator)).argsort(descending=True, stable=True)
        order = order[self.owner[order].argsort(stable=True)]
        place = torch.arange(len(order), device=order.device) - self.first[self.owner]
        limit = counts.to(order.device, non_blocking=True)[
            self.owner
        ]  # owners ascend, so sorting by owner does not change them
        mask = torch.zeros_like(order, dtype=torch.bool).scatter_(0, order, place < limit)
        return mask if self.padding is None else mask & self.padding.is_atom


def _log_exponential(like: Tensor, generator: torch.Generator) -> Tensor:
    """Return the logarithms of exponential random numbers, whose negatives are Gumbel noise."""
    return torch.empty_like(like).exponential_(generator=generator).clamp_min(1e-30).log()
