"""Inputs of the job `step`, ready to train on: folders that `graphkin fetch` would write, packed into one archive.

A machine that trains from them needs neither RDKit nor the minutes that reading molecules takes.
"""

import tarfile
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from graphkin.trainer.feed.offline import OfflineSource, write_offline
from graphkin.trainer.feed.source import Source
from graphkin.trainer.strategy import Sampling

MOLECULES = 50_000
"""Number of molecules in the archive, the first of ZINC250k."""
EPOCHS = 7
"""Number of epochs of strategies with positives: 1,365 steps of batch 256 in the archive."""


def write_inputs(folder: Path, molecules: Path, samples: Iterable[Sampling], workers: int) -> None:
    """Ingest a file of molecules, and write a folder for each kind of samples."""
    from graphkin.ingest.options import IngestOptions
    from graphkin.ingest.pipeline import ingest
    from graphkin.library.training import open_stored
    from graphkin.similarity.molecules.recipe import resolve
    from graphkin.store import open_generation, open_store
    from graphkin.trainer.feed.cache import Cache

    recipe = resolve(fingerprint={"name": "rdkit"}, threshold=0.5)
    with TemporaryDirectory() as temporary:
        store = Path(temporary, "store")
        with open_store(store, create=True) as opened:
            ingest(opened, "step", [str(molecules)], recipe, IngestOptions(workers=workers))
        with open_generation(store, "step", None) as generation:
            cache = Cache(Path(temporary, "cache"), 2**33)  # the features are the same for all samples
            for name, sampling in {_name(sampling): sampling for sampling in samples}.items():
                (folder / name).mkdir(parents=True)
                epochs = EPOCHS if sampling.policy else 0
                with open_stored(generation, sampling, workers, cache=cache, last=epochs - 1) as source:
                    write_offline(source, epochs, folder / name)


def pack_inputs(archive: Path, smiles: Iterable[str], samples: Iterable[Sampling], workers: int) -> None:
    """Write the inputs of these molecules as an archive."""
    with TemporaryDirectory() as temporary:
        file, folder = Path(temporary, "molecules.smi"), Path(temporary, "inputs")
        file.write_text("".join(f"{each}\n" for each in smiles))
        write_inputs(folder, file, samples, workers)
        with tarfile.open(archive, "w:xz") as tar:
            tar.add(folder, "inputs")


def unpack_inputs(archive: Path, parent: Path) -> None:
    """Extract the archive into parent/inputs, unless that folder exists."""
    if not (parent / "inputs").exists():
        parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(archive) as tar:
            tar.extractall(parent, filter="data")


def open_inputs(folder: Path, sampling: Sampling) -> Source:
    """Return the source with these samples from a folder of inputs."""
    return OfflineSource(folder / _name(sampling), sampling)


def _name(sampling: Sampling) -> str:
    """Return the name of the folder of these samples."""
    if sampling.policy is not None:
        return sampling.policy.name
    return "none" if sampling.views is None else "-".join(sampling.views.operations)
