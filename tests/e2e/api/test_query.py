"""POST items/query equals a computation with pandas over the exported items."""

import io
import json
import time
from typing import Any

import httpx
import pandas as pd
import pyarrow as pa
import pytest

URL = "/v1/collections/nci"
ARROW = "application/vnd.apache.arrow.stream"
ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"


@pytest.fixture(scope="module")
def frame(client: httpx.Client) -> pd.DataFrame:
    reply = client.get(f"{URL}/export", params={"what": "items", "format": "parquet"})
    return pd.read_parquet(io.BytesIO(reply.content))


def fetch(client: httpx.Client, **body: Any) -> dict[str, Any]:
    reply = client.post(f"{URL}/items/query", json=body)
    assert reply.status_code == 200, reply.text
    result: dict[str, Any] = reply.json()
    return result


def test_query_filters_and_sorts(client: httpx.Client, frame: pd.DataFrame) -> None:
    filters = [{"property": "molwt", "min": 150, "max": 300}, {"property": "rings", "in": [1, 2]}]
    result = fetch(client, filters=filters, sort={"by": "heavy_atoms", "descending": True}, limit=1000)
    selection = frame[frame["molwt"].between(150, 300) & frame["rings"].isin([1, 2])]
    expected = selection.sort_values(["heavy_atoms", "id"], ascending=[False, True])
    assert [item["id"] for item in result["items"]] == expected["id"].tolist()
    assert result["total"] == len(expected) > 50
    assert result["next_cursor"] is None
    first = result["items"][0]
    assert {**first, "generation": result["generation"]} == {
        **client.get(f"{URL}/items/{first['id']}").json(),
        "similarity": None,
        "computed": {},
    }


def test_values_are_the_columns_of_the_export(client: httpx.Client, frame: pd.DataFrame) -> None:
    body = {"columns": ["molwt", "descriptor.clogp"], "filters": [{"property": "rings", "min": 1}]}
    ordered = {**body, "sort": {"by": "molwt", "descending": True}}
    while (reply := client.post(f"{URL}/values", json=ordered, headers={"Accept": ARROW})).status_code == 503:
        time.sleep(int(reply.headers["Retry-After"]) / 10)
    table = pa.ipc.open_stream(reply.content).read_all()
    expected = frame[frame["rings"] >= 1].sort_values(["molwt", "id"], ascending=[False, True])
    assert table.schema.names == ["id", "molwt", "descriptor.clogp"]
    assert [table["id"].to_pylist(), table["molwt"].to_pylist()] == [
        expected[name].tolist() for name in ("id", "molwt")
    ]
    columns = {"what": "items", "format": "parquet", "columns": ["id", "descriptor.clogp"]}
    exported = pd.read_parquet(io.BytesIO(client.get(f"{URL}/export", params=columns).content))["descriptor.clogp"]
    assert table["descriptor.clogp"].to_pylist() == exported[expected["id"]].tolist()
    lines = client.post(f"{URL}/values", json=body).text.splitlines()
    assert [json.loads(line) for line in lines] == table.sort_by("id").to_pylist()


def test_values_need_numeric_columns(client: httpx.Client) -> None:
    assert client.post(f"{URL}/values", json={"columns": [], "ids": [5, 3]}).text == '{"id":5}\n{"id":3}\n'
    problem = client.post(f"{URL}/values", json={"columns": ["mass"]}).json()
    assert [problem["status"], problem["given"]] == [422, "mass"]
    assert "molwt" in problem["expected"]
    assert client.post(f"{URL}/values", json={}).status_code == 422
    assert client.post(f"{URL}/values", json={"columns": ["molwt"] * 9}).status_code == 422


def test_query_matches_the_beginning_of_names(client: httpx.Client, frame: pd.DataFrame) -> None:
    result = fetch(client, name="12", limit=1000)
    expected = frame[frame["names"].map(lambda names: any(name.startswith("12") for name in names))]
    assert [item["id"] for item in result["items"]] == expected["id"].tolist()
    assert result["total"] > 3


def test_similar_items_have_the_order_of_a_search(client: httpx.Client) -> None:
    near = {"smiles": ASPIRIN, "min_similarity": 0.15}
    result = fetch(client, similar=near, filters=[{"property": "rings", "equals": 1}], limit=1000)
    hits = client.post(f"{URL}/search", json={**near, "limit": 1000}).json()["hits"]
    selection = [hit for hit in hits if hit["item"]["properties"]["rings"] == 1]
    assert [(item["id"], item["similarity"]) for item in result["items"]] == [
        (hit["item"]["id"], hit["similarity"]) for hit in selection
    ]
    assert 5 < result["total"] == len(selection) < len(hits)
    rising = fetch(client, similar=near, sort={"by": "similarity"}, limit=1000)["items"]
    assert [item["similarity"] for item in rising] == sorted(hit["similarity"] for hit in hits)


