"""Molecules clustered by Bemis and Murcko's scaffolds."""

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pyarrow as pa
from rdkit import Chem
from rdkit.Chem.Scaffolds import MurckoScaffold

from graphkin.collection.clusters.partition import Clusters
from graphkin.runtime.workers.context import CONTEXT
from graphkin.similarity.kind import Advance
from graphkin.similarity.threads import in_order
from graphkin.store.base import Generation


def by_scaffold(generation: Generation, processes: int, advance: Advance = lambda _: None) -> Clusters:
    """Molecules of one ring system with its linkers together, each cluster named by its first; those without rings are
    one."""
    found = list[pa.Array]()
    with ProcessPoolExecutor(processes, CONTEXT) as pool:

        def calls() -> Iterator[Callable[[], list[str]]]:
            for batch in generation.columns(["smiles"]):
                texts = batch["smiles"].to_pylist()
                yield lambda texts=texts: pool.submit(_scaffolds, texts).result()  # type: ignore[misc]

        for scaffolds in in_order(calls(), processes):
            found.append(pa.array(scaffolds, pa.string()))
            advance(len(scaffolds))
    label = np.asarray(pa.chunked_array(found).combine_chunks().dictionary_encode().indices)
    _, first = np.unique(label, return_index=True)
    return Clusters.of(label, first.astype(np.int32))


def _scaffolds(smiles: list[str]) -> list[str]:
    return [MurckoScaffold.MurckoScaffoldSmiles(mol=Chem.MolFromSmiles(each)) for each in smiles]  # type: ignore[no-untyped-call]
