import csv
import io
from xml.etree import ElementTree

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rdkit import Chem

URL = "/v1/collections/nci"
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
            return [(int(e.get("source")[1:]), int(e.get("target")[1:]), float(e[0].text)) for e in found]
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
