"""Graphs for PyTorch Geometric, compared with RDKit and PyG, and the feed, compared with the positives."""

from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from rdkit import Chem
from torch.utils.data import DataLoader
from torch_geometric.loader import DataLoader as GraphLoader
from torch_geometric.nn import GINEConv, global_add_pool
from torch_geometric.utils import from_smiles

import graphkin
from graphkin.library import Collection
from graphkin.protocol.errors import InvalidInput

BATCH = 64


@pytest.fixture(scope="module")
def local_collection(folder: Path) -> Iterator[Collection]:
    with graphkin.open(folder) as collections:
        yield collections["c"]


def test_graphs_equal_rdkit_and_pyg(local_collection: Collection, frame: pd.DataFrame) -> None:
    graphs = local_collection.to_pyg()
    assert [graph.id for graph in graphs] == list(range(len(frame)))
    for graph, smiles in zip(graphs, frame["smiles"], strict=True):
        graph.validate()
        expected = from_smiles(smiles)
        assert graph.x[:, 0].tolist() == (expected.x[:, 0] - 1).tolist()
        assert {*map(tuple, graph.edge_index.T.tolist())} == {*map(tuple, expected.edge_index.T.tolist())}
        assert graph.num_edges == expected.num_edges
        molecule = Chem.MolFromSmiles(smiles)
        aromatic = {
            (bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in molecule.GetBonds() if bond.GetIsAromatic()
        }
        double_bonds = graph.edge_index.T[graph.edge_attr[:, 0] == 3].tolist()
        assert {*map(tuple, double_bonds)} == aromatic | {pair[::-1] for pair in aromatic}


def test_graphs_do_not_depend_on_the_connection(collection: Collection, local_collection: Collection) -> None:
    for one, other in zip(collection.to_pyg(), local_collection.to_pyg(), strict=True):
        assert torch.equal(one.x, other.x)
        assert torch.equal(one.edge_index, other.edge_index)
        assert torch.equal(one.edge_attr, other.edge_attr)


def test_graphs_without_attributes_have_no_features(tmp_path: Path) -> None:
    networks = [nx.gnp_random_graph(5 + seed, 0.5, seed=seed) for seed in range(5)]
    lines = [f'{{"num_nodes": {len(graph)}, "edges": {[[*edge] for edge in graph.edges]}}}' for graph in networks]
    (tmp_path / "graphs.jsonl").write_text("\n".join(lines))
    graphkin.ingest(tmp_path / "graphs.jsonl", store=tmp_path / "s", collection="g", kind="graphs", workers=1)
    with graphkin.open(tmp_path / "s") as collections:
        graphs = collections["g"].to_pyg()
        double_bonds = collections["g"].search(graph={"edges": [[0, 1], [1, 2], [2, 0]]}, limit=3)
    computed = ["edges", "nodes", "repeated_edges", "self_loops"]
    assert double_bonds.columns == ["id", "similarity", "structure", "names", *computed]
    for graph, expected in zip(graphs, networks, strict=True):
        assert graph.x.tolist() == [[119, 0]] * len(expected)
        network = nx.Graph(map(tuple, graph.edge_index.T.tolist()))
        assert nx.utils.edges_equal(network.edges, expected.edges)


def test_feed_has_every_anchor_with_its_positives(local_collection: Collection) -> None:
    linked = {*local_collection.edges()["source"].to_pylist(), *local_collection.edges()["target"].to_pylist()}
    graphs = local_collection.to_pyg()
    feed = local_collection.feed("random_walk", k=3, batch_size=BATCH, seed=11)
    orders = []
    for epoch in range(2):
        anchors = []
        for one, other in DataLoader(feed, batch_size=None):
            ids = one.id.tolist()
            expected = local_collection.positives(ids, "random_walk", k=3, seed=11, epoch=epoch)[
                "positives"
            ].to_pylist()
            assert other.id.reshape(-1, 3).tolist() == expected
            assert other.num_graphs == 3 * one.num_graphs == 3 * len(ids)
            assert torch.equal(one.x, torch.cat([graphs[id].x for id in ids]))
            theirs = next(iter(GraphLoader([graphs[id] for id in other.id.tolist()], batch_size=3 * BATCH)))
            assert torch.equal(other.edge_index, theirs.edge_index)
            assert torch.equal(other.batch, theirs.batch)
            anchors += ids
        assert sorted(anchors) == sorted(linked)
        orders.append(anchors)
    assert orders[0] != orders[1]
    repeated = [one.id.tolist() for one, _ in local_collection.feed("random_walk", k=3, batch_size=BATCH, seed=11)]
    assert np.concatenate(repeated).tolist() == orders[0]


def test_model_learns_from_a_feed(local_collection: Collection) -> None:
    """Layers of PyTorch Geometric move anchors closer to their positives than to those of other anchors."""
    torch.manual_seed(0)
    atoms, bonds = torch.nn.Embedding(120, 16), torch.nn.Embedding(4, 16)
    layer = GINEConv(torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU(), torch.nn.Linear(16, 16)))

    def encode(batch):
        nodes = layer(atoms(batch.x[:, 0]), batch.edge_index, bonds(batch.edge_attr[:, 0]))
        return torch.nn.functional.normalize(global_add_pool(nodes, batch.batch), dim=1)

    parameters = [*atoms.parameters(), *bonds.parameters(), *layer.parameters()]
    optimizer, losses = torch.optim.Adam(parameters, 0.01), []
    feed = local_collection.feed(k=1, batch_size=32)
    for _ in range(4):
        for anchors, positives in DataLoader(feed, batch_size=None):
            scores = encode(anchors) @ encode(positives).T / 0.1
            loss = torch.nn.functional.cross_entropy(scores, torch.arange(anchors.num_graphs))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
    assert np.mean(losses[-5:]) < np.mean(losses[:5])


def test_feed_refuses_loader_workers(local_collection: Collection) -> None:
    with pytest.raises(InvalidInput, match="num_workers=0"):
        next(iter(DataLoader(local_collection.feed(), batch_size=None, num_workers=1, multiprocessing_context="fork")))
    with pytest.raises(InvalidInput, match="batch size"):
        local_collection.feed(batch_size=0)
