"""Morgan fingerprints of many molecules, computed on all cores and saved to a file, and the device that joins them."""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch

from benchmarks.join import fingerprint
from graphkin.similarity.cuda.device import require_cuda
from graphkin.similarity.molecules.recipe import MoleculeRecipe
from studies.gpu.setting import Setting

_CHUNK = 2000


def join_device(setting: Setting) -> torch.device:
    """Return the GPU or, in a tiny run, the CPU, which interprets the kernel.

    Raises:
        InvalidInput: There is no GPU.
    """
    return torch.device("cpu") if setting.tiny else require_cuda()


def fingerprint_file(setting: Setting, name: str) -> Path:
    return setting.data / f"{name}.npy"


def write_fingerprints(path: Path, smiles: Sequence[str], workers: int) -> None:
    """Write the fingerprints of all readable SMILES as (n, words) uint64, unless the file exists."""
    if path.exists():
        return
    chunks = [list(smiles[begin : begin + _CHUNK]) for begin in range(0, len(smiles), _CHUNK)]
    with ProcessPoolExecutor(workers, get_context("forkserver")) as pool:
        packed = b"".join(pool.map(fingerprint, chunks))
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(".partial.npy")
    np.save(draft, np.frombuffer(packed, "<u8").reshape(-1, MoleculeRecipe().fingerprint.words))
    draft.rename(path)
