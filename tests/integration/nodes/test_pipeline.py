"""The ingest pipeline for nodes of large graphs, compared with GraKeL, NetworkX and brute force."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grakel
import networkx as nx
import numpy as np
import pytest

from graphkin.ingest import pipeline
from graphkin.ingest.pipeline import IngestOptions, ingest
from graphkin.ingest.progress import Progress
from graphkin.protocol.errors import Conflict, InvalidInput
from graphkin.similarity.kinds import kind_of
from graphkin.similarity.nodes.kind import NodeKind
from graphkin.similarity.nodes.recipe import resolve_nodes
from graphkin.similarity.recall import measure_recall
from graphkin.similarity.verify import verify
from graphkin.store.base import Generation, Store

KARATE = nx.karate_club_graph()
AIR = nx.powerlaw_cluster_graph(2000, 3, 0.3, seed=5)
UNWEIGHTED = {"subgraph": "walks", "weights": "none", "iterations": 3}


def edges_of(generation: Generation) -> dict[tuple[int, int], float]:
    return {
        (a, b): s
        for block in generation.edges()
        for a, b, s in zip(block.source.tolist(), block.target.tolist(), block.similarity.tolist(), strict=True)
    }


def structures(generation: Generation) -> list[dict[str, Any]]:
    return [json.loads(text) for text in generation.structures()]


def initial_labels(structure: dict[str, Any], labels: str) -> list[int]:
    degrees = Counter(end for edge in structure["edges"] for end in edge)
    nodes = range(structure["num_nodes"])
    match labels:
        case "degree":
            return [degrees[node] for node in nodes]
        case "centre":
            return [int(node == structure["centre"]) for node in nodes]
        case _:
            return [0 for _ in nodes]


@pytest.mark.parametrize("labels", ["degree", "uniform", "centre"])
def test_similarities_equal_grakel_on_the_same_subgraphs(generation: Callable[..., Generation], labels: str) -> None:
    result = generation(KARATE, **UNWEIGHTED, labels=labels, top_k=0, closeness=1, threshold=0)
    graphs = []
    for structure in structures(result):
        neighbors: dict[int, dict[int, float]] = {node: {} for node in range(structure["num_nodes"])}
        for u, v in structure["edges"]:
            neighbors[u][v] = neighbors[v][u] = 1.0
        graphs.append(grakel.Graph(neighbors, node_labels=dict(enumerate(initial_labels(structure, labels)))))
    kernel = grakel.WeisfeilerLehman(n_iter=3, base_graph_kernel=grakel.VertexHistogram, normalize=True)
    exact = np.asarray(kernel.fit_transform(graphs))
    search = kind_of(result).search(result)
    for id in (0, 7, 33):
        assert np.abs(search.similarities(id) - exact[id]).max() < 1e-9
    edges = edges_of(result)
    assert edges == pytest.approx({pair: exact[pair] for pair in edges}, abs=1e-6)
    assert verify(result, 10**6) == []


def subtree_counts(structure: dict[str, Any]) -> Counter[Any]:
    """Return the number of subtrees up to height 3, as nested tuples."""
    neighbors: list[list[int]] = [[] for _ in range(structure["num_nodes"])]
    for u, v in structure["edges"]:
        neighbors[u].append(v)
        neighbors[v].append(u)
    labels: list[Any] = [(len(values),) for values in neighbors]
    counter = Counter(labels)
    for _ in range(3):
        labels = [
            hash((labels[node], tuple(sorted(labels[other] for other in neighbors[node]))))
            for node in range(len(neighbors))
        ]
        counter.update(labels)
    return counter


def test_exact_edges_of_2000_nodes_equal_brute_force(generation: Callable[..., Generation]) -> None:
    result = generation(AIR, **UNWEIGHTED, labels="degree", closeness=10, workers=2, top_k=0, threshold=0.5)
    node_structures = structures(result)
    counts = [subtree_counts(structure) for structure in node_structures]
    columns = {
        label: column
        for column, label in enumerate(dict.fromkeys(label for item_counts in counts for label in item_counts))
    }
    features = np.zeros((len(node_structures), len(columns)), np.float32)
    for row, item_counts in enumerate(counts):
        features[row, [columns[label] for label in item_counts]] = list(item_counts.values())
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    similarity = features @ features.T
    nodes, edges = (
        np.array(each) for each in zip(*((s["num_nodes"], len(s["edges"])) for s in node_structures), strict=True)
    )
    accepts = 10 * np.abs(nodes[:, None] - nodes) <= nodes[:, None]
    few = np.where(edges[:, None] > 0, edges[:, None], 50)
    accepts &= 10 * np.abs(edges[:, None] - edges) <= few
    near = np.triu(accepts | accepts.T, 1)
    stored = edges_of(result)
    a, b = np.nonzero(near & (similarity > 0.5 + 1e-5))
    assert {*zip(a.tolist(), b.tolist(), strict=True)} <= stored.keys()
    assert all(near[pair] and abs(similarity[pair] - s) < 1e-5 for pair, s in stored.items())
    assert len(stored) > 2000


def test_generation_does_not_depend_on_workers(store: Store, write: Callable[..., str], tmp_path: Path) -> None:
    graph, recipe = nx.gnp_random_graph(300, 0.02, seed=1), resolve_nodes()
    path, results = write(graph), []
    for workers in (1, 2, 4):
        options = IngestOptions(workers=workers, max_rejected=0.2)
        manifest = ingest(store, f"w{workers}", [path], recipe, options)
        with store.open(f"w{workers}") as opened:
            results.append((manifest.generation, edges_of(opened), structures(opened)))
    assert results[0] == results[1] == results[2]
    walked = [
        ingest(
            store,
            f"seed{seed}",
            [path],
            resolve_nodes(subgraph="walks", seed=seed),
            IngestOptions(workers=1, max_rejected=0.2),
        ).generation
        for seed in (0, 1)
    ]
    assert len({results[0][0], *walked}) == 3


def test_items_have_name_degree_and_label(store: Store, tmp_path: Path) -> None:
    (tmp_path / "one.edgelist").write_text("a b\na c\na c\nc a\nd d\nb c\na a\n")
    (tmp_path / "two.csv").write_text("source,target\na,x\nx,y\n")
    (tmp_path / "labels.txt").write_text("a 1\nb 2\nnobody 3\n")
    (tmp_path / "labels.csv").write_text("node,label\ny,2.50\n")
    files, labels = (
        [str(tmp_path / name) for name in names]
        for names in (("one.edgelist", "two.csv"), ("labels.txt", "labels.csv"))
    )
    manifest = ingest(store, "n", files, resolve_nodes(), IngestOptions(workers=1, max_rejected=0.5, labels=labels))
    with store.open("n") as result:
        items = result.items(range(result.size))
        assert [item["names"] for item in items] == [["a"], ["b"], ["c"], ["a"], ["x"], ["y"]]
        assert [item["properties"]["degree"] for item in items] == [2, 2, 2, 1, 2, 1]
        assert [item["properties"].get("label") for item in items] == [1, 2, None, None, None, 2.5]
        assert [item["properties"]["repeated_edges"] for item in items] == [2, 0, 2, 0, 0, 0]
        assert [item["properties"]["self_loops"] for item in items] == [1, 0, 0, 0, 0, 0]
        graphs = [item["properties"]["graph"] for item in items]
        assert (len(set(graphs[:3])), len(set(graphs[3:])), len(set(graphs))) == (1, 1, 2)
        assert result.find("name", "a") == [0, 3]
        rejected = [row for batch in result.rejections() for row in batch.to_pylist()]
        assert [(Path(row["source"]).name, row["line"], row["input"]) for row in rejected] == [
            ("one.edgelist", 5, "d"), ("one.edgelist", 3, "nobody")
        ]  # fmt: skip
        links = result.links()
        assert links is not None
        rows = np.split(links.indices, links.indptr[1:-1])
        assert [row.tolist() for row in rows] == [[1, 2], [0, 2], [0, 1], [4], [3, 5], [4]]
    assert [Path(each.name).name for each in manifest.inputs] == ["one.edgelist", "labels.txt", "two.csv", "labels.csv"]
    assert manifest.counts.kept == 6


def test_repeated_graph_is_ingested_once(generation: Callable[..., Generation]) -> None:
    result = generation(KARATE, nx.cycle_graph(5), KARATE)
    assert (result.size, result.manifest.counts.duplicates) == (39, 34)
    links = result.links()
    assert links is not None
    assert len(links.indices) == 2 * (KARATE.number_of_edges() + 5)


@pytest.mark.parametrize("radius", [1, 3])
def test_proximity_depends_on_distance(generation: Callable[..., Generation], radius: int) -> None:
    graph = nx.disjoint_union(KARATE, nx.path_graph(6))
    order = [*dict.fromkeys(end for edge in graph.edges for end in edge)]
    exact = {
        tuple(sorted((order.index(u), order.index(v)))): 1 / (1 + distance)
        for u, distances in nx.all_pairs_shortest_path_length(graph, radius)
        for v, distance in distances.items()
        if u != v
    }
    result = generation(graph, kernel="proximity", radius=radius, top_k=0, workers=2)
    assert edges_of(result) == pytest.approx(exact, abs=1e-6)
    assert verify(result, 10**6) == []
    with pytest.raises(Conflict, match="cannot be searched"):
        kind_of(result).search(result)
    closer = generation(graph, kernel="proximity", radius=radius, top_k=0, threshold=0.5)
    assert edges_of(closer) == pytest.approx({pair: s for pair, s in exact.items() if s >= 0.5})


@pytest.mark.parametrize("subgraph", ["ppr", "walks"])
def test_search_by_a_structure_with_a_center(generation: Callable[..., Generation], subgraph: str) -> None:
    result = generation(KARATE, subgraph=subgraph, labels="centre", threshold=0)
    kind, recipe = kind_of(result), kind_of(result).recipe(result.manifest.recipe)
    search, texts = kind.search(result), list(result.structures())
    query = kind.read(recipe, texts[5], "graph")
    hits = search.search(query, None, 5)
    assert hits.similarity[0] == 1
    assert search.find_identical(query) == texts.index(texts[5])
    assert np.array_equal(search.similarities(query), search.similarities(5))
    for text in ('{"edges": [[0, 1]]}', '{"edges": [[0, 1]], "centre": 2}', '{"edges": [[0, 1]], "centre": "0"}'):
        with pytest.raises(InvalidInput, match="centre"):
            kind.read(recipe, text, "graph")
    with pytest.raises(InvalidInput, match="no weights") as refused:
        kind.read(recipe, '{"edges": [[0, 1]], "centre": 0}', "graph")
    assert refused.value.expected == '{"edges": [[0, 1], ...], "weights": [3, ...], "centre": 0}'


def test_recall_of_the_window_equals_an_ingest(generation: Callable[..., Generation]) -> None:
    result = generation(KARATE, closeness=1, top_k=0)
    assert measure_recall(result, None, 34).recall is not None
    window = generation(KARATE, closeness=1, candidates="window", top_k=0)
    measured = measure_recall(result, "window", 34)
    assert measured.found_pairs == 2 * window.manifest.edges


def test_window_of_proximity_is_refused() -> None:
    with pytest.raises(InvalidInput, match="candidates exact with the kernel proximity"):
        resolve_nodes(kernel="proximity", candidates="window")


def test_labels_for_only_some_files_are_refused(store: Store, write: Callable[..., str]) -> None:
    files = [write(KARATE, "a.edgelist"), write(KARATE, "b.edgelist")]
    with pytest.raises(InvalidInput, match="differs from the number of files"):
        ingest(store, "n", files, resolve_nodes(), IngestOptions(labels=files[:1]))
    assert store.collections() == []


@pytest.mark.parametrize("options", [{}, {"preset": "paper"}, {"subgraph": "walks"}, {"candidates": "window"}])
def test_stored_nodes_are_verified_and_searched(generation: Callable[..., Generation], options: dict[str, Any]) -> None:
    result = generation(AIR, nx.disjoint_union(KARATE, nx.star_graph(40)), **options)
    assert result.manifest.edges > 0
    assert verify(result, 200) == []
    search = kind_of(result).search(result)
    for id in (0, 700, 2000, 2074):
        neighbors = result.neighbors(id)
        similarity = search.similarities(id)
        assert similarity[id] == pytest.approx(1)
        assert similarity[neighbors.ids] == pytest.approx(neighbors.similarity, abs=1e-6)
    if options == {}:
        assert measure_recall(result, None, 100, threshold=0.9).found_pairs > 0
        assert measure_recall(generation(KARATE, top_k=0), None, 34).recall == 1


def test_default_edges_do_not_depend_on_the_order_of_the_file(store: Store, tmp_path: Path) -> None:
    """Names stay; the order of the lines and of their ends, and so the numbers of the nodes, changes."""
    edges = [
        *nx.powerlaw_cluster_graph(200, 2, 0.2, seed=3).edges,
        *((200, leaf) for leaf in range(201, 290)),
        (0, 200),
    ]
    results = []
    for seed, workers in ((0, 1), (1, 3), (2, 1)):
        random = np.random.default_rng(seed)
        lines = [edges[place][:: random.choice([1, -1])] for place in random.permutation(len(edges))]
        (tmp_path / "g.edgelist").write_text("".join(f"{u} {v}\n" for u, v in lines))
        options = IngestOptions(workers=workers)
        ingest(store, f"order{seed}", [str(tmp_path / "g.edgelist")], resolve_nodes(top_k=5), options)
        with store.open(f"order{seed}") as opened:
            names = [item["names"][0] for item in opened.items(range(opened.size))]
            texts = dict(zip(names, opened.structures(), strict=True))
            by_names = {frozenset((names[a], names[b])): s for (a, b), s in edges_of(opened).items()}
            results.append((by_names, texts))
    assert len(results[0][0]) > 500
    assert results[0] == results[1] == results[2]


def test_a_recipe_of_version_1_is_read_as_walks_without_weights() -> None:
    stored = {"schema_version": 1, "candidates": "exact", "ties": "hash", "tie_seed": 0, "threshold": 0.0, "top_k": 70,
              "labels": "degree", "iterations": 3, "closeness": 10, "kernel": "wl", "restart": 0.8, "walks": "paper",
              "max_nodes": 256, "seed": 5, "radius": 2}  # fmt: skip
    recipe = NodeKind().recipe(stored)
    expected = {**stored, "schema_version": 2, "subgraph": "walks", "weights": "none"}
    assert expected.items() <= recipe.model_dump().items()
    assert not recipe.compared_attributes


def test_long_join_is_announced(store: Store, write: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    class Notes(Progress):
        def __init__(self) -> None:
            self.texts: list[str] = []

        def note(self, text: str) -> None:
            if text.startswith("comparing"):  # a first run on this machine also announces that it compiles
                self.texts.append(text)

    path, options = write(KARATE), IngestOptions(workers=1)
    short, long, matched = Notes(), Notes(), Notes()
    ingest(store, "short", [path], resolve_nodes(), options, short)
    monkeypatch.setattr(pipeline, "_LONG", 0)
    ingest(store, "long", [path], resolve_nodes(), options, long)
    ingest(store, "matched", [path], resolve_nodes(closeness=10), options, matched)
    assert [text.partition(" takes some ")[0] for text in long.texts] == ["comparing all pairs of 34 nodes"]
    assert short.texts == matched.texts == []