def test_itself_false_omits_the_structure(client: httpx.Client) -> None:
    smiles = client.get(f"{URL}/items/5").json()["smiles"]
    hits = client.post(f"{URL}/search", json={"smiles": smiles, "limit": 1000}).json()["hits"]
    result = fetch(client, similar={"smiles": smiles, "itself": False}, limit=1000)
    assert [(item["id"], item["similarity"]) for item in result["items"]] == [
        (hit["item"]["id"], hit["similarity"]) for hit in hits if hit["item"]["id"] != 5
    ]
    assert result["total"] == len(hits) - 1
    assert 5 in [item["id"] for item in fetch(client, similar={"smiles": smiles})["items"]]


def test_neighbors_are_filtered_and_sorted(client: httpx.Client) -> None:
    items = client.get(f"{URL}/items", params={"limit": 1000}).json()["items"]
    id = max(items, key=lambda item: item["degree"])["id"]
    near = client.get(f"{URL}/items/{id}/neighbors", params={"min_similarity": 0.45, "limit": 1000}).json()["neighbors"]
    neighborhood = {"neighbors_of": {"id": id, "min_similarity": 0.45}}
    result = fetch(client, **neighborhood, limit=1000)
    assert [(item["id"], item["similarity"]) for item in result["items"]] == [
        (each["item"]["id"], each["similarity"]) for each in near
    ]
    light = fetch(
        client,
        **neighborhood,
        filters=[{"property": "molwt", "max": 250}],
        sort={"by": "degree", "descending": True},
        limit=1000,
    )
    selection = [each["item"] for each in near if each["item"]["properties"]["molwt"] <= 250]
    selection.sort(key=lambda item: (-item["degree"], item["id"]))
    assert [item["id"] for item in light["items"]] == [item["id"] for item in selection]
    assert 1 < light["total"] == len(selection) < len(near)


def test_ids_keep_their_order_unless_sorted(client: httpx.Client, frame: pd.DataFrame) -> None:
    ids = [*range(399, 0, -3), 399]
    assert [item["id"] for item in fetch(client, ids=ids, limit=1000)["items"]] == ids[:-1]
    assert fetch(client, ids=[])["items"] == []
    result = fetch(client, ids=ids, sort={"by": "molwt"}, filters=[{"property": "rings", "min": 1}], limit=1000)
    selection = frame[frame["id"].isin(ids) & (frame["rings"] >= 1)].sort_values(["molwt", "id"])
    assert [item["id"] for item in result["items"]] == selection["id"].tolist()


def test_items_have_the_requested_properties(client: httpx.Client) -> None:
    result = fetch(client, columns=["molwt"], limit=3)
    assert [[*item["properties"]] for item in result["items"]] == [["molwt"]] * 3
    assert [item["properties"] for item in fetch(client, columns=[], limit=2)["items"]] == [{}, {}]


def test_pages_are_slices_of_the_whole_result(client: httpx.Client) -> None:
    body = {"filters": [{"property": "molwt", "max": 200}], "sort": {"by": "molwt"}}
    whole = fetch(client, **body, limit=1000)
    pages: list[list[dict[str, Any]]] = []
    cursor = None
    while not pages or cursor:
        page = fetch(client, **body, limit=7, **({"cursor": cursor} if cursor else {}))
        assert page["total"] == whole["total"]
        pages.append(page["items"])
        cursor = page["next_cursor"]
    assert [item for page in pages for item in page] == whole["items"]
    assert {len(page) for page in pages[:-1]} == {7}


def test_cursor_of_another_query_is_refused(client: httpx.Client) -> None:
    page = fetch(client, name="1", limit=2)
    next_page = fetch(client, name="1", limit=5, cursor=page["next_cursor"])
    assert next_page["generation"] == page["generation"]
    for body in ({"name": "2"}, {"name": "1", "sort": {"by": "id"}}):
        assert client.post(f"{URL}/items/query", json={**body, "cursor": page["next_cursor"]}).status_code == 400
    other = client.get(f"{URL}/items", params={"limit": 1}).json()["next_cursor"]
    assert client.post(f"{URL}/items/query", json={"cursor": other}).status_code == 400
    assert client.post(f"{URL}/items/query", json={"cursor": "x"}).status_code == 400


def test_query_of_graphs(client: httpx.Client) -> None:
    body = {"filters": [{"property": "class", "equals": 1}], "sort": {"by": "nodes", "descending": True}, "limit": 3}
    result = client.post("/v1/collections/social/items/query", json=body).json()
    assert result["total"] == 40
    nodes = [item["properties"]["nodes"] for item in result["items"]]
    assert nodes == sorted(nodes, reverse=True)
    assert nodes[0] == 150


