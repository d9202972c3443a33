"""Clusters of molecules with the same Bemis-Murcko scaffold."""

from contextlib import closing

import numpy as np
import pyarrow as pa
from rdkit import Chem
from rdkit.Chem.Scaffolds import MurckoScaffold

from graphkin.collection.clusters.partition import Clusters
from graphkin.collection.processes import map_in_processes
from graphkin.similarity.kind import Advance
from graphkin.store.base import Generation


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
    smiles = (batch["smiles"].to_pylist() for batch in generation.columns(["smiles"]))
    scaffolds: list[pa.Array] = []
    with closing(map_in_processes(_scaffolds, smiles, processes, "scaffolds")) as results:
        for result in results:
            scaffolds.append(pa.array(result, pa.string()))
            advance(len(result))
    label = np.asarray(pa.chunked_array(scaffolds).combine_chunks().dictionary_encode().indices)
    _, first = np.unique(label, return_index=True)
    return Clusters.from_labels(label, first.astype(np.int32))


def _scaffolds(smiles: list[str]) -> list[str]:
    return [MurckoScaffold.MurckoScaffoldSmiles(mol=Chem.MolFromSmiles(each)) for each in smiles]  # type: ignore[no-untyped-call]
