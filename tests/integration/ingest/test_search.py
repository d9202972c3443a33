"""Searches of an ingested collection by its index."""

from pathlib import Path

import numpy as np

from graphkin.collection.structures import read_structure
from graphkin.ingest.pipeline import IngestOptions, ingest
from graphkin.similarity.molecules.recipe import resolve
from graphkin.similarity.molecules.search import MoleculeSearch
from graphkin.similarity.planes import BitPlanes
from graphkin.store import open_store


def test_search_by_index_equals_a_scan(tmp_path: Path, nci_file: Path, nci_smiles: list[str]) -> None:
    with open_store(tmp_path / "store", create=True) as store:
        ingest(store, "c", [str(nci_file)], resolve(), IngestOptions(workers=1))
        with store.open("c") as generation:
            assert set(generation.index()) == set(BitPlanes._fields)
            molecule_search = MoleculeSearch(generation)
            all_words = generation.fingerprints().words
            for smiles in nci_smiles[:200:20]:
                query = read_structure(resolve(), smiles=smiles)
                hits = molecule_search.search(query, None, 30)
                similarity = np.bitwise_count(all_words & query.arrays[0]).sum(axis=1) / np.maximum(
                    np.bitwise_count(all_words | query.arrays[0]).sum(axis=1), 1
                )
                expected = np.lexsort((np.arange(len(all_words)), -similarity.astype(np.float32)))[:30]
                assert hits.ids.tolist() == expected.tolist()
