"""Time of a training step: GIN, HGC(FO), 256 anchors with three positives each, 1,024 molecules.

    python -m benchmarks.step [--device cpu|cuda] [--batch-size 256] [--steps 20] [--blocks 5] [--bf16]

Random molecules take the place of positives, which makes no difference to a step. A step begins with ids on the host
and includes assembly, forward, backward, clipping and Adam. The output is the median of timed blocks of steps. On CUDA
it includes the summed time of all kernels and copies per step, by torch.profiler, and the peak of allocated memory.
"""

import argparse
import os
import statistics
from time import perf_counter

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile

from benchmarks.data import molecules
from graphkin.trainer.features.featurize import featurize
from graphkin.trainer.model.batch import Assembler
from graphkin.trainer.pretraining.clock import Clock
from graphkin.trainer.pretraining.config import PretrainConfig
from graphkin.trainer.pretraining.objective import Draw
from graphkin.trainer.pretraining.trainer import Trainer

_WARM_UP = 5


class Steps:
    """Training steps of the published run on random molecules."""

    def __init__(self, config: PretrainConfig, assembler: Assembler) -> None:
        self._config = config
        self._size = assembler.size
        self._cuda = assembler.device.type == "cuda"
        self._random = np.random.default_rng(0)
        self._trainer = Trainer(config, assembler)

    def seconds(self, count: int) -> float:
        """Return the seconds of `count` steps, until the device has finished them."""
        draws, clock = [self._draw() for _ in range(count)], Clock()
        self._wait()
        begin = perf_counter()
        for step, draw in enumerate(draws):
            self._trainer.step(step, self._config.optimization.learning_rate, draw, clock)
        self._wait()
        return perf_counter() - begin

    def kernel_seconds(self, count: int) -> float:
        """Return the summed time of all device work in `count` steps."""
        with profile(activities=[ProfilerActivity.CUDA]) as profiler:
            self.seconds(count)
        kernels = [event for event in profiler.events() if event.device_type.name == "CUDA"]
        return float(sum(event.time_range.elapsed_us() for event in kernels) / 1e6)

    def _draw(self) -> Draw:
        anchors = self._config.draws.batch_size
        assert self._config.draws.policy
        ids = self._random.integers(self._size, size=(anchors, 1 + self._config.draws.policy.k), dtype=np.int32)
        return Draw(ids[:, 0], ids[:, 1:], np.empty(0, np.int32))

    def _wait(self) -> None:
        if self._cuda:
            torch.cuda.synchronize()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--molecules", type=int, default=20_000)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--steps", type=int, default=20, help="steps in a block")
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("--bf16", action="store_true")
    options = parser.parse_args()
    source, lines = molecules(options.molecules)
    corpus = featurize([line.split()[0] for line in lines], source, os.cpu_count() or 1)
    config = PretrainConfig.from_strategy("hgc-fo", batch_size=options.batch_size, bf16=options.bf16)
    steps = Steps(config, Assembler(corpus, options.device))
    steps.seconds(_WARM_UP)
    median = statistics.median(steps.seconds(options.steps) for _ in range(options.blocks)) / options.steps
    on = torch.cuda.get_device_name() if options.device == "cuda" else f"{torch.get_num_threads()} threads"
    print(f"{corpus.size:,} molecules of {source}, batch {options.batch_size}, {on}: {1e3 * median:.2f} ms a step")
    if options.device == "cuda":
        kernels = steps.kernel_seconds(options.steps) / options.steps
        print(f"  kernels {1e3 * kernels:.2f} ms, the step {median / kernels:.2f} times as long")
        print(f"  at most {torch.cuda.max_memory_allocated() / 2**30:.2f} GiB")


if __name__ == "__main__":
    main()
