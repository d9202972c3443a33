"""Clusters of molecules by Bemis and Murcko's scaffolds."""

from contextlib import closing

import numpy as np
import pyarrow as pa
from rdkit import Chem
from rdkit.Chem.Scaffolds import MurckoScaffold

from graphkin.collection.clusters.partition import Clusters
from graphkin.protocol.errors import StoreError
from graphkin.runtime.workers.chunks import ProcessEnded, map_chunks
from graphkin.similarity.kind import Advance
from graphkin.store.base import Generation


def scaffold_clusters(generation: Generation, processes: int, advance: Advance = lambda _: None) -> Clusters:
    """Return one cluster for each scaffold, named by its first molecule; molecules without rings are one cluster.

    Raises `StoreError` if the system ends a worker process.
    """
    smiles = (batch["smiles"].to_pylist() for batch in generation.columns(["smiles"]))
    scaffolds: list[pa.Array] = []
    try:
        with closing(map_chunks(_scaffolds, smiles, processes)) as results:
            for result in results:
                scaffolds.append(pa.array(result, pa.string()))
                advance(len(result))
    except ProcessEnded as error:
        raise StoreError(str(error), hint="is there enough memory?") from error
    label = np.asarray(pa.chunked_array(scaffolds).combine_chunks().dictionary_encode().indices)
    _, first = np.unique(label, return_index=True)
    return Clusters.from_labels(label, first.astype(np.int32))


def _scaffolds(smiles: list[str]) -> list[str]:
    return [MurckoScaffold.MurckoScaffoldSmiles(mol=Chem.MolFromSmiles(each)) for each in smiles]  # type: ignore[no-untyped-call]
