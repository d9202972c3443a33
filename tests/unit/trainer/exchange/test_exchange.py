"""Weights that leave graphkin and return: the same embeddings, in plain PyTorch and in PyTorch Geometric too."""

import json
import pickle
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
from rdkit import Chem
from torch import Tensor

from graphkin.cli import run as run_command
from graphkin.protocol.errors import Conflict, InvalidInput
from graphkin.trainer.downstream.embed import embed
from graphkin.trainer.exchange.exports import ExportedEncoder
from graphkin.trainer.exchange.imports import read_encoder
from graphkin.trainer.features.featurize import featurize
from graphkin.trainer.model.encoder import Encoder
from graphkin.trainer.pretraining.checkpoint import Run, read_run
from graphkin.trainer.pretraining.config import Model, PretrainConfig
from graphkin.trainer.pretraining.objective import make_encoder
from graphkin.trainer.pretraining.pretrained import encoder_checkpoint, load_encoder
from graphkin.trainer.strategy import ENCODERS

SMILES = ["CCO", "c1ccccc1C#N", "C[C@H](N)C(=O)O", "F/C=C/Cl", "[Na+].[Cl-]", "*CC", "C", "N[C@@H](C)C(=O)O"]
GENERATION = {"collection": "m", "id": "abc", "size": 8, "kind": "molecule"}


def new_run(folder: Path, encoder: str) -> Encoder:
    """Write a run whose encoder has random weights and running statistics, and return the encoder."""
    config = PretrainConfig.from_strategy("hgc-fo", model=Model(encoder, layers=3, width=12))
    torch.manual_seed(len(encoder))
    module = make_encoder(config.model)
    for name, tensor in module.state_dict().items():
        if tensor.is_floating_point():
            tensor.copy_(torch.rand_like(tensor) + 0.5 if name.endswith("running_var") else torch.randn_like(tensor))
    run = Run(folder, {"config": config.as_json(), "generation": GENERATION}, resume=False)
    run.save(encoder_checkpoint(module, 7, 1))
    return module.eval()


@pytest.fixture(params=ENCODERS)
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    new_run(tmp_path / "run", request.param)
    return tmp_path / "run"


def embeddings(folder: Path) -> np.ndarray:
    return embed(load_encoder(folder).encoder, featurize(SMILES, ""))


def export_file(run: Path, path: Path, format: str) -> dict[str, Tensor]:
    with path.open("wb") as file:
        ExportedEncoder.from_checkpoint(run).write_file(file, format)  # type: ignore[arg-type]
    return torch.load(path, weights_only=True)


def pretrain_gnns(encoder: str, weights: Mapping[str, Tensor], smiles: str) -> Tensor:
    """Return the embedding of a molecule by weights of pretrain-gnns, from the formulas of Hu et al. (2020)."""
    molecule = Chem.MolFromSmiles(smiles)
    elements = [number - 1 if (number := atom.GetAtomicNum()) else 118 for atom in molecule.GetAtoms()]
    tags = [min(int(atom.GetChiralTag()), 2) for atom in molecule.GetAtoms()]
    kinds = [Chem.BondType.SINGLE, Chem.BondType.DOUBLE, Chem.BondType.TRIPLE, Chem.BondType.AROMATIC]
    ways = [Chem.BondDir.NONE, Chem.BondDir.ENDUPRIGHT, Chem.BondDir.ENDDOWNRIGHT]
    neighbors = {atom: [(atom, 4, 0)] for atom in range(molecule.GetNumAtoms())}
    for bond in molecule.GetBonds():
        first, second = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
        code = kinds.index(bond.GetBondType()), ways.index(bond.GetBondDir())
        neighbors[first].append((second, *code))
        neighbors[second].append((first, *code))
    h = weights["x_embedding1.weight"][elements] + weights["x_embedding2.weight"][tags]
    layers = len({name.split(".")[1] for name in weights if name.startswith("gnns.")})
    for layer in range(layers):
        part = {name.removeprefix(f"gnns.{layer}."): value for name, value in weights.items()}
        norm = {name.removeprefix(f"batch_norms.{layer}."): value for name, value in weights.items()}
        if encoder != "gin":
            h = h @ part["linear.weight"].T + part["linear.bias"]
        rows = []
        for edges in neighbors.values():
            messages = [
                (h[other] + part["edge_embedding1.weight"][kind] + part["edge_embedding2.weight"][way])
                / ((len(edges) * len(neighbors[other])) ** 0.5 if encoder == "gcn" else 1)
                for other, kind, way in edges
            ]
            rows.append(torch.stack(messages).sum(0) / (len(edges) if encoder == "sage" else 1))
        h = torch.stack(rows)
        if encoder == "gin":
            h = (h @ part["mlp.0.weight"].T + part["mlp.0.bias"]).clamp_min(0)
            h = h @ part["mlp.2.weight"].T + part["mlp.2.bias"]
        if encoder == "sage":
            h = h / h.norm(dim=1, keepdim=True)
        h = (h - norm["running_mean"]) / (norm["running_var"] + 1e-5).sqrt() * norm["weight"] + norm["bias"]
        h = h if layer == layers - 1 else h.clamp_min(0)
    mean = h.mean(0)
    return mean / mean.norm()


