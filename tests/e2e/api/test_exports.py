import csv
import io
from typing import Any
from xml.etree import ElementTree

import httpx
import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator

URL = "/v1/collections/nci"
ASPIRIN = "OC(=O)C1=C(C=CC=C1)OC(C)=O"
Edge = tuple[int, int, float]


@pytest.fixture(scope="module")
def edges(client: httpx.Client) -> list[Edge]:
    """Return the edges of all neighbor lists."""
    both_directions = []
    for item in client.get(f"{URL}/items", params={"limit": 1000}).json()["items"]:
        near = client.get(f"{URL}/items/{item['id']}/neighbors", params={"limit": 1000}).json()["neighbors"]
        both_directions += [(item["id"], each["item"]["id"], each["similarity"]) for each in near]
    return sorted(edge for edge in both_directions if edge[0] < edge[1])


def parse_edges(reply: httpx.Response) -> list[Edge]:
    assert reply.status_code == 200, reply.text
    match reply.headers["content-type"]:
        case "text/csv; charset=utf-8":
            header, *rows = csv.reader(io.StringIO(reply.text))
            assert header == ["source", "target", "similarity"]
            return [(int(source), int(target), float(similarity)) for source, target, similarity in rows]
        case "application/graphml+xml":
            root = ElementTree.fromstring(reply.content)
            elements = root.iter("{http://graphml.graphdrawing.org/xmlns}edge")
            return [
                (int(e.attrib["source"][1:]), int(e.attrib["target"][1:]), float(e.findtext("*", ""))) for e in elements
            ]
        case "application/vnd.apache.parquet":
            table = pq.read_table(io.BytesIO(reply.content))
        case "application/vnd.apache.arrow.stream":
            table = pa.ipc.open_stream(io.BytesIO(reply.content)).read_all()
    return [(row["source"], row["target"], row["similarity"]) for row in table.to_pylist()]


@pytest.mark.parametrize("format", ["csv", "parquet", "graphml", "arrow"])
def test_exported_edges_equal_the_neighbor_lists(client: httpx.Client, edges: list[Edge], format: str) -> None:
    reply = client.get(f"{URL}/export", params={"what": "edges", "format": format})
    actual = parse_edges(reply)
    assert [pair[:2] for pair in actual] == [pair[:2] for pair in edges]
    assert [pair[2] for pair in actual] == pytest.approx([pair[2] for pair in edges], rel=1e-7)
    name = f"nci-{reply.headers['Graphkin-Generation'][:12]}-edges.{format}"
    assert reply.headers["Content-Disposition"] == f'attachment; filename="{name}"'