@pytest.mark.parametrize(
    ("body", "expected_text"),
    [
        ({"filters": [{"property": "weight", "min": 1}]}, "molwt"),
        ({"filters": [{"property": "molwt", "contains": "1"}]}, "min, max, equals, in"),
        ({"filters": [{"property": "molwt", "equals": "1"}]}, "numbers"),
        ({"filters": [{"property": "names", "min": 1}]}, "equals, in, contains"),
        ({"filters": [{"property": "molwt"}]}, "at least one of"),
        ({"filters": [{"property": "molwt", "min": True}]}, "number"),
        ({"filters": [{"property": "molwt", "least": 1}]}, "unknown"),
        ({"filters": [{"property": "molwt", "min": 1}] * 101}, "100"),
        ({"filters": [{"property": "molwt", "in": [1] * 1001}]}, "1000"),
        ({"sort": {"by": "weight"}}, "molwt"),
        ({"sort": {"by": "similarity"}}, "molwt"),
        ({"columns": ["weight"]}, "molwt"),
        ({"limit": 1001}, "1000"),
        ({"similar": {"smiles": "C(", "min_similarity": 0.5}}, "C("),
        ({"similar": {"smiles": "C", "inchi": "x", "min_similarity": 0.5}}, "exactly one"),
        ({"similar": {"smiles": "C"}, "neighbors_of": {"id": 1}}, "at most one of"),
        ({"ids": [1] * 10_001}, "10000"),
        ({"neighbors_of": {"id": 1, "min_similarity": 0.1}}, "0.4"),
        ({"unknown": 1}, "unknown"),
    ],
)
def test_error_names_the_invalid_value(client: httpx.Client, body: dict[str, Any], expected_text: str) -> None:
    reply = client.post(f"{URL}/items/query", json=body)
    assert reply.status_code == 422, reply.text
    assert expected_text in reply.text
    assert reply.json()["given"] is not None


@pytest.mark.parametrize("body", [{"ids": [1, 10**6]}, {"neighbors_of": {"id": 10**6}}])
def test_error_names_the_unknown_item(client: httpx.Client, body: dict[str, Any]) -> None:
    reply = client.post(f"{URL}/items/query", json=body)
    assert reply.status_code == 404
    assert reply.json()["given"] == 10**6


MEASURES: list[dict[str, Any]] = [
    {},
    {"measure": {"name": "tversky", "alpha": 0.9, "beta": 0.1}},
    {"measure": {"name": "counts"}},
]


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_filtered_search_finds_the_most_similar_matches(client: httpx.Client, measure: dict[str, Any]) -> None:
    body = {"smiles": ASPIRIN, **measure}
    everything = client.post(f"{URL}/search", json={**body, "limit": 1000}).json()["hits"]
    selection = [hit for hit in everything if hit["item"]["properties"]["rings"] == 2 and hit["similarity"] > 0]
    filters = [{"property": "rings", "equals": 2}]
    result = client.post(f"{URL}/search", json={**body, "filters": filters, "limit": 7}).json()
    assert result["hits"] == selection[:7]
    assert everything[6] != selection[6]
    assert result["total"] is None
    near = [hit for hit in selection if hit["similarity"] >= 0.2]
    counted = client.post(f"{URL}/search", json={**body, "filters": filters, "min_similarity": 0.2, "limit": 3}).json()
    assert (counted["hits"], counted["total"]) == (near[:3], len(near))


def test_filtered_search_of_graphs(client: httpx.Client) -> None:
    url, body = "/v1/collections/social/search", {"graph": {"edges": [[0, 1], [1, 2], [2, 0]]}}
    everything = client.post(url, json={**body, "limit": 100}).json()["hits"]
    result = client.post(url, json={**body, "filters": [{"property": "class", "equals": 1}], "limit": 100}).json()[
        "hits"
    ]
    assert result == [hit for hit in everything if hit["item"]["properties"]["class"] == 1]


def test_filtered_neighbors_are_paged(client: httpx.Client) -> None:
    items = client.get(f"{URL}/items", params={"limit": 1000}).json()["items"]
    url = f"{URL}/items/{max(items, key=lambda item: item['degree'])['id']}/neighbors"
    everything = client.get(url).json()
    selection = [each for each in everything["neighbors"] if each["item"]["properties"]["molwt"] <= 200]
    filters = json.dumps([{"property": "molwt", "max": 200}])
    result: list[dict[str, Any]] = []
    cursor = None
    while not result or cursor:
        page = client.get(url, params={"filters": filters, "limit": 2, **({"cursor": cursor} if cursor else {})}).json()
        assert page["total"] == len(selection)
        result += page["neighbors"]
        cursor = page["next_cursor"]
    assert result == selection
    assert 2 < len(selection) < everything["total"]


@pytest.mark.parametrize(
    ("filters", "expected_text"),
    [
        ("x", "filters"),
        ("null", "filters"),
        ("{}", "filters"),
        ('[{"property": "weight", "min": 1}]', "molwt"),
        ('[{"property": "molwt", "min": "1"}]', "number"),
        ('[{"property": "names", "min": 1}]', "equals, in, contains"),
    ],
)
def test_invalid_filters_of_neighbors_are_refused(client: httpx.Client, filters: str, expected_text: str) -> None:
    reply = client.get(f"{URL}/items/5/neighbors", params={"filters": filters})
    assert reply.status_code == 422, reply.text
    assert expected_text in reply.text


def test_invalid_filters_of_a_search_are_refused(client: httpx.Client) -> None:
    reply = client.post(f"{URL}/search", json={"smiles": "C", "filters": [{"property": "weight", "min": 1}]})
    assert reply.status_code == 422
    assert "molwt" in reply.json()["expected"]


def test_query_by_get_is_refused(client: httpx.Client) -> None:
    refused = client.get(f"{URL}/items/query")
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST")
