"""GET clusters, clusters/{id}, its MCS and items/{id}/cluster equal RDKit, NetworkX and pandas."""

import io
import time
from typing import Any

import httpx
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator, rdFMCS
from rdkit.Chem.Scaffolds import MurckoScaffold

from tests.until import until_available

URL = "/v1/collections/nci"


def export_table(client: httpx.Client, what: str) -> pd.DataFrame:
    reply = client.get(f"{URL}/export", params={"what": what, "format": "parquet"})
    return pd.read_parquet(io.BytesIO(reply.content))


@pytest.fixture(scope="module")
def items(client: httpx.Client) -> pd.DataFrame:
    return export_table(client, "items").set_index("id")


@pytest.fixture(scope="module")
def edges(client: httpx.Client) -> pd.DataFrame:
    return export_table(client, "edges")


def fetch(client: httpx.Client, path: str, **query: Any) -> dict[str, Any]:
    """Return the reply once it is computed."""
    while True:
        reply = client.get(f"{URL}/{path}", params=query)
        if reply.status_code != 503:
            assert reply.status_code == 200, reply.text
            body: dict[str, Any] = reply.json()
            return body
        assert "computing clusters" in reply.text
        time.sleep(int(reply.headers["Retry-After"]) / 10)


def all_members(client: httpx.Client, **query: Any) -> list[list[int]]:
    """Return the members of all clusters in order, from the pages of the list."""
    page = fetch(client, "clusters", limit=1000, **query)
    assert page["next_cursor"] is None
    assert page["total"] == len(page["clusters"])
    members = []
    for number, cluster in enumerate(page["clusters"], 1):
        assert cluster["id"] == number
        if cluster["size"] == 1:
            members.append([cluster["centre"]])
            continue
        reply = fetch(client, f"clusters/{number}", limit=1000, **query)
        assert reply["cluster"] == cluster
        members.append([item["id"] for item in reply["items"]])
        assert len(members[-1]) == cluster["size"]
        assert members[-1][0] == cluster["centre"]
        assert members[-1][1:] == sorted(members[-1][1:])
    sizes = [len(each) for each in members]
    assert sizes == sorted(sizes, reverse=True)
    assert page["singletons"] == sizes.count(1)
    assert page["singleton_share"] == pytest.approx(sizes.count(1) / sum(sizes))
    edges, counts = page["sizes"]["edges"], page["sizes"]["counts"]
    assert edges == [2**power for power in range(len(counts) + 1)]
    assert np.histogram(sizes, edges)[0].tolist() == counts
    assert [item["id"] for item in page["items"]] == sorted(each[0] for each in members)
    return members


def as_sets(members: list[list[int]]) -> set[frozenset[int]]:
    return {frozenset(each) for each in members}


def largest(edges: pd.DataFrame, threshold: float) -> int:
    stored = edges[edges["similarity"] >= np.float32(threshold)]
    return max((len(each) for each in nx.connected_components(nx.from_pandas_edgelist(stored))), default=1)


def test_butina_clusters_surround_their_center(client: httpx.Client, items: pd.DataFrame) -> None:
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    prints = [generator.GetFingerprint(Chem.MolFromSmiles(each)) for each in items["smiles"]]
    members = all_members(client, threshold=0.3)
    assert sorted(id for each in members for id in each) == [*items.index]
    assert len(members[0]) > 10
    neighbours = [sum(each >= 0.3 for each in DataStructs.BulkTanimotoSimilarity(one, prints)) for one in prints]
    assert len(members[0]) == max(neighbours)
    for centre, *others in members:
        assert all(DataStructs.TanimotoSimilarity(prints[centre], prints[each]) >= 0.3 for each in others)


def test_scaffolds_equal_rdkit(client: httpx.Client, items: pd.DataFrame) -> None:
    scaffold = items["smiles"].map(MurckoScaffold.MurckoScaffoldSmiles)
    expected = {frozenset(group) for group in items.groupby(scaffold).groups.values()}
    assert as_sets(all_members(client, method="scaffold")) == expected
    assert fetch(client, "clusters", method="scaffold", limit=1)["threshold"] is None


