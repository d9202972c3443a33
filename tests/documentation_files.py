"""The small files that documentation pages read, under the names that the pages give them."""

import gzip
import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path

from rdkit import Chem

PI3K_ALPHA = Path(__file__).parents[1] / "docs/assets/pi3k-alpha.csv"
"""Molecules of a series with measured affinities, which pages about structure and activity read."""


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


def copy_pi3k_alpha(folder: Path) -> None:
    """Copy pi3k-alpha.csv, which a reader downloads."""
    shutil.copy(PI3K_ALPHA, folder)
