"""Fine-tuning of several GIN encoders as one model, whose weights have a leading axis for the replicas.

Every replica has an encoder, split, order, learning rate and dropout of its own, and equals a run of
`graphkin.trainer.downstream.finetune` up to rounding. The atoms of a replica's batch are padded with further atoms to
the largest batch of the step, so that a linear layer of all replicas is one batched product. Padding has no bonds, and
neither batch normalization nor pooling sees it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import NDArray
from torch import Tensor, nn

from graphkin.trainer.downstream.dataset import Dataset
from graphkin.trainer.downstream.split import Rows, Split
from graphkin.trainer.model.aggregation import graph_sum, neighbor_sum
from graphkin.trainer.model.batch import Assembler, Batch
from graphkin.trainer.model.encoders import ConvolutionalEncoder, incidence
from graphkin.trainer.model.inputs import ATOM_TYPES, CHIRALITIES
from graphkin.trainer.model.norm import BatchNorm
from studies.cells import Cell
from studies.evidence.finetuned import TaskwiseDataset, curves

_SCORED_GRAPHS = 128  # of a replica in one batch in evaluation mode


@dataclass(frozen=True)
class Replica:
    """One fine-tuning run.

    Attributes:
        encoder: a GIN of standard features to start from, which is not changed.
        split: its split of the data set.
        seed: seed of the head, the order of molecules, and dropout.
        learning_rate: of encoder and head.
        dropout: probability after each layer.
    """

    encoder: ConvolutionalEncoder
    split: Split
    seed: int
    learning_rate: float
    dropout: float


@dataclass(frozen=True, eq=False)
class _Padded:
    """The batches of R replicas, with N atoms and G graphs each after padding.

    Attributes:
        batch: all atoms and bonds. Atom i of replica r is row r * N + i.
        is_atom: (R, N, 1) False for padding.
        counts: (R, 1, 1) Number of atoms without padding, at least 1.
        sizes: (R * (G + 1), 1) Number of atoms of each graph, at least 1. The last graph of a replica is its padding.
    """

    batch: Batch
    is_atom: Tensor
    counts: Tensor
    sizes: Tensor


class Replicas:
    """R classifiers of one data set, and their optimizer.

    Args:
        replicas: the runs. All encoders have the same architecture.
        data: the data set.
        batch_size: molecules of a replica in one step.
        device: `cpu` or `cuda`.
    """

    def __init__(self, replicas: Sequence[Replica], data: Dataset, batch_size: int = 32, device: str = "cpu") -> None:
        self._replicas = replicas
        self._data = data
        self._batch_size = batch_size
        self._assembler = Assembler(data.corpus, device)
        self._device = self._assembler.device
        self._layers = len(replicas[0].encoder.convolutions)
        self._bonds = replicas[0].encoder.bonds.to(self._device)
        self._labels = torch.from_numpy(data.labels).to(self._device)
        heads, self._random = zip(*(_head(each, data.outputs) for each in replicas), strict=True)
        states = [
            {**each.encoder.state_dict(), **{f"head.{name}": value for name, value in head.state_dict().items()}}
            for each, head in zip(replicas, heads, strict=True)
        ]
        self._state = {
            name: torch.stack([state[name] for state in states]).to(self._device)
            for name in states[0]
            if not name.endswith("num_batches_tracked")
        }
        self._weights = [name for name in self._state if not name.endswith(("running_mean", "running_var"))]
        for name in self._weights:
            self._state[name].requires_grad_()
        self._slices = [
            {name: nn.Parameter(self._state[name].data[place]) for name in self._weights}
            for place in range(len(replicas))
        ]
        groups = [
            {"params": [*weights.values()], "lr": each.learning_rate}
            for weights, each in zip(self._slices, replicas, strict=True)
        ]
        self._optimizer = torch.optim.Adam(groups, fused=True)
        self._dropout = torch.tensor([each.dropout for each in replicas], device=self._device).view(-1, 1, 1)
        if self._device.type == "cuda":
            torch.set_float32_matmul_precision("high")  # TF32, as in `finetune`

    def epoch(self, epoch: int) -> NDArray[np.float64]:
        """Train every replica on its training part once, and return the mean loss of its steps, (R,)."""
        parts = [self._batches(each, epoch) for each in self._replicas]
        steps = max(map(len, parts))
        losses = [
            self.step([part[step] if step < len(part) else np.empty(0, np.int64) for part in parts])
            for step in range(steps)
        ]
        totals = torch.stack(losses).double().sum(0).cpu().numpy()
        means: NDArray[np.float64] = totals / np.array([len(part) for part in parts])
        return means

    def step(self, rows: Sequence[Rows]) -> Tensor:
        """Do one step on these molecules of each replica, and return the losses, (R,).

        A replica without molecules has the loss 0 and stays as it is.
        """
        padded = self._assemble(rows)
        is_active = [len(each) > 0 for each in rows]
        losses = self._loss(self._forward(padded, torch.tensor(is_active, device=self._device)), rows)
        losses.sum().backward()  # type: ignore[no-untyped-call]
        for place, weights in enumerate(self._slices):
            for name, weight in weights.items():
                gradient = self._state[name].grad
                assert gradient is not None
                weight.grad = gradient[place] if is_active[place] else None
        self._optimizer.step()
        for name in self._weights:
            self._state[name].grad = None
        return losses.detach()

    @torch.no_grad()
    def logits(self, rows: Sequence[Rows]) -> list[NDArray[np.float32]]:
        """Return the logits of these molecules of each replica, (n, outputs), in evaluation mode."""
        chunks = []
        for begin in range(0, max(map(len, rows)), _SCORED_GRAPHS):
            part = [each[begin : begin + _SCORED_GRAPHS] for each in rows]
            chunks.append(self._forward(self._assemble(part), None).cpu().numpy())
        whole = np.concatenate(chunks, axis=1)
        return [whole[place, : len(each)] for place, each in enumerate(rows)]

    def _batches(self, replica: Replica, epoch: int) -> list[Rows]:
        """Return the batches of an epoch. One of a single molecule is left out, as in `finetune`."""
        rows = np.random.default_rng((replica.seed, epoch)).permutation(replica.split.train)
        parts = np.split(rows, range(self._batch_size, len(rows), self._batch_size))
        return [part for part in parts if len(part) > 1]

    def _assemble(self, rows: Sequence[Rows]) -> _Padded:
        """Return the molecules of all replicas as one padded batch."""
        flat = self._assembler.batch(np.concatenate(rows))
        count, device = len(rows), self._device
        graphs = np.array([len(each) for each in rows])
        atoms = np.diff(flat.atom_ends[np.cumsum(graphs) - 1] * (np.cumsum(graphs) > 0), prepend=0)
        width, places = int(atoms.max()), int(graphs.max())
        first = torch.from_numpy(np.arange(count) * width - (np.cumsum(atoms) - atoms)).to(device)
        shift = torch.repeat_interleave(first, torch.from_numpy(atoms).to(device), output_size=flat.atoms)
        row = torch.arange(flat.atoms, device=device) + shift
        is_atom = torch.zeros(count * width, dtype=torch.bool, device=device).index_fill_(0, row, value=True)
        degree = flat.edge_ptr.new_zeros(count * width).index_copy_(0, row, flat.edge_ptr.diff())
        graph_shift = np.repeat(np.arange(count) * (places + 1) - (np.cumsum(graphs) - graphs), graphs)
        graph_place = torch.from_numpy(np.arange(len(graph_shift)) + graph_shift).to(device)
        padding_place = torch.arange(count, device=device) * (places + 1) + places
        sizes = flat.atom_ptr.new_zeros(count * (places + 1)).index_copy_(0, graph_place, flat.atom_ptr.diff())
        sizes = sizes.index_copy(0, padding_place, torch.from_numpy(width - atoms).to(device))
        batch = replace(
            flat,
            atom_type=_spread(flat.atom_type, row, is_atom),
            chirality=_spread(flat.chirality, row, is_atom),
            graph=torch.repeat_interleave(sizes, output_size=count * width),
            atom_ptr=_pointer(sizes),
            edge_index=row[flat.edge_index],
            edge_ptr=_pointer(degree),
        )
        counts = torch.from_numpy(atoms).to(device).clamp_min(1).view(-1, 1, 1)
        return _Padded(batch, is_atom.view(count, width, 1), counts, sizes.clamp_min(1).unsqueeze(1))

    def _forward(self, padded: _Padded, is_active: Tensor | None) -> Tensor:
        """Return the logits, (R, G, outputs). `is_active`, (R,), are the replicas that are trained; None for none."""
        batch, state, count = padded.batch, self._state, len(self._replicas)
        pairs = state["inputs.atom_type.weight"].unsqueeze(2) + state["inputs.chirality.weight"].unsqueeze(1)
        codes = (CHIRALITIES * batch.atom_type + batch.chirality).view(count, -1)
        offsets = ATOM_TYPES * CHIRALITIES * torch.arange(count, device=self._device).unsqueeze(1)
        x = F.embedding(codes + offsets, pairs.flatten(0, 2))  # (R, N, D)
        bonds = incidence(batch, self._bonds, 0, 0).counts.view(count, x.shape[1], -1)
        for layer in range(self._layers):
            own = {
                name.removeprefix(f"convolutions.{layer}."): value
                for name, value in state.items()
                if name.startswith(f"convolutions.{layer}.")
            }
            tables = torch.cat([own["bond_type.weight"], own["bond_direction.weight"]], dim=1)
            out = neighbor_sum(x.flatten(0, 1), batch.edge_index[0], batch.edge_ptr).view_as(x)
            x = out + torch.baddbmm(x, bonds, tables)
            x = _linear(x, own["mlp.0.weight"], own["mlp.0.bias"]).relu()
            x = _linear(x, own["mlp.2.weight"], own["mlp.2.bias"])
            x = self._normalize(x, layer, padded, is_active)
            x = x if layer == self._layers - 1 else x.relu()
            x = x if is_active is None else self._drop(x, padded)
        sums = graph_sum(x.flatten(0, 1), batch.graph, batch.atom_ptr)
        means = (sums / padded.sizes).view(count, -1, x.shape[2])[:, :-1]
        return _linear(means, state["head.weight"], state["head.bias"])

    def _normalize(self, x: Tensor, layer: int, padded: _Padded, is_active: Tensor | None) -> Tensor:
        """Apply batch normalization of each replica. Rows of padding are 0 afterwards."""
        weight, bias, running_mean, running_variance = (
            self._state[f"norms.{layer}.{name}"] for name in ("weight", "bias", "running_mean", "running_var")
        )
        norm = self._replicas[0].encoder.norms[layer]
        assert isinstance(norm, BatchNorm)
        assert norm.momentum is not None
        if is_active is None:
            mean, variance = running_mean.unsqueeze(1), running_variance.unsqueeze(1)
        else:
            mean = (x * padded.is_atom).sum(1, keepdim=True) / padded.counts
            variance = ((x - mean) * padded.is_atom).square().sum(1, keepdim=True) / padded.counts
            with torch.no_grad():
                unbiased = variance * padded.counts / (padded.counts - 1).clamp_min(1)
                share = norm.momentum * is_active.view(-1, 1)
                running_mean += share * (mean.squeeze(1) - running_mean)
                running_variance += share * (unbiased.squeeze(1) - running_variance)
        scale = weight.unsqueeze(1) * torch.rsqrt(variance + norm.eps)
        return ((x - mean) * scale + bias.unsqueeze(1)) * padded.is_atom

    def _drop(self, x: Tensor, padded: _Padded) -> Tensor:
        """Apply the dropout of each replica. On a CPU, masks are those of `finetune`."""
        if not self._dropout.any():
            return x
        if self._device.type == "cpu":
            kept = torch.ones_like(x)
            for place, (replica, random) in enumerate(zip(self._replicas, self._random, strict=True)):
                if replica.dropout:
                    atoms = int(padded.is_atom[place].sum())
                    kept[place, :atoms].bernoulli_(1 - replica.dropout, generator=random)
        else:
            kept = (torch.rand_like(x) >= self._dropout).to(x.dtype)
        return x * kept / (1 - self._dropout)

    def _loss(self, logits: Tensor, rows: Sequence[Rows]) -> Tensor:
        """Return the mean cross-entropy of each replica over the labels that exist, (R,), as `label_loss` does."""
        labels = torch.full(logits.shape, -1, dtype=torch.int8, device=self._device)
        for place, each in enumerate(rows):
            labels[place, : len(each)] = self._labels[torch.from_numpy(each).to(self._device)]
        weight = (labels >= 0).to(logits.dtype)
        target = labels.clamp_min(0).to(logits.dtype)
        losses = F.binary_cross_entropy_with_logits(logits, target, weight, reduction="none").sum((1, 2))
        return losses / weight.sum((1, 2)).clamp_min(torch.finfo(logits.dtype).tiny)


def _head(replica: Replica, outputs: int) -> tuple[nn.Linear, torch.Generator]:
    """Return the head that `finetune` makes from the seed, and the random numbers that follow."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(replica.seed)
        head = nn.Linear(replica.encoder.width, outputs)
        random = torch.Generator()
        random.set_state(torch.get_rng_state())
    return head, random


