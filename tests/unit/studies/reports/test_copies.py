"""Augmented views: molecules equal those that RDKit edits, and graphs those that GraKeL compares."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from grakel import Graph, VertexHistogram, WeisfeilerLehman
from rdkit import Chem, DataStructs, rdBase

from graphkin.protocol.errors import Conflict
from graphkin.similarity.graphs.recipe import resolve_graphs
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store
from graphkin.store.base import Generation
from graphkin.store.contract.hierarchies import Hierarchy
from graphkin.trainer.features.altered import AugmentedGraphs
from graphkin.trainer.features.featurize import featurize
from graphkin.trainer.features.graphs import featurize_graphs
from studies.reports.copies import Damage, GraphSample, MoleculeSample, Way, sample_type

KEY = (3, 1)


def view_parts(left: AugmentedGraphs, item: int) -> tuple[set[int], set[tuple[int, int]]]:
    """Return the atoms and bonds of a view, numbered as in its item."""
    ends = np.cumsum(left.atom_counts)
    atoms = left.atoms - np.repeat(left.original.atom_offsets[:-1], left.atom_counts)
    edges = np.cumsum(left.edge_counts)
    item_edges = slice(edges[item] - left.edge_counts[item], edges[item])
    bonds = zip(atoms[left.source[item_edges]].tolist(), atoms[left.target[item_edges]].tolist(), strict=True)
    return set(atoms[ends[item] - left.atom_counts[item] : ends[item]].tolist()), set(bonds)


def edited(smiles: str, way: Way, atoms: set[int], bonds: set[tuple[int, int]]) -> Chem.Mol:
    """Return RDKit's molecule without dropped parts, and without charges and hydrogens, which features do not hold."""
    molecule = Chem.RWMol(Chem.MolFromSmiles(smiles))
    for atom in molecule.GetAtoms():
        atom.SetFormalCharge(0)
        atom.SetNumExplicitHs(0)
        atom.SetNoImplicit(False)
        if way == "mask" and atom.GetIdx() not in atoms:
            atom.SetAtomicNum(0)
            atom.SetChiralTag(Chem.ChiralType.CHI_UNSPECIFIED)
    ends = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in molecule.GetBonds()]
    for pair in ends:
        if way != "mask" and pair not in bonds:
            molecule.RemoveBond(*pair)
    for index in sorted(set(range(molecule.GetNumAtoms())) - atoms, reverse=True) if way != "mask" else ():
        molecule.RemoveAtom(index)
    for atom in molecule.GetAtoms():
        atom.SetIsAromatic(any(bond.GetIsAromatic() for bond in atom.GetBonds()))  # no feature of atoms holds it
    molecule.UpdatePropertyCache(strict=False)
    Chem.FastFindRings(molecule)
    return molecule


@pytest.mark.parametrize("fingerprint", ["rdkit", "morgan"])
@pytest.mark.parametrize("way", MoleculeSample.ways)
def test_views_of_molecules_equal_those_edited_by_rdkit(
    generation: Callable[..., Generation], nci_molecules: list[Chem.Mol], generators: Any, way: Way, fingerprint: str
) -> None:
    whole = generation(nci_molecules[:60], resolve(fingerprint={"name": fingerprint}))
    ids = np.arange(5, 45, dtype=np.int32)
    damage, smiles = Damage(way, 0.15), [*whole.structures(ids)]
    copies = MoleculeSample(whole, ids).copies(damage, KEY)
    corpus, compute = featurize(smiles, ""), generators[fingerprint]
    bits, legal = [], []
    with rdBase.BlockLogs():
        for turn in range(2):
            left = damage.apply(corpus, turn, KEY)
            edited_molecules = [edited(text, way, *view_parts(left, item)) for item, text in enumerate(smiles)]
            reread = [Chem.MolFromSmiles(Chem.MolToSmiles(molecule)) for molecule in edited_molecules]
            legal.append([molecule is not None for molecule in reread])
            bits.append(
                [compute(parsed or fallback) for parsed, fallback in zip(reread, edited_molecules, strict=True)]
            )
    targets = [compute(Chem.MolFromSmiles(text)) for text in smiles]
    tanimoto = DataStructs.TanimotoSimilarity
    assert copies.chemistry is not None
    assert copies.chemistry.legal.tolist() == legal
    assert 0 < np.mean(legal) < 1
    for turn in range(2):
        np.testing.assert_allclose(copies.target[turn], [*map(tanimoto, targets, bits[turn])], atol=1e-12)
    np.testing.assert_allclose(copies.between, [*map(tanimoto, *bits)], atol=1e-12)
    assert copies.between.min() < 1