def test_exported_weights_compute_the_embeddings_of_pretrain_gnns(run: Path, tmp_path: Path) -> None:
    weights = export_file(run, tmp_path / "weights.pth", "pretrain-gnns")
    encoder = load_encoder(run).model.encoder
    expected = torch.stack([pretrain_gnns(encoder, weights, smiles) for smiles in SMILES]).numpy()
    np.testing.assert_allclose(embeddings(run), expected, atol=2e-6)


def test_weights_in_the_layout_of_pretrain_gnns_return_bit_by_bit(run: Path, tmp_path: Path) -> None:
    weights = export_file(run, tmp_path / "weights.pth", "pretrain-gnns")
    names = {"x_embedding1.weight", "x_embedding2.weight", "gnns.0.edge_embedding1.weight", "batch_norms.2.running_var"}
    assert names <= weights.keys()
    encoder = load_encoder(run).model.encoder
    imported = read_encoder(tmp_path / "weights.pth", "pretrain-gnns", None if encoder == "gin" else encoder)
    imported.write(tmp_path / "imported")
    assert np.array_equal(embeddings(tmp_path / "imported"), embeddings(run))
    loaded = load_encoder(tmp_path / "imported")
    assert (loaded.model, loaded.config, loaded.finetuned) == (load_encoder(run).model, None, None)


def test_state_dict_fills_an_encoder(run: Path, tmp_path: Path) -> None:
    weights = export_file(run, tmp_path / "encoder.pt", "state-dict")
    encoder = make_encoder(load_encoder(run).model)
    encoder.load_state_dict(weights)
    assert np.array_equal(embed(encoder, featurize(SMILES, "")), embeddings(run))