def _linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Return (R, N, O) for x (R, N, D), weight (R, O, D) and bias (R, O)."""
    return torch.baddbmm(bias.unsqueeze(1), x, weight.transpose(1, 2))


def _spread(values: Tensor, row: Tensor, is_atom: Tensor) -> Tensor:
    """Return values of atoms at their rows among the padding, which is 0."""
    return values.new_zeros(len(is_atom)).index_copy_(0, row, values)


def _pointer(counts: Tensor) -> Tensor:
    return F.pad(counts.cumsum(0), (1, 0))


def finetune_replicas(
    replicas: Sequence[Replica], data: TaskwiseDataset, epochs: int, batch_size: int = 32, device: str = "cpu"
) -> list[Cell | None]:
    """Fine-tune all replicas, and return the `curves` of each; None if its loss is not a number in some epoch."""
    group = Replicas(replicas, data, batch_size, device)
    losses: list[NDArray[np.float64]] = []
    scores: dict[str, list[NDArray[np.float64]]] = {"valid": [], "test": []}  # each epoch: (R, 1 + tasks)
    for epoch in range(epochs):
        losses.append(group.epoch(epoch))
        for part, made in scores.items():
            rows = [getattr(each.split, part) for each in replicas]
            made.append(np.array([_scores(data, *each) for each in zip(group.logits(rows), rows, strict=True)]))
    loss, valid, test = (np.stack(each, axis=1) for each in (losses, scores["valid"], scores["test"]))  # (R, E, ...)
    return [
        curves(loss[place].tolist(), valid[place], test[place], each.split) if np.isfinite(loss[place]).all() else None
        for place, each in enumerate(replicas)
    ]


def _scores(data: TaskwiseDataset, logits: NDArray[np.float32], rows: Rows) -> tuple[float, ...]:
    return data.scores(logits, rows) if np.isfinite(logits).all() else (np.nan,) * len(data.metrics)