def test_figures_of_intact_molecules_show_the_encoding(generation: Callable[..., Generation]) -> None:
    """The molecules are intact. The encoding breaks a third, and a quarter of the rest has no aromatic bonds."""
    smiles = ["C[N+](=O)[O-]", "c1ccccc1", "c1cc[nH]c1", "Cc1ccccc1", "CCO", "c1ccc2ccccc2c1"]
    whole = generation([*map(Chem.MolFromSmiles, smiles)], resolve(fingerprint={"name": "rdkit"}))
    figures = MoleculeSample(whole, np.arange(6, dtype=np.int32)).copies(Damage("drop-nodes"), KEY).figures()
    assert figures == pytest.approx(
        {
            **dict.fromkeys(("target", "between", "target_legal", "between_legal"), 1.0),
            **dict.fromkeys(("legal", "target_or_0", "between_or_0"), 4 / 6),
            "legal_not_aromatic": 1 / 6,
        }
    )
    alone = MoleculeSample(whole, np.array([0, 2], np.int32)).copies(Damage("drop-nodes"), KEY).figures()
    assert alone["legal"] == alone["target_or_0"] == 0
    assert not {"target_legal", "between_legal"} & alone.keys()


@pytest.mark.parametrize(("ratio", "left_out"), [(0.0, 0), (0.1, 2), (0.25, 3), (0.8, 9)])
def test_number_of_dropped_atoms_follows_the_ratio(ratio: float, left_out: int) -> None:
    """A copy of ten atoms lacks floor(10 p) + 1 of them, but keeps at least one."""
    corpus = featurize(["C" * 10], "")
    assert Damage("drop-nodes", ratio).apply(corpus, 0, KEY).atom_counts.tolist() == [10 - left_out]


GRAPHS = [nx.gnp_random_graph(6 + seed, 0.4, seed=seed) for seed in range(12)]


@pytest.fixture
def graphs(hierarchy: type[Hierarchy], tmp_path: Path) -> Iterator[Callable[..., Generation]]:
    """Return graphs(labels=..., ...), which publishes a generation of the graphs by a recipe."""
    rows = [
        {"smiles": None, "inchikey": None, "names": [str(row)], "structure": json.dumps(_content(graph))}
        for row, graph in enumerate(GRAPHS)
    ]
    with ExitStack() as opened:
        store = opened.enter_context(open_store(tmp_path, create=True))

        def graphs(**recipe: Any) -> Generation:
            resolved = resolve_graphs(**recipe).model_dump(mode="json")
            hierarchy(rows, {(0, 1): 0.5}, kind="graph", rdkit=None, recipe=resolved).publish(store, "c")
            return opened.enter_context(store.open("c"))

        yield graphs


def _content(graph: nx.Graph) -> dict[str, Any]:
    edges = sorted(sorted(edge) for edge in graph.edges)
    return {"num_nodes": len(graph), "edges": edges, "labels": ["ab"[node % 2] for node in graph]}


def grakel(graphs: list[nx.Graph], labels: str) -> np.ndarray:
    """Return the (n, n) similarities that GraKeL computes."""
    grakel_graphs = []
    for graph in graphs:
        around: dict[int, dict[int, float]] = {node: dict.fromkeys(graph[node], 1.0) for node in graph}
        node_labels = {node: graph.degree[node] if labels == "degree" else "ab"[node % 2] for node in graph}
        grakel_graphs.append(Graph(around, node_labels=node_labels))
    kernel = WeisfeilerLehman(n_iter=3, base_graph_kernel=VertexHistogram, normalize=True)
    return np.asarray(kernel.fit_transform(grakel_graphs))


@pytest.mark.parametrize("labels", ["degree", "given"])
@pytest.mark.parametrize("way", GraphSample.ways)
def test_views_of_graphs_equal_those_of_grakel(graphs: Callable[..., Generation], way: Way, labels: str) -> None:
    ids, damage = np.arange(2, 10, dtype=np.int32), Damage(way, 0.2)
    whole = graphs(labels=labels)
    copies = GraphSample(whole, ids).copies(damage, KEY)
    corpus, views = featurize_graphs([*whole.structures(ids)], ""), []
    for turn in range(2):
        left = damage.apply(corpus, turn, KEY)
        for item, id in enumerate(ids):
            nodes, edges = view_parts(left, item)
            view = nx.empty_graph(sorted(nodes))
            view.add_edges_from(edges)
            assert all(GRAPHS[id].has_edge(*edge) for edge in edges)
            views.append(view)
    expected = grakel([*(GRAPHS[id] for id in ids), *views], labels)
    same, first, second = np.arange(3 * len(ids)).reshape(3, -1)
    np.testing.assert_allclose(copies.target, [expected[same, first], expected[same, second]], atol=1e-9)
    np.testing.assert_allclose(copies.between, expected[first, second], atol=1e-9)
    assert copies.figures() == {"target": copies.target.mean(), "between": copies.between.mean()}


def test_other_kernel_is_refused(graphs: Callable[..., Generation]) -> None:
    with pytest.raises(Conflict, match="another kernel"):
        GraphSample(graphs(kernel="grakel-shortest-path"), np.arange(3, dtype=np.int32))


def test_collections_of_nodes_are_refused(nodes: Hierarchy, tmp_path: Path) -> None:
    with open_store(tmp_path, create=True) as store:
        nodes.publish(store, "n")
        with store.open("n") as whole, pytest.raises(Conflict, match="could lose it"):
            sample_type(whole)