def test_single_linkage_default_threshold_avoids_oversized_clusters(client: httpx.Client, edges: pd.DataFrame) -> None:
    page = fetch(client, "clusters", method="single", limit=1)
    threshold = page["threshold"]
    assert page["chosen"] == {"stored": 0.4, "largest": largest(edges, 0.4)}
    assert page["chosen"]["largest"] > 40
    hundredths = [each / 100 for each in range(40, 101)]
    assert threshold == next(each for each in hundredths if largest(edges, each) <= 40)
    linked = nx.from_pandas_edgelist(edges[edges["similarity"] >= np.float32(threshold)])
    linked.add_nodes_from(range(400))
    members = all_members(client, method="single", threshold=threshold)
    assert as_sets(members) == set(map(frozenset, nx.connected_components(linked)))
    assert fetch(client, "clusters", method="single", threshold=threshold, limit=1)["chosen"] is None


def test_pages_property_ranges_and_cluster_of_an_item_agree(client: httpx.Client, items: pd.DataFrame) -> None:
    query = {"threshold": 0.35, "property": "molwt"}
    pages = [fetch(client, "clusters", limit=50, **query)]
    while pages[-1]["next_cursor"]:
        pages.append(fetch(client, "clusters", limit=50, cursor=pages[-1]["next_cursor"], **query))
    clusters = [cluster for page in pages for cluster in page["clusters"]]
    assert len(pages) > 2
    assert len(clusters) == pages[0]["total"]
    for cluster in clusters[::13]:
        first = fetch(client, f"clusters/{cluster['id']}", limit=1, **query)
        members = [first["items"][0]["id"]]
        while first["next_cursor"]:
            first = fetch(client, f"clusters/{cluster['id']}", limit=1, cursor=first["next_cursor"], **query)
            members.append(first["items"][0]["id"])
        values = items["molwt"][members]
        assert cluster["range"] == {
            "min": values.min(),
            "max": values.max(),
            "mean": pytest.approx(values.mean()),
            "values": len(values),
        }
        for id in members[:3]:
            assert fetch(client, f"items/{id}/cluster", **query)["cluster"] == cluster


def fetch_ranked(client: httpx.Client, **body: Any) -> dict[str, Any]:
    reply = until_available(lambda: client.post(f"{URL}/clusters", json=body))
    assert reply.status_code == 200, reply.text
    page: dict[str, Any] = reply.json()
    return page


def test_ranked_clusters_summarize_the_items_that_match(client: httpx.Client, items: pd.DataFrame) -> None:
    members = all_members(client, threshold=0.35)
    cluster_of = {id: number for number, each in enumerate(members, 1) for id in each}
    matching = items[items["molwt"] >= 150]
    groups = matching.groupby(matching.index.map(cluster_of))["molwt"]
    expected = groups.agg(["size", "min", "max", "mean", "std", "count"])
    body: dict[str, Any] = {"threshold": 0.35, "property": "molwt", "filters": [{"property": "molwt", "min": 150}]}
    page = fetch_ranked(client, **body, limit=1000)
    assert (page["total"], page["matches"]) == (len(expected), len(matching))
    assert page["singletons"] == (expected["size"] == 1).sum()
    assert [item["id"] for item in page["items"]] == sorted(members[each["id"] - 1][0] for each in page["clusters"])
    for cluster in page["clusters"]:
        row = expected.loc[cluster["id"]]
        assert (cluster["size"], cluster["matches"]) == (len(members[cluster["id"] - 1]), row["size"])
        assert cluster["centre"] == members[cluster["id"] - 1][0]
        assert (cluster["range"]["min"], cluster["range"]["max"]) == (row["min"], row["max"])
        assert (cluster["range"]["mean"], cluster["range"]["values"]) == (pytest.approx(row["mean"]), row["count"])
        assert cluster["sd"] == (None if row["count"] == 1 else pytest.approx(row["std"]))
    assert np.histogram(expected["size"], page["sizes"]["edges"])[0].tolist() == page["sizes"]["counts"]
    by_size = [(-each["matches"], each["id"]) for each in page["clusters"]]
    assert by_size == sorted(by_size)


