"""The small files that documentation pages read, under the names that the pages give them."""

import gzip
import zipfile
from collections.abc import Sequence
from pathlib import Path

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rdkit import Chem
from rdkit.Chem import rdFingerprintGenerator
from scipy.io import mmwrite
from scipy.sparse import csr_matrix, save_npz

_GENERATOR = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=1024)


def packed_bits(smiles: str) -> np.ndarray:
    """Return a Morgan fingerprint of 1,024 bits as 128 bytes."""
    return np.packbits(list(_GENERATOR.GetFingerprint(Chem.MolFromSmiles(smiles))), bitorder="little")


def write_molecules(folder: Path, smiles: Sequence[str]) -> None:
    """Write molecules.csv.gz, with aspirin, more.csv.gz, withdrawn.txt, list.sdf and mine.csv."""
    drugs = [*((each, f"NCI {row}") for row, each in enumerate(smiles)), ("CC(=O)Oc1ccccc1C(=O)O", "aspirin")]
    for name, rows in (("molecules", drugs[-300:]), ("more", drugs[:20])):
        with gzip.open(folder / f"{name}.csv.gz", "wt") as file:
            file.writelines(["smiles,id\n", *(f"{each},{name_of_drug}\n" for each, name_of_drug in rows)])
    (folder / "withdrawn.txt").write_text("NCI 4900\n")
    with Chem.SDWriter(str(folder / "list.sdf")) as file:
        for each in smiles[:20]:
            file.write(Chem.MolFromSmiles(each))
    (folder / "mine.csv").write_text("smiles\n" + "\n".join(smiles[:50]) + "\n")


def write_data_sets(folder: Path, smiles: Sequence[str]) -> None:
    """Write 250k_rndm_zinc_drugs_clean_3.csv, 300 molecules, and bace.csv, 200, with the columns of the originals."""
    zinc = "".join(f"{each},1.0,0.5,2.0\n" for each in smiles[:300])
    (folder / "250k_rndm_zinc_drugs_clean_3.csv").write_text(f"smiles,logP,qed,SAS\n{zinc}")
    bace = "".join(f"{each},{row % 2}\n" for row, each in enumerate(smiles[:200]))
    (folder / "bace.csv").write_text(f"mol,Class\n{bace}")


def write_graphs(folder: Path) -> None:
    """Write IMDB-BINARY.zip in TUDataset's layout, and graphs.jsonl."""
    with zipfile.ZipFile(folder / "IMDB-BINARY.zip", "w") as archive:
        for part, lines in {
            "A": ["1, 2", "2, 1", "2, 3", "3, 2", "3, 1", "1, 3", "4, 5", "5, 4"],
            "graph_indicator": ["1", "1", "1", "2", "2"],
            "graph_labels": ["0", "1"],
        }.items():
            archive.writestr(f"IMDB-BINARY/IMDB-BINARY_{part}.txt", "\n".join(lines) + "\n")
    (folder / "graphs.jsonl").write_text('{"name": "a", "edges": [[0, 1], [1, 2]]}\n{"name": "b", "edges": [[0, 1]]}\n')


def write_large_graphs(folder: Path) -> None:
    """Write the karate club as flights.edgelist with labels.txt, and as a.csv, b.mtx.gz and c.npz."""
    flights = nx.karate_club_graph()
    nx.write_edgelist(nx.relabel_nodes(flights, lambda node: 10241 + node), folder / "flights.edgelist", data=False)
    (folder / "labels.txt").write_text("node label\n" + "".join(f"{10241 + node} {node % 4}\n" for node in flights))
    (folder / "a.csv").write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in flights.edges))
    matrix = nx.to_scipy_sparse_array(flights, weight=None, format="csr")
    with gzip.open(folder / "b.mtx.gz", "wb") as file:
        mmwrite(file, matrix)
    save_npz(folder / "c.npz", csr_matrix(matrix))


def write_fingerprints(folder: Path, smiles: Sequence[str]) -> None:
    """Write bits.npy with names.txt, chembl.fps.gz, and mine.parquet with the columns smiles and fp."""
    packed = np.stack([packed_bits(each) for each in smiles])
    np.save(folder / "bits.npy", packed)
    (folder / "names.txt").write_text("".join(f"{row}\n" for row in range(len(smiles))))
    with gzip.open(folder / "chembl.fps.gz", "wt") as file:
        file.write("#FPS1\n#num_bits=1024\n")
        file.writelines(f"{row.tobytes().hex()}\tCHEMBL{number}\n" for number, row in enumerate(packed))
    given = pa.array([row.tobytes() for row in packed], pa.binary(packed.shape[1]))
    pq.write_table(pa.table({"smiles": smiles, "fp": given}), folder / "mine.parquet")