def test_folder_of_hugging_face_returns_bit_by_bit_with_its_history(run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    ExportedEncoder.from_checkpoint(run).write_folder(folder, "hugging-face")
    read_encoder(folder, "hugging-face").write(tmp_path / "imported")
    assert np.array_equal(embeddings(tmp_path / "imported"), embeddings(run))
    assert load_encoder(tmp_path / "imported").config == load_encoder(run).config
    options = read_run(tmp_path / "imported")
    assert options.pop("imported") == {"format": "hugging-face", "name": "model"}
    assert options == read_run(run)
    weights = safetensors.torch.load_file(folder / "model.safetensors")
    assert all(torch.equal(weights[name], value) for name, value in load_encoder(run).encoder.state_dict().items())
    card = (folder / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: graphkin\n")
    assert "| pre-training | hgc-fo, seed 0 |\n| steps | 7 |\n| data | collection m, generation abc |\n" in card


@pytest.mark.parametrize("model", [Model.from_kind("node"), Model("gin", 2, 8, features="rich")])
def test_encoder_with_other_features_has_no_module_and_no_file_of_pretrain_gnns(model: Model, tmp_path: Path) -> None:
    run = Run(tmp_path / "run", {"config": None, "model": asdict(model)}, resume=False)
    run.save(encoder_checkpoint(make_encoder(model), 1, 1))
    exported = ExportedEncoder.from_checkpoint(tmp_path / "run")
    (tmp_path / "model").mkdir()
    exported.write_folder(tmp_path / "model", "hugging-face")
    weights = read_encoder(tmp_path / "model", "hugging-face").encoder.state_dict()
    assert all(torch.equal(value, weights[name]) for name, value in exported.pretrained.encoder.state_dict().items())
    (tmp_path / "other").mkdir()
    with pytest.raises(Conflict, match="cannot be exported to the module of PyTorch Geometric"):
        exported.write_folder(tmp_path / "other", "geometric")
    with pytest.raises(Conflict, match="cannot be exported to pretrain-gnns"):
        export_file(tmp_path / "run", tmp_path / "weights.pth", "pretrain-gnns")


WITHOUT_GRAPHKIN = """
import json, sys
sys.modules["graphkin"] = None
folders = sys.argv[1:]
sys.path.insert(0, folders[0])
from encoder import load, molecule
from torch_geometric.data import Batch

batch = Batch.from_data_list([molecule(smiles) for smiles in json.load(sys.stdin)])
print(json.dumps([load(folder).embed(batch).tolist() for folder in folders]))
"""
"""Program that prints the embeddings of molecules by exported modules. It cannot import graphkin."""


def test_module_of_pytorch_geometric_embeds_without_graphkin(tmp_path: Path) -> None:
    for encoder in ENCODERS:
        new_run(tmp_path / encoder, encoder)
        folder = tmp_path / f"{encoder}-module"
        folder.mkdir()
        ExportedEncoder.from_checkpoint(tmp_path / encoder).write_folder(folder, "geometric")
        assert {path.name for path in folder.iterdir()} == {"encoder.py", "encoder.pt", "config.json"}
    folders = [str(tmp_path / f"{encoder}-module") for encoder in ENCODERS]
    command = [sys.executable, "-W", "ignore", "-c", WITHOUT_GRAPHKIN, *folders]
    result = subprocess.run(command, input=json.dumps(SMILES), capture_output=True, text=True, check=True, cwd=tmp_path)
    for encoder, rows in zip(ENCODERS, json.loads(result.stdout), strict=True):
        np.testing.assert_allclose(rows, embeddings(tmp_path / encoder), atol=2e-6)


@pytest.fixture
def gin(tmp_path: Path) -> OrderedDict[str, Tensor]:
    new_run(tmp_path / "run", "gin")
    return OrderedDict(export_file(tmp_path / "run", tmp_path / "weights.pth", "pretrain-gnns"))


def refused(weights: object, tmp_path: Path, encoder: str | None = None) -> InvalidInput:
    """Return the error of an import of this object."""
    torch.save(weights, tmp_path / "wrong.pth")
    with pytest.raises(InvalidInput) as error:
        read_encoder(tmp_path / "wrong.pth", "pretrain-gnns", encoder)
    return error.value


def test_missing_and_unexpected_names_are_listed(gin: OrderedDict[str, Tensor], tmp_path: Path) -> None:
    del gin["gnns.1.mlp.2.bias"]
    gin["gnns.0.att"] = torch.zeros(1)
    error = refused(gin, tmp_path)
    assert str(error.given).endswith("wrong.pth: missing: gnns.1.mlp.2.bias; unexpected: gnns.0.att")
    assert error.expected == "the 35 weights of gin with 3 layers"


def test_tables_of_other_features_are_refused(gin: OrderedDict[str, Tensor], tmp_path: Path) -> None:
    gin["x_embedding1.weight"] = torch.zeros(119, 12)
    error = refused(gin, tmp_path)
    assert str(error.given).endswith("wrong.pth: x_embedding1.weight (119, 12)")
    assert error.expected == "x_embedding1.weight (120, 12)"


def test_gcn_and_graphsage_need_the_name_of_the_encoder(gin: OrderedDict[str, Tensor], tmp_path: Path) -> None:
    new_run(tmp_path / "gcn", "gcn")
    weights = export_file(tmp_path / "gcn", tmp_path / "gcn.pth", "pretrain-gnns")
    assert "--encoder sage" in (refused(weights, tmp_path).hint or "")
    assert "unexpected: gnns.0.mlp" in str(refused(gin, tmp_path, "gcn").given)


@pytest.mark.parametrize("content", [{"gnn.x_embedding1.weight": torch.zeros(120, 3)}, {}, {"a": 1}, [torch.zeros(1)]])
def test_other_content_is_refused(content: object, tmp_path: Path) -> None:
    assert "torch.save(" in (refused(content, tmp_path).hint or "")


class Harmful:
    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (Path("harmed"),)


def test_pickled_code_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    refused({"x_embedding1.weight": Harmful()}, tmp_path)
    (tmp_path / "plain.pth").write_bytes(pickle.dumps(Harmful()))
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_encoder(tmp_path / "plain.pth", "pretrain-gnns")
    assert not (tmp_path / "harmed").exists()


def test_files_that_are_no_weights_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text.pth").write_text("CCO\n")
    for name in ("text.pth", "missing.pth", "."):
        with pytest.raises(InvalidInput, match="cannot be read"):
            read_encoder(tmp_path / name, "pretrain-gnns")
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(InvalidInput, match="not the folder of an encoder"):
        read_encoder(tmp_path, "hugging-face")
    with pytest.raises(InvalidInput, match="--encoder is for weights of pretrain-gnns"):
        read_encoder(tmp_path, "hugging-face", "gin")


def test_commands_write_what_embed_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    new_run(Path("run"), "sage")
    Path("m.smi").write_text("\n".join([*SMILES, ""]))
    for line in (
        "weights export --checkpoint run --format pretrain-gnns --output sage.pth",
        "weights import --format pretrain-gnns --encoder sage --input sage.pth --output imported",
        "weights export --checkpoint imported --format hugging-face --output model",
        "weights import --format hugging-face --input model --output again --json",
    ):
        assert run_command(line.split()) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "sage.pth: sage, layers: 3, width: 12"
    assert json.loads("".join(printed[3:])) == {"output": "again", "encoder": "sage", "layers": 3, "width": 12}
    for name in ("run", "again"):
        assert run_command(["embed", "--checkpoint", name, "--input", "m.smi", "--output", f"{name}.npy"]) == 0
    assert np.array_equal(np.load("run.npy"), np.load("again.npy"))
    Path("mine.csv").write_text("smiles,toxic\n" + "".join(f"C1{'C' * (n + 2)}1,{n % 2}\n" for n in range(40)))
    finetune = "finetune --csv mine.csv --targets toxic --checkpoint imported --epochs 1 --seeds 0 --output r.json"
    assert run_command(finetune.split()) == 0
    assert "SAGE with imported weights, seeds 0" in capsys.readouterr().out
    assert run_command(["weights", "import", "--format", "hugging-face", "--input", "model", "--output", "again"]) == 2
    assert "this folder is not empty" in capsys.readouterr().err