@pytest.mark.parametrize(("by", "column"), [("mean", "mean"), ("sd", "std"), ("size", "size")])
@pytest.mark.parametrize("descending", [True, False])
def test_ranked_clusters_are_ordered(
    client: httpx.Client, items: pd.DataFrame, by: str, column: str, descending: bool
) -> None:
    members = all_members(client, threshold=0.35)
    cluster_of = {id: number for number, each in enumerate(members, 1) for id in each}
    expected = items.groupby(items.index.map(cluster_of))["molwt"].agg(["size", "mean", "std"])
    body = {"threshold": 0.35, "property": "molwt", "by": by, "descending": descending, "min_size": 3}
    pages = [fetch_ranked(client, **body, limit=10)]
    while pages[-1]["next_cursor"]:
        pages.append(fetch_ranked(client, **body, limit=10, cursor=pages[-1]["next_cursor"]))
    ids = [each["id"] for page in pages for each in page["clusters"]]
    assert pages[0]["total"] == len(ids) == (expected["size"] >= 3).sum()
    numbers = expected[column].loc[ids].tolist()
    assert numbers == pytest.approx(sorted(numbers, reverse=descending))
    assert (expected["size"].loc[ids] >= 3).all()


def test_clusters_without_values_come_last(client: httpx.Client) -> None:
    body = {"threshold": 0.35, "property": "molwt", "by": "sd"}
    for descending in (True, False):
        spreads = [each["sd"] for each in fetch_ranked(client, **body, descending=descending, limit=1000)["clusters"]]
        assert None in spreads
        assert None not in spreads[: spreads.index(None)]
        assert set(spreads[spreads.index(None) :]) == {None}
    refused = client.post(f"{URL}/clusters", json={"by": "mean"})
    assert (refused.status_code, "a property with the order mean or sd" in refused.text) == (422, True)


def test_query_selects_within_a_cluster(client: httpx.Client, items: pd.DataFrame) -> None:
    members = [item["id"] for item in fetch(client, "clusters/1", threshold=0.3, limit=1000)["items"]]
    cluster_query: dict[str, Any] = {"cluster": {"method": "butina", "threshold": 0.3, "id": 1}}

    def send(path: str, **body: Any) -> httpx.Response:
        reply = client.post(f"{URL}/{path}", json=body)
        assert reply.status_code == 200, reply.text
        return reply

    assert [item["id"] for item in send("items/query", **cluster_query).json()["items"]] == members
    heavy = send(
        "items/query", **cluster_query, filters=[{"property": "molwt", "min": 150}], sort={"by": "molwt"}
    ).json()
    expected = items.loc[sorted(members)].query("molwt >= 150").sort_values("molwt", kind="stable").index.tolist()
    assert [item["id"] for item in heavy["items"]] == expected
    assert 1 < heavy["total"] == len(expected) < len(members)
    sdf = send("export", what="items", format="sdf", query=cluster_query).content
    molecules = Chem.ForwardSDMolSupplier(io.BytesIO(sdf))
    assert [Chem.MolToSmiles(each) for each in molecules] == items["smiles"][members].tolist()
    assert set(send("pick", count=3, **{"from": cluster_query}).json()["ids"]) < set(members)
    beyond = client.post(f"{URL}/items/query", json={"cluster": {"threshold": 0.3, "id": 401}})
    assert beyond.status_code == 404
    others = items.index.difference(members)[:3].tolist()
    listed = send("items/query", **cluster_query, ids=[*others, members[2], members[1]]).json()
    assert [item["id"] for item in listed["items"]] == [members[1], members[2]]


