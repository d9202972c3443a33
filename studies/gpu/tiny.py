"""Small substitutes that let every line of a job run on a CPU within seconds."""

import csv
import gzip
from dataclasses import replace

from graphkin.trainer.pretraining.config import Model, PretrainConfig
from studies.gpu.molecules import tiny_molecules
from studies.gpu.setting import Setting

TINY_MODEL = Model(layers=2, width=16)
_BATCH = 16
_LABELLED = 200
_NODES = 120


def shrunk(config: PretrainConfig, steps: int) -> PretrainConfig:
    """Return the configuration with a small encoder, small batches and a few steps."""
    draws = replace(config.draws, batch_size=_BATCH, negatives=min(config.draws.negatives, 4))
    model = replace(TINY_MODEL, encoder=config.model.encoder)
    return replace(config, draws=draws, model=model, max_steps=steps)


def write_data(setting: Setting) -> None:
    """Write graphs, and the molecules of a tiny run in place of ZINC250k, BBBP and a MoleculeACE set.

    Every second molecule of BBBP is positive.
    """
    _write_graphs(setting)
    zinc = setting.data / "molecules" / "zinc250k.smiles.gz"
    path = setting.data / "moleculenet" / "BBBP.csv"
    values = setting.data / "moleculeace" / "CHEMBL2147_Ki.csv"
    for folder in (zinc.parent, path.parent, values.parent):
        folder.mkdir(parents=True, exist_ok=True)
    molecules = tiny_molecules()
    with gzip.open(zinc, "wt") as compressed:
        compressed.writelines(f"{smiles}\n" for smiles in molecules)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["num", "name", "p_np", "smiles"])
        for number, smiles in enumerate(molecules[:_LABELLED]):
            writer.writerow([number, f"molecule {number}", number % 2, smiles])
    with values.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["smiles", "y"])
        writer.writerows([smiles, number * 7 % 10] for number, smiles in enumerate(molecules[:_LABELLED]))


def _write_graphs(setting: Setting) -> None:
    """Write trees in place of Facebook and US-Airport. Nodes with an odd number have the class 1."""
    folder = setting.data / "nodes"
    folder.mkdir(parents=True, exist_ok=True)
    edges = [(node, node // 3) for node in range(1, _NODES)]
    with gzip.open(folder / "facebook_edges.csv.gz", "wt") as file:
        file.writelines(["source,target\n", *(f"{a},{b}\n" for a, b in edges)])
    (folder / "usa-airports.edgelist").write_text("".join(f"{a} {b}\n" for a, b in edges))
    labels = ["node label\n", *(f"{node} {node % 2}\n" for node in range(_NODES))]
    (folder / "labels-usa-airports.txt").write_text("".join(labels))
