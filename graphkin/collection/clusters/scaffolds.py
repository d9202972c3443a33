"""Clusters of molecules with the same Bemis-Murcko scaffold."""

from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pyarrow as pa
from rdkit import Chem
from rdkit.Chem.Scaffolds import MurckoScaffold

from graphkin.collection.clusters.partition import Clusters
from graphkin.collection.processes import map_in_processes
from graphkin.similarity.kind import Advance
from graphkin.store.base import Generation

_CHUNK = 512  # molecules that a worker process reads at a time, less than a second of work


def scaffold_clusters(generation: Generation, processes: int, advance: Advance = lambda _: None) -> Clusters:
    """Return one cluster for each Bemis-Murcko scaffold. All molecules without rings are one cluster.

    The center of a cluster is its first molecule.

    Args:
        generation: A generation of molecules.
        processes: The number of worker processes.
        advance: A function that is called with the number of molecules that have been processed.

    Raises:
        StoreError: The operating system ended a worker process, for example for lack of memory.
    """
    scaffolds: list[pa.Array] = []
    with closing(map_in_processes(_scaffolds, smiles_chunks(generation), processes, "scaffolds")) as results:
        for result in results:
            scaffolds.append(pa.array(result, pa.string()))
            advance(len(result))
    label = np.asarray(pa.chunked_array(scaffolds).combine_chunks().dictionary_encode().indices)
    _, first = np.unique(label, return_index=True)
    return Clusters.from_labels(label, first.astype(np.int32))


def smiles_chunks(generation: Generation) -> Iterator[list[str]]:
    """Yield the SMILES of all molecules in chunks for worker processes."""
    for batch in generation.columns(["smiles"]):
        smiles = batch["smiles"].to_pylist()
        yield from (smiles[start : start + _CHUNK] for start in range(0, len(smiles), _CHUNK))


def scaffold_of(molecule: Chem.Mol) -> str:
    """Return the canonical SMILES of the Bemis-Murcko scaffold of a molecule, without stereo, empty without rings."""
    return MurckoScaffold.MurckoScaffoldSmiles(mol=molecule)  # type: ignore[no-untyped-call]


def _scaffolds(smiles: list[str]) -> list[str]:
    return [scaffold_of(Chem.MolFromSmiles(each)) for each in smiles]