def test_mcs_is_in_all_members_and_as_large_as_rdkits(client: httpx.Client, items: pd.DataFrame) -> None:
    query = {"threshold": 0.6}
    page = fetch(client, "clusters", **query)
    larger_clusters = [cluster for cluster in page["clusters"] if cluster["size"] > 2][:5]
    assert len(larger_clusters) == 5
    for cluster in [*larger_clusters, page["clusters"][-1]]:
        mcs = fetch(client, f"clusters/{cluster['id']}/mcs", **query)
        members = fetch(client, f"clusters/{cluster['id']}", limit=1000, **query)["items"]
        assert (mcs["cluster"], mcs["size"], mcs["compared"]) == (cluster["id"], cluster["size"], len(members))
        assert mcs["complete"]
        pattern = Chem.MolFromSmarts(mcs["smarts"])
        molecules = [Chem.MolFromSmiles(item["smiles"]) for item in members]
        assert all(each.HasSubstructMatch(pattern) for each in molecules)
        assert pattern.GetNumAtoms() == mcs["atoms"]
        cut = Chem.MolFromSmiles(mcs["smiles"])
        assert sum(atom.GetAtomicNum() > 0 for atom in cut.GetAtoms()) == mcs["atoms"]
        exact = rdFMCS.BondCompare.CompareOrderExact
        rdkit_mcs = rdFMCS.FindMCS(molecules * 2, bondCompare=exact, ringMatchesRingOnly=True, completeRingsOnly=True)
        lone_ring_atoms = rdkit_mcs.numAtoms - mcs["atoms"]  # RDKit keeps them with these options.
        assert 0 <= lone_ring_atoms == rdkit_mcs.smartsString.count("&R]") - mcs["smarts"].count("&R]")
        svg = fetch_svg(client, f"clusters/{cluster['id']}/mcs.svg", width=180, height=120, **query)
        assert f"{mcs['atoms']} atoms in each of {len(members)} molecules" in svg
        assert "180px" in svg
    alone = items["smiles"][page["clusters"][-1]["centre"]]
    assert mcs["atoms"] == Chem.MolFromSmiles(alone).GetNumAtoms()  # The MCS of a single molecule is the molecule.


def fetch_svg(client: httpx.Client, path: str, **query: Any) -> str:
    reply = client.get(f"{URL}/{path}", params=query)
    assert reply.status_code == 200, reply.text
    return reply.text


def test_other_kinds_have_clusters_but_no_scaffolds(client: httpx.Client) -> None:
    social = "/v1/collections/social/clusters"
    reply = until_available(lambda: client.get(social, params={"threshold": 0.9}))
    assert sum(cluster["size"] for cluster in reply.json()["clusters"]) == 80
    assert client.get(social, params={"method": "scaffold"}).status_code == 409
    assert client.get(f"{social}/1/mcs", params={"threshold": 0.9}).status_code == 409


@pytest.mark.parametrize(
    ("path", "query", "status", "expected_text"),
    [
        ("clusters", {"method": "kmeans"}, 422, "butina"),
        ("clusters", {"method": "scaffold", "threshold": 0.5}, 422, "no threshold"),
        ("clusters", {"method": "single", "threshold": 0.1}, 422, "0.4 to 1"),
        ("clusters", {"threshold": 0}, 422, "above 0"),
        ("clusters", {"threshold": 1.1}, 422, "threshold"),
        ("clusters", {"method": "single", "property": "weight"}, 422, "molwt"),
        ("clusters", {"limit": 1001}, 422, "1000"),
        ("clusters", {"cursor": "x"}, 400, "cursor"),
        ("clusters/0", {"method": "single"}, 422, "id: expected at least 1"),
        ("clusters/401", {"method": "single"}, 404, "1 to"),
        ("clusters/401/mcs", {"method": "single"}, 404, "1 to"),
        ("clusters/1/mcs.svg", {"method": "single", "width": 10}, 422, "50"),
        ("items/400/cluster", {"method": "single"}, 404, "0 to 399"),
    ],
)
def test_error_names_the_invalid_parameter(
    client: httpx.Client, path: str, query: dict[str, Any], status: int, expected_text: str
) -> None:
    reply = client.get(f"{URL}/{path}", params=query)
    assert reply.status_code == status, reply.text
    assert expected_text in reply.text