@pytest.mark.parametrize("format", ["csv", "graphml"])
def test_selected_edges_join_selected_items(client: httpx.Client, edges: list[Edge], format: str) -> None:
    ids = list(range(0, 400, 2))[: len(client.get(f"{URL}/items", params={"limit": 1000}).json()["items"]) // 2]
    body = {"ids": ids, "what": "edges", "format": format, "min_similarity": 0.5}
    expected_edges = [edge for edge in edges if edge[0] in ids and edge[1] in ids and edge[2] >= 0.5]
    assert parse_edges(client.post(f"{URL}/export", json=body)) == expected_edges
    assert expected_edges


def test_repeated_id_counts_once_and_unknown_id_is_refused(client: httpx.Client, edges: list[Edge]) -> None:
    (a, b, similarity), *_ = edges
    body = {"ids": [b, a, b, a], "what": "edges", "format": "csv"}
    assert parse_edges(client.post(f"{URL}/export", json=body)) == [(a, b, similarity)]
    refused = client.post(f"{URL}/export", json={**body, "ids": [a, 10**6, b]})
    assert (refused.status_code, refused.json()["given"]) == (404, 10**6)


def test_exported_items_equal_the_list(client: httpx.Client) -> None:
    items = client.get(f"{URL}/items", params={"limit": 1000}).json()["items"]
    reply = client.get(f"{URL}/export", params={"what": "items", "format": "csv"})
    rows = list(csv.DictReader(io.StringIO(reply.text)))
    assert [(int(row["id"]), row["smiles"]) for row in rows] == [(item["id"], item["smiles"]) for item in items]


def test_selected_items_keep_their_order(client: httpx.Client) -> None:
    body = {"ids": [9, 3, 5], "what": "items", "format": "sdf"}
    reply = client.post(f"{URL}/export", json=body)
    assert reply.headers["content-type"] == "chemical/x-mdl-sdfile"
    supplier = Chem.SDMolSupplier()
    supplier.SetData(reply.text)
    assert [int(molecule.GetProp("id")) for molecule in supplier] == [9, 3, 5]


def test_export_accepts_a_generation(client: httpx.Client) -> None:
    generation = client.get(URL).json()["generation"]
    body = {"ids": [1], "what": "items", "format": "csv"}
    reply = client.post(f"{URL}/export", params={"generation": generation}, json=body)
    assert reply.headers["Graphkin-Generation"] == generation


@pytest.fixture(scope="module")
def aspirin_similarity(client: httpx.Client) -> np.ndarray:
    """Return every item's similarity to aspirin, computed by RDKit."""
    items = client.get(f"{URL}/items", params={"limit": 1000}).json()["items"]
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    query_print, *prints = [
        generator.GetFingerprint(Chem.MolFromSmiles(s)) for s in (ASPIRIN, *(i["smiles"] for i in items))
    ]
    return np.array(DataStructs.BulkTanimotoSimilarity(query_print, prints), np.float32)


def parse_similarities(reply: httpx.Response) -> list[tuple[int, float]]:
    assert reply.status_code == 200, reply.text
    match reply.headers["content-type"]:
        case "text/csv; charset=utf-8":
            rows = list(csv.DictReader(io.StringIO(reply.text)))
        case "chemical/x-mdl-sdfile":
            supplier = Chem.SDMolSupplier()
            supplier.SetData(reply.text)
            rows = [molecule.GetPropsAsDict() for molecule in supplier]
        case "application/vnd.apache.parquet":
            rows = pq.read_table(io.BytesIO(reply.content)).to_pylist()
        case "application/vnd.apache.arrow.stream":
            rows = pa.ipc.open_stream(io.BytesIO(reply.content)).read_all().to_pylist()
    return [(int(row["id"]), float(row["similarity"])) for row in rows]


@pytest.mark.parametrize("format", ["csv", "sdf", "parquet", "arrow"])
def test_items_have_their_similarity_to_the_query(
    client: httpx.Client, aspirin_similarity: np.ndarray, format: str
) -> None:
    ids = [*range(399, 0, -2), 7, 7]  # Most of them are less similar than the collection's threshold.
    body = {"ids": ids, "what": "items", "format": format, "query_smiles": ASPIRIN}
    similarities = parse_similarities(client.post(f"{URL}/export", json=body))
    assert [id for id, _ in similarities] == ids
    assert np.array_equal(np.array([similarity for _, similarity in similarities], np.float32), aspirin_similarity[ids])


def test_query_export_has_every_matching_item(client: httpx.Client) -> None:
    query = {"filters": [{"property": "molwt", "max": 180}], "sort": {"by": "molwt", "descending": True}}
    items = client.post(f"{URL}/items/query", json={**query, "limit": 1000}).json()["items"]
    ids = [item["id"] for item in items]
    body = {"query": query, "what": "items", "format": "csv"}
    rows = [*csv.DictReader(client.post(f"{URL}/export", json=body).text.splitlines())]
    assert [int(row["id"]) for row in rows] == ids
    assert len(ids) > 10
    first = client.post(f"{URL}/export", json={**body, "ids": [ids[3], 7]}).text
    assert [int(row["id"]) for row in csv.DictReader(first.splitlines())] == [*dict.fromkeys([ids[3], 7, *ids])]
    edges = client.post(f"{URL}/export", json={**body, "what": "edges"}).text
    assert edges == client.post(f"{URL}/export", json={"ids": ids, "what": "edges", "format": "csv"}).text
    none = client.post(f"{URL}/export", json={**body, "query": {"name": "nobody is called so"}})
    assert (none.status_code, none.text.count("\n")) == (200, 1)
    refused = client.post(f"{URL}/export", json={"what": "items", "format": "csv"})
    assert refused.status_code == 422
    assert "at least one of ids, query" in refused.text


def test_exported_similarities_equal_search(client: httpx.Client) -> None:
    hits = client.post(f"{URL}/search", json={"smiles": ASPIRIN, "limit": 50}).json()["hits"]
    body = {"ids": [hit["item"]["id"] for hit in hits], "what": "items", "format": "csv", "query_smiles": ASPIRIN}
    similarities = parse_similarities(client.post(f"{URL}/export", json=body))
    assert similarities == [(hit["item"]["id"], hit["similarity"]) for hit in hits]


@pytest.mark.parametrize("threshold", [None, 0.5])
def test_graphml_adds_a_query_that_is_not_stored(
    client: httpx.Client, aspirin_similarity: np.ndarray, edges: list[Edge], threshold: float | None
) -> None:
    ids = np.argsort(-aspirin_similarity)[:100].tolist()
    body = {"ids": ids, "what": "edges", "format": "graphml", "query_smiles": ASPIRIN, "min_similarity": threshold}
    graph = nx.parse_graphml(client.post(f"{URL}/export", json=body).text)
    assert graph.nodes["query"] == dict.fromkeys(("label", "smiles"), Chem.CanonSmiles(ASPIRIN))
    near = {f"n{id}": aspirin_similarity[id] for id in ids if aspirin_similarity[id] >= np.float32(threshold or 0.4)}
    assert near
    joined = {node: np.float32(each["similarity"]) for node, each in graph.adj["query"].items()}
    assert joined == near
    graph.remove_node("query")
    similarity = {node: np.float32(value) for node, value in graph.nodes(data="similarity")}
    assert similarity == {f"n{id}": aspirin_similarity[id] for id in ids}
    inside = [edge for edge in edges if {*edge[:2]} <= {*ids} and edge[2] >= (threshold or 0)]
    assert graph.number_of_edges() == len(inside) > 0


def test_graphml_does_not_repeat_a_stored_query(client: httpx.Client, edges: list[Edge]) -> None:
    (a, b, similarity), *_ = edges
    smiles = client.get(f"{URL}/items/{a}").json()["smiles"]
    body = {"ids": [a, b], "what": "edges", "format": "graphml", "query_smiles": smiles}
    graph = nx.parse_graphml(client.post(f"{URL}/export", json=body).text)
    assert set(graph) == {f"n{a}", f"n{b}"}
    assert dict(graph.nodes(data="similarity")) == {f"n{a}": 1, f"n{b}": similarity}
    without = nx.parse_graphml(client.post(f"{URL}/export", json={**body, "ids": [b]}).text)
    assert [*without.edges(data="similarity")] in ([(f"n{b}", "query", similarity)], [("query", f"n{b}", similarity)])


def test_export_selects_columns_and_a_range_of_items(client: httpx.Client) -> None:
    items = client.get(f"{URL}/items", params={"limit": 1000}).json()["items"]
    parameters: dict[str, Any] = {
        "what": "items",
        "format": "arrow",
        "columns": ["names", "smiles"],
        "start": 7,
        "stop": 391,
    }
    table = pa.ipc.open_stream(client.get(f"{URL}/export", params=parameters).content).read_all()
    assert table.to_pylist() == [{"smiles": item["smiles"], "names": item["names"]} for item in items[7:391]]
    lines = client.get(f"{URL}/export", params={**parameters, "format": "csv", "columns": "id", "stop": 9}).text
    assert lines == "id\n7\n8\n"
    assert (
        client.get(f"{URL}/export", params={**parameters, "format": "csv", "columns": "id", "stop": 7}).text == "id\n"
    )


@pytest.mark.parametrize("format", ["csv", "parquet", "arrow"])
def test_export_selects_edges_by_range_and_similarity(client: httpx.Client, edges: list[Edge], format: str) -> None:
    parameters: dict[str, Any] = {"what": "edges", "format": format, "start": 20, "stop": 150, "min_similarity": 0.6}
    actual = parse_edges(client.get(f"{URL}/export", params=parameters))
    assert actual
    assert [edge[:2] for edge in actual] == [
        (a, b) for a, b, similarity in edges if 20 <= a < 150 and similarity >= 0.6
    ]


def test_graphml_selects_edges_by_similarity(client: httpx.Client, edges: list[Edge]) -> None:
    parameters: dict[str, Any] = {"what": "edges", "format": "graphml", "min_similarity": 0.6}
    actual = parse_edges(client.get(f"{URL}/export", params=parameters))
    assert actual == [edge for edge in edges if edge[2] >= 0.6]


def test_exported_fingerprints_equal_rdkit(client: httpx.Client) -> None:
    parameters: dict[str, Any] = {"what": "fingerprints", "start": 7, "stop": 9}
    items = client.get(f"{URL}/items", params={"limit": 1000}).json()["items"][7:9]
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    expected = [generator.GetFingerprint(Chem.MolFromSmiles(item["smiles"])) for item in items]
    reply = client.get(f"{URL}/export", params={**parameters, "format": "fps"})
    records = [line.split("\t") for line in reply.text.splitlines() if not line.startswith("#")]
    assert [DataStructs.CreateFromFPSText(bits) for bits, _ in records] == expected
    assert [identifier for _, identifier in records] == [item["names"][0] for item in items]
    array = np.load(io.BytesIO(client.get(f"{URL}/export", params={**parameters, "format": "npy"}).content))
    assert [row.tobytes().hex() for row in array] == [bits for bits, _ in records]
    selected = client.post(f"{URL}/export", json={"ids": [8, 7], "what": "fingerprints", "format": "fps"}).text
    assert selected.splitlines()[-2:] == reply.text.splitlines()[:-3:-1]


@pytest.mark.parametrize(
    ("query", "detail", "given", "expected"),
    [
        (
            {"what": "items", "columns": ["id", "colour"]},
            "no column of this name",
            "colour",
            "one of id, smiles, names",
        ),
        ({"what": "items", "start": 5, "stop": 4}, "no such range of ids", "5 to 4", "0 <= start <= stop <= "),
        ({"what": "edges", "stop": 10**6}, "no such range of ids", "0 to 1000000", "0 <= start <= stop <= "),
        (
            {"what": "edges", "format": "graphml", "start": 1},
            "not a range of its edges",
            "1 to ",
            "csv, parquet or arrow",
        ),
        ({"what": "edges", "min_similarity": 0.1}, "min_similarity lies outside the stored range", 0.1, "0.4 to 1"),
    ],
)
def test_unsupported_export_options_are_refused(
    client: httpx.Client, query: dict[str, Any], detail: str, given: object, expected: str
) -> None:
    refused = client.get(f"{URL}/export", params={"format": "csv", **query})
    problem = refused.json()
    assert (refused.status_code, refused.headers["content-type"]) == (422, "application/problem+json")
    assert detail in problem["detail"]
    assert problem["given"] == given or str(problem["given"]).startswith(str(given))
    assert expected in problem["expected"]


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ({"what": "edges", "columns": "id"}, "columns only for items"),
        ({"what": "items", "min_similarity": 0.5}, "min_similarity only for edges"),
        ({"what": "items", "start": -1}, "start"),
        ({"what": "items", "columns": ["id"] * 1001}, "columns"),
    ],
)
def test_conflicting_export_options_are_refused(client: httpx.Client, query: dict[str, Any], detail: str) -> None:
    refused = client.get(f"{URL}/export", params={"format": "csv", **query})
    assert refused.status_code == 422
    assert detail in refused.json()["detail"]
