"""Joins on a CPU, by Triton's interpreter. TRITON_INTERPRET=1 must be set before Triton is imported.

    TRITON_INTERPRET=1 python interpreted.py FOLDER

For each FOLDER/NAME.npz with `words`, `threshold`, `sizes`, `old_count` and `first_task`, it writes
FOLDER/NAME.result.npz with the pairs, the number of pairs of each task, and the progress before the first task and
of each task.
"""

import sys
from pathlib import Path

import numpy as np
import torch

from graphkin.similarity.cuda.fingerprints import SortedFingerprints
from graphkin.similarity.cuda.join import DeviceJoin
from graphkin.similarity.cuda.sizes import Sizes
from graphkin.similarity.join import AppendJoin, Join, Pairs

CPU = torch.device("cpu")


def join_of(words: np.ndarray, threshold: float, sizes: Sizes, old_count: int) -> Join:
    """Return the join of all words, or of new with all if some are old."""
    old, new = SortedFingerprints.from_words(words[:old_count]), SortedFingerprints.from_words(words[old_count:])
    new_with_new = DeviceJoin(new, None, threshold, CPU, sizes)
    if not old_count:
        return new_with_new
    return AppendJoin(old_count, DeviceJoin(old, new, threshold, CPU, sizes), new_with_new)


def main(folder: Path) -> None:
    for path in sorted(folder.glob("*.npz")):
        case = np.load(path)
        join = join_of(case["words"], float(case["threshold"]), Sizes(*case["sizes"].tolist()), int(case["old_count"]))
        first_task = int(case["first_task"])
        progress = [join.progress(first_task)]
        tasks = list(join.pairs(first_task, advance=progress.append))
        pairs = Pairs.concatenate(tasks)
        counts = [len(task) for task in tasks]
        np.savez(
            path.with_suffix(".result.npz"), **vars(pairs), tasks=join.task_count, counts=counts, progress=progress
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
