"""Data-parallel training: sums and rows over several processes, with gradients.

Every rank encodes its part of a batch and computes the loss of the whole batch. The gradient of a sum over ranks is the
sum of the ranks' gradients. Each rank therefore gets `size` times its part of the gradient, and the mean over ranks is
the gradient itself. Negatives, batch normalization and AdaM's masks are those of the whole batch, so the number of
processes changes only the time and the last bits.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed
from torch import Tensor

from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.model.device import select_device


@dataclass(frozen=True)
class Ranks:
    """The rank of this process among `size` processes that run in step.

    With `size` > 1, `torch.distributed` is initialized.
    """

    rank: int = 0
    size: int = 1

    @classmethod
    def initialized(cls) -> "Ranks":
        """Return the rank and size of the default process group."""
        return cls(torch.distributed.get_rank(), torch.distributed.get_world_size())

    def wait(self) -> None:
        """Block until all ranks call this."""
        if self.size > 1:
            torch.distributed.barrier()

    def share(self, count: int) -> slice:
        """Return this rank's part of `count` consecutive items. The sizes of parts differ by at most one."""
        return slice(count * self.rank // self.size, count * (self.rank + 1) // self.size)

    def sum(self, values: Tensor) -> Tensor:
        """Return the sum over all ranks, on every rank."""
        return values if self.size == 1 else _Sum.apply(values)

    def rows(self, values: Tensor, start: int, count: int) -> Tensor:
        """Return the rows of all ranks, (count, ...). `values` holds this rank's rows, which begin at `start`."""
        if self.size == 1:
            return values
        zeros_before = values.new_zeros(start, *values.shape[1:])
        zeros_after = values.new_zeros(count - start - len(values), *values.shape[1:])
        return self.sum(torch.cat([zeros_before, values, zeros_after]))

    def average_gradients(self, parameters: Iterable[Tensor]) -> None:
        """Replace the gradients by their means over the ranks."""
        if self.size == 1:
            return
        gradients = [each.grad for each in parameters if each.grad is not None]
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        torch.distributed.all_reduce(flat)
        flat /= self.size
        for gradient, mean in zip(gradients, torch.split(flat, [each.numel() for each in gradients]), strict=True):
            gradient.copy_(mean.view_as(gradient))


ALONE = Ranks()


@contextmanager
def process_group(device: str) -> Iterator[tuple[Ranks, torch.device]]:
    """Yield this process's rank among those that torchrun started, and its device; rank 0 of 1 without torchrun.

    Args:
        device: `cpu` or `cuda`. With `cuda`, each process of a machine gets a GPU of its own.

    Raises:
        InvalidInput: There are fewer GPUs than processes.
    """
    torch_device = select_device(device)
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield ALONE, torch_device
        return
    if device == "cuda":
        torch_device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        if torch_device.index >= torch.cuda.device_count():
            raise InvalidInput(
                "there are more processes than GPUs",
                given=str(torch_device),
                expected=f"at most {torch.cuda.device_count()} processes",
                hint=f"start torchrun with --nproc-per-node {torch.cuda.device_count()}",
            )
        torch.cuda.set_device(torch_device)
    torch.distributed.init_process_group("nccl" if device == "cuda" else "gloo")
    yield Ranks.initialized(), torch_device
    torch.distributed.destroy_process_group()  # skipped after an error, because it would wait for the other ranks


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:  # noqa: ARG004
        total = values.clone()
        torch.distributed.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:  # noqa: ARG004
        total = gradient.clone()
        torch.distributed.all_reduce(total)
        return total
