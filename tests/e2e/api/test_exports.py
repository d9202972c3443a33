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
    """Put together from neighbour replies."""
    found = []
    for item in client.get(f"{URL}/items", params={"limit": 1000}).json()["items"]:
        near = client.get(f"{URL}/items/{item['id']}/neighbors", params={"limit": 1000}).json()["neighbors"]
        found += [(item["id"], each["item"]["id"], each["similarity"]) for each in near]
    return sorted(edge for edge in found if edge[0] < edge[1])


def edges_of(reply: httpx.Response) -> list[Edge]:
    assert reply.status_code == 200, reply.text
    match reply.headers["content-type"]:
        case "text/csv; charset=utf-8":
            header, *rows = csv.reader(io.StringIO(reply.text))
            assert header == ["source", "target", "similarity"]
            return [(int(source), int(target), float(similarity)) for source, target, similarity in rows]
        case "application/graphml+xml":
            root = ElementTree.fromstring(reply.content)
            found = root.iter("{http://graphml.graphdrawing.org/xmlns}edge")
            return [
                (int(e.attrib["source"][1:]), int(e.attrib["target"][1:]), float(e.findtext("*", ""))) for e in found
            ]
        case "application/vnd.apache.parquet":
            table = pq.read_table(io.BytesIO(reply.content))
        case "application/vnd.apache.arrow.stream":
            table = pa.ipc.open_stream(io.BytesIO(reply.content)).read_all()
    return [(row["source"], row["target"], row["similarity"]) for row in table.to_pylist()]


@pytest.mark.parametrize("format", ["csv", "parquet", "graphml", "arrow"])
def test_exported_edges_are_those_of_the_neighbours(client: httpx.Client, edges: list[Edge], format: str) -> None:
    reply = client.get(f"{URL}/export", params={"what": "edges", "format": format})
    got = edges_of(reply)
    assert [pair[:2] for pair in got] == [pair[:2] for pair in edges]
    assert [pair[2] for pair in got] == pytest.approx([pair[2] for pair in edges], rel=1e-7)
    name = f"nci-{reply.headers['Graphkin-Generation'][:12]}-edges.{format}"
    assert reply.headers["Content-Disposition"] == f'attachment; filename="{name}"'


@pytest.mark.parametrize("format", ["csv", "graphml"])
def test_selected_edges_lie_inside_the_selection(client: httpx.Client, edges: list[Edge], format: str) -> None:
    ids = list(range(0, 400, 2))[: len(client.get(f"{URL}/items", params={"limit": 1000}).json()["items"]) // 2]
    body = {"ids": ids, "what": "edges", "format": format, "min_similarity": 0.5}
    wanted = [edge for edge in edges if edge[0] in ids and edge[1] in ids and edge[2] >= 0.5]
    assert edges_of(client.post(f"{URL}/export", json=body)) == wanted
    assert wanted


def test_an_id_given_twice_counts_once_and_an_unknown_one_is_refused(client: httpx.Client, edges: list[Edge]) -> None:
    (a, b, similarity), *_ = edges
    body = {"ids": [b, a, b, a], "what": "edges", "format": "csv"}
    assert edges_of(client.post(f"{URL}/export", json=body)) == [(a, b, similarity)]
    refused = client.post(f"{URL}/export", json={**body, "ids": [a, 10**6, b]})
    assert (refused.status_code, refused.json()["given"]) == (404, 10**6)


def test_exported_items_are_those_of_the_list(client: httpx.Client) -> None:
    items = client.get(f"{URL}/items", params={"limit": 1000}).json()["items"]
    reply = client.get(f"{URL}/export", params={"what": "items", "format": "csv"})
    rows = list(csv.DictReader(io.StringIO(reply.text)))
    assert [(int(row["id"]), row["smiles"]) for row in rows] == [(item["id"], item["smiles"]) for item in items]


def test_a_selection_of_items_comes_in_the_order_given(client: httpx.Client) -> None:
    body = {"ids": [9, 3, 5], "what": "items", "format": "sdf"}
    reply = client.post(f"{URL}/export", json=body)
    assert reply.headers["content-type"] == "chemical/x-mdl-sdfile"
    supplier = Chem.SDMolSupplier()
    supplier.SetData(reply.text)
    assert [int(molecule.GetProp("id")) for molecule in supplier] == [9, 3, 5]


def test_a_generation_can_be_named(client: httpx.Client) -> None:
    generation = client.get(URL).json()["generation"]
    body = {"ids": [1], "what": "items", "format": "csv"}
    reply = client.post(f"{URL}/export", params={"generation": generation}, json=body)
    assert reply.headers["Graphkin-Generation"] == generation


@pytest.fixture(scope="module")
def to_aspirin(client: httpx.Client) -> np.ndarray:
    """Every item's similarity to aspirin by RDKit alone."""
    items = client.get(f"{URL}/items", params={"limit": 1000}).json()["items"]
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    asked, *prints = [generator.GetFingerprint(Chem.MolFromSmiles(s)) for s in (ASPIRIN, *(i["smiles"] for i in items))]
    return np.array(DataStructs.BulkTanimotoSimilarity(asked, prints), np.float32)


def similarities_of(reply: httpx.Response) -> list[tuple[int, float]]:
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
def test_items_have_their_similarity_to_the_query(client: httpx.Client, to_aspirin: np.ndarray, format: str) -> None:
    ids = [*range(399, 0, -2), 7, 7]  # most of them farther than the hierarchy's threshold
    body = {"ids": ids, "what": "items", "format": format, "query_smiles": ASPIRIN}
    found = similarities_of(client.post(f"{URL}/export", json=body))
    assert [id for id, _ in found] == ids
    assert np.array_equal(np.array([similarity for _, similarity in found], np.float32), to_aspirin[ids])


def test_all_that_a_query_finds_is_exported(client: httpx.Client) -> None:
    query = {"filters": [{"property": "molwt", "max": 180}], "sort": {"by": "molwt", "descending": True}}
    found = client.post(f"{URL}/items/query", json={**query, "limit": 1000}).json()["items"]
    ids = [item["id"] for item in found]
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


def test_a_file_says_what_the_search_showed(client: httpx.Client) -> None:
    hits = client.post(f"{URL}/search", json={"smiles": ASPIRIN, "limit": 50}).json()["hits"]
    body = {"ids": [hit["item"]["id"] for hit in hits], "what": "items", "format": "csv", "query_smiles": ASPIRIN}
    found = similarities_of(client.post(f"{URL}/export", json=body))
    assert found == [(hit["item"]["id"], hit["similarity"]) for hit in hits]


@pytest.mark.parametrize("threshold", [None, 0.5])
def test_graphml_holds_a_query_that_is_not_stored(
    client: httpx.Client, to_aspirin: np.ndarray, edges: list[Edge], threshold: float | None
) -> None:
    ids = np.argsort(-to_aspirin)[:100].tolist()
    body = {"ids": ids, "what": "edges", "format": "graphml", "query_smiles": ASPIRIN, "min_similarity": threshold}
    graph = nx.parse_graphml(client.post(f"{URL}/export", json=body).text)
    assert graph.nodes["query"] == dict.fromkeys(("label", "smiles"), Chem.CanonSmiles(ASPIRIN))
    near = {f"n{id}": to_aspirin[id] for id in ids if to_aspirin[id] >= np.float32(threshold or 0.4)}
    assert near
    joined = {node: np.float32(each["similarity"]) for node, each in graph.adj["query"].items()}
    assert joined == near
    graph.remove_node("query")
    similarity = {node: np.float32(value) for node, value in graph.nodes(data="similarity")}
    assert similarity == {f"n{id}": to_aspirin[id] for id in ids}
    inside = [edge for edge in edges if {*edge[:2]} <= {*ids} and edge[2] >= (threshold or 0)]
    assert graph.number_of_edges() == len(inside) > 0


def test_graphml_has_a_stored_query_once(client: httpx.Client, edges: list[Edge]) -> None:
    (a, b, similarity), *_ = edges
    smiles = client.get(f"{URL}/items/{a}").json()["smiles"]
    body = {"ids": [a, b], "what": "edges", "format": "graphml", "query_smiles": smiles}
    graph = nx.parse_graphml(client.post(f"{URL}/export", json=body).text)
    assert set(graph) == {f"n{a}", f"n{b}"}
    assert dict(graph.nodes(data="similarity")) == {f"n{a}": 1, f"n{b}": similarity}
    without = nx.parse_graphml(client.post(f"{URL}/export", json={**body, "ids": [b]}).text)
    assert [*without.edges(data="similarity")] in ([(f"n{b}", "query", similarity)], [("query", f"n{b}", similarity)])


def test_some_columns_of_some_items(client: httpx.Client) -> None:
    items = client.get(f"{URL}/items", params={"limit": 1000}).json()["items"]
    asked: dict[str, Any] = {
        "what": "items",
        "format": "arrow",
        "columns": ["names", "smiles"],
        "start": 7,
        "stop": 391,
    }
    table = pa.ipc.open_stream(client.get(f"{URL}/export", params=asked).content).read_all()
    assert table.to_pylist() == [{"smiles": item["smiles"], "names": item["names"]} for item in items[7:391]]
    lines = client.get(f"{URL}/export", params={**asked, "format": "csv", "columns": "id", "stop": 9}).text
    assert lines == "id\n7\n8\n"
    assert client.get(f"{URL}/export", params={**asked, "format": "csv", "columns": "id", "stop": 7}).text == "id\n"


@pytest.mark.parametrize("format", ["csv", "parquet", "arrow"])
def test_similar_edges_of_a_range(client: httpx.Client, edges: list[Edge], format: str) -> None:
    asked: dict[str, Any] = {"what": "edges", "format": format, "start": 20, "stop": 150, "min_similarity": 0.6}
    got = edges_of(client.get(f"{URL}/export", params=asked))
    assert got
    assert [edge[:2] for edge in got] == [(a, b) for a, b, similarity in edges if 20 <= a < 150 and similarity >= 0.6]


def test_similar_edges_as_a_graph(client: httpx.Client, edges: list[Edge]) -> None:
    asked: dict[str, Any] = {"what": "edges", "format": "graphml", "min_similarity": 0.6}
    got = edges_of(client.get(f"{URL}/export", params=asked))
    assert got == [edge for edge in edges if edge[2] >= 0.6]


def test_fingerprints_as_others_read_them(client: httpx.Client) -> None:
    asked: dict[str, Any] = {"what": "fingerprints", "start": 7, "stop": 9}
    items = client.get(f"{URL}/items", params={"limit": 1000}).json()["items"][7:9]
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    expected = [generator.GetFingerprint(Chem.MolFromSmiles(item["smiles"])) for item in items]
    reply = client.get(f"{URL}/export", params={**asked, "format": "fps"})
    records = [line.split("\t") for line in reply.text.splitlines() if not line.startswith("#")]
    assert [DataStructs.CreateFromFPSText(bits) for bits, _ in records] == expected
    assert [identifier for _, identifier in records] == [item["names"][0] for item in items]
    array = np.load(io.BytesIO(client.get(f"{URL}/export", params={**asked, "format": "npy"}).content))
    assert [row.tobytes().hex() for row in array] == [bits for bits, _ in records]
    chosen = client.post(f"{URL}/export", json={"ids": [8, 7], "what": "fingerprints", "format": "fps"}).text
    assert chosen.splitlines()[-2:] == reply.text.splitlines()[:-3:-1]


@pytest.mark.parametrize(
    ("asked", "detail", "given", "expected"),
    [
        ({"what": "items", "columns": ["id", "colour"]}, "no such column", "colour", "one of id, smiles, names"),
        ({"what": "items", "start": 5, "stop": 4}, "not a range of ids", "5 to 4", "0 ≤ start ≤ stop ≤ "),
        ({"what": "edges", "stop": 10**6}, "not a range of ids", "0 to 1000000", "0 ≤ start ≤ stop ≤ "),
        (
            {"what": "edges", "format": "graphml", "start": 1},
            "not a range of its edges",
            "1 to ",
            "csv, parquet or arrow",
        ),
        ({"what": "edges", "min_similarity": 0.1}, "below the threshold", 0.1, "0.4 to 1"),
    ],
)
def test_what_an_export_does_not_offer(
    client: httpx.Client, asked: dict[str, Any], detail: str, given: object, expected: str
) -> None:
    refused = client.get(f"{URL}/export", params={"format": "csv", **asked})
    told = refused.json()
    assert (refused.status_code, refused.headers["content-type"]) == (422, "application/problem+json")
    assert detail in told["detail"]
    assert told["given"] == given or str(told["given"]).startswith(str(given))
    assert expected in told["expected"]


@pytest.mark.parametrize(
    ("asked", "detail"),
    [
        ({"what": "edges", "columns": "id"}, "columns apply to items only"),
        ({"what": "items", "min_similarity": 0.5}, "min_similarity applies to edges only"),
        ({"what": "items", "start": -1}, "start"),
        ({"what": "items", "columns": ["id"] * 1001}, "columns"),
    ],
)
def test_what_does_not_fit_together(client: httpx.Client, asked: dict[str, Any], detail: str) -> None:
    refused = client.get(f"{URL}/export", params={"format": "csv", **asked})
    assert refused.status_code == 422
    assert detail in refused.json()["detail"]
