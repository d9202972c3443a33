"""Both clients return what the API returns to a plain HTTP client."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pytest
from rdkit import Chem

from graphkin.client import Collection, Graphkin
from graphkin.ingest.pipeline import IngestOptions, ingest
from graphkin.protocol.errors import Conflict, InvalidInput, NotFound
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store
from studies.report import main as make_report

SAMPLES: list[dict[str, Any]] = [
    {"policy": "first_order", "seed": 7},
    {"policy": "random_walk", "k": 9, "length": 4, "walks": 9, "rank": "top", "p": 0.5, "q": 2, "p_end": 0.2},
    {"policy": "second_order", "k": 7, "seed": 2**53 - 1},
]


@pytest.fixture(scope="module")
def server(connect: Any, url: str) -> Iterator[Graphkin]:
    with connect(url) as server:
        yield server


@pytest.fixture(scope="module")
def nci(server: Graphkin) -> Collection:
    return server.collection("nci")


@pytest.fixture(scope="module")
def plain(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"{url}/v1/collections/nci/") as client:
        yield client


@pytest.fixture(scope="module")
def rejecting_url(serve: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the URL of a server with a collection of one molecule and 1,300 rejected records."""
    folder = tmp_path_factory.mktemp("rejecting")
    (folder / "some.smi").write_text("CCO one\n" + "nonsense\n" * 1300)
    with open_store(folder / "store", create=True) as store:
        options = IngestOptions(workers=1, max_rejected=1)
        ingest(store, "some", [str(folder / "some.smi")], resolve(), options)
    with serve(folder / "store") as url:
        yield url


def parse_rows(reply: httpx.Response) -> list[dict[str, Any]]:
    assert reply.status_code == 200, reply.text
    return [json.loads(line) for line in reply.text.splitlines()]


def test_collections_are_listed_and_opened(server: Graphkin, url: str) -> None:
    entries = httpx.get(f"{url}/v1/collections").json()["collections"]
    assert [each.model_dump() for each in server.collections()] == entries
    for each in entries:
        collection = server.collection(each["name"])
        assert (collection.kind, collection.generation, collection.size) == (
            each["kind"],
            each["generation"],
            each["items"],
        )
        assert each["name"] in repr(collection)
        assert collection.detail.model_dump() == httpx.get(f"{url}/v1/collections/{each['name']}").json()


def test_client_reads_health_and_metrics(server: Graphkin) -> None:
    assert server.livez().status == "alive"
    assert server.readyz().status == "ready"
    assert "# TYPE graphkin_http_requests" in server.metrics()


def body_without_generation(reply: httpx.Response) -> dict[str, Any]:
    """Return the body of a reply without the generation, which nested objects do not have."""
    body: dict[str, Any] = reply.json()
    del body["generation"]
    return body


def test_items_are_found_by_id_smiles_and_name(nci: Collection, plain: httpx.Client) -> None:
    everything = [*nci.items()]
    assert [item.id for item in everything] == [*range(nci.size)]
    for item in everything[::37]:
        assert item == nci.item(item.id)
        assert item.model_dump() == body_without_generation(plain.get(f"items/{item.id}"))
        assert item.id in [match.id for match in nci.items(smiles=item.smiles)]
        assert item.id in [match.id for match in nci.items(name=item.names[0])]
    assert [*nci.items(name="nobody")] == []


def test_items_iterates_over_many_pages(server: Graphkin) -> None:
    ids = [item.id for item, _ in zip(server.collection("many").items(), range(2500), strict=False)]
    assert ids == [*range(2500)]


def test_neighbors_reads_every_page_up_to_a_limit(nci: Collection, plain: httpx.Client) -> None:
    degrees = {item.id: item.degree for item in nci.items()}
    busiest = max(degrees, key=degrees.__getitem__)
    reply = plain.get(f"items/{busiest}/neighbors", params={"limit": 1000}).json()["neighbors"]
    all_neighbors = nci.neighbors(busiest)
    assert [each.model_dump() for each in all_neighbors] == reply
    assert nci.neighbors(busiest, limit=2) == all_neighbors[:2]
    assert nci.neighbors(busiest, min_similarity=0.6) == [each for each in all_neighbors if each.similarity >= 0.6]


def test_search_by_each_notation(nci: Collection, plain: httpx.Client) -> None:
    result = nci.search(smiles="CCOC(C)=O", limit=3)
    assert result.model_dump() == plain.post("search", json={"smiles": "CCOC(C)=O", "limit": 3}).json()
    assert nci.search(inchi="InChI=1S/C4H8O2/c1-3-6-4(2)5/h3H2,1-2H3", limit=3) == result
    assert nci.search(structure="CCOC(C)=O", limit=3) == result
    assert nci.search(molblock=Chem.MolToMolBlock(Chem.MolFromSmiles("CCOC(C)=O")), limit=3) == result
    assert nci.search(smiles="CCOC(C)=O", min_similarity=0.3).total == len(
        plain.post("search", json={"smiles": "CCOC(C)=O", "min_similarity": 0.3, "limit": 1000}).json()["hits"]
    )


def test_query_reads_every_page_up_to_a_limit(nci: Collection, plain: httpx.Client, server: Graphkin) -> None:
    option_sets: dict[str, Any] = {
        "filters": [{"property": "rings", "in": [1, 2]}, {"property": "molwt", "min": 120}],
        "sort": {"by": "molwt", "descending": True},
        "columns": ["molwt"],
    }
    result = nci.query(**option_sets)
    assert result.model_dump() == plain.post("items/query", json={**option_sets, "limit": 1000}).json()
    assert nci.query(**option_sets, limit=3).items == result.items[:3]
    assert nci.query(**option_sets, limit=3).total == result.total == len(result.items)
    near: dict[str, Any] = {"smiles": "CCOC(C)=O", "min_similarity": 0.3}
    assert [(each.id, each.similarity) for each in nci.query(similar=near).items] == [
        (hit.item.id, hit.similarity) for hit in nci.search(**near, limit=1000).hits
    ]
    many = server.collection("many")
    assert [item.id for item in many.query(sort={"by": "id", "descending": True}).items] == [*range(many.size)][::-1]
    subgraph = nci.query(neighbors_of={"id": 9}, sort={"by": "degree"}).items
    assert {each.id for each in subgraph} == {each.item.id for each in nci.neighbors(9)}
    assert [each.id for each in nci.query(ids=[9, 3]).items] == [9, 3]
    with pytest.raises(InvalidInput, match="no property of this name"):
        nci.query(filters=[{"property": "weight", "max": 1}])


def test_values_are_columns_of_the_table(nci: Collection) -> None:
    table = nci.table_of([9, 3], ["id", "molwt"])
    assert nci.values(["molwt"], ids=[9, 3]).to_pylist() == table.to_pylist()
    assert nci.values([], filters=[{"property": "molwt", "min": 1e6}]).num_rows == 0
    with pytest.raises(InvalidInput, match="no numeric property of this name"):
        nci.values(["weight"])


def test_search_returns_hits_without_common_bits(nci: Collection) -> None:
    hits = nci.search(smiles="CCOC(C)=O", limit=1000).hits
    assert len(hits) == min(1000, len([*nci.items()]))
    assert hits[-1].similarity == 0
    (row,) = nci.search_batch(["CCOC(C)=O"], limit=100).to_pylist()
    assert [hit["id"] for hit in row["hits"]] == [hit.item.id for hit in hits[:100]]


def test_search_and_neighbors_accept_filters(nci: Collection) -> None:
    light = [{"property": "molwt", "max": 150}]
    everything = nci.search(smiles="CCOC(C)=O", min_similarity=0.05, limit=1000).hits
    hits = [hit for hit in everything if hit.item.properties["molwt"] <= 150]
    assert nci.search(smiles="CCOC(C)=O", filters=light, limit=4).hits == hits[:4]
    busiest = max(nci.items(), key=lambda item: item.degree).id
    near = [each for each in nci.neighbors(busiest) if each.item.properties["molwt"] <= 150]
    assert nci.neighbors(busiest, filters=light) == near


def test_structure_reads_a_molecule_that_is_not_stored(nci: Collection, plain: httpx.Client) -> None:
    query: dict[str, Any] = {"smiles": "OC(=O)CC1CC1"}
    assert nci.structure(**query).model_dump() == plain.get("structure", params=query).json()
    assert (
        nci.structure_depiction(**query, width=100)
        == plain.get("structure.svg", params={**query, "width": 100}).content
    )


def test_depiction_equals_http(nci: Collection, plain: httpx.Client) -> None:
    for shared in ({}, {"highlight": 7}, {"highlight_smiles": "CCO"}):
        svg = nci.depiction(5, height=300, **shared)
        assert svg == plain.get("items/5/depiction.svg", params={"height": 300, **shared}).content


def test_reports_equal_their_files(connect: Any, serve: Any, store_folder: Path, tmp_path: Path) -> None:
    options = ["--store", str(store_folder), "--collection", "nci", "--targets", "10"]
    assert make_report(["hops", *options, "--output", str(tmp_path)]) == 0
    with serve(store_folder, reports=tmp_path) as url, connect(url) as server:
        nci = server.collection("nci")
        (report,) = nci.reports()
        report_file = json.loads((tmp_path / "hops.json").read_text())
        assert (report.name, report.title, report.command) == ("hops", report_file["title"], report_file["command"])
        assert nci.report_charts("hops") == (tmp_path / "hops.svg").read_bytes()
        with pytest.raises(NotFound, match="no report of this name"):
            nci.report_charts("orders")


def test_subgraph_and_path_equal_http(nci: Collection, plain: httpx.Client) -> None:
    busiest = max(nci.items(), key=lambda item: item.degree).id
    query: dict[str, Any] = {"hops": 2, "max_items": 30, "max_edges": 40, "min_similarity": 0.45}
    default_cluster = nci.subgraph(busiest, **query)
    assert default_cluster.model_dump() == plain.get(f"items/{busiest}/subgraph", params=query).json()
    farthest = default_cluster.nodes[-1].item.id
    path = nci.path(busiest, farthest, min_similarity=0.45)
    assert path is not None
    assert len(path) == default_cluster.nodes[-1].hop + 1
    assert [step.id for step in path][:: len(path) - 1] == [busiest, farthest]
    assert nci.path(busiest, farthest, max_hops=1) is None
    query = {"targets": 50, "max_hops": 3, "seed": 4}
    assert [hop.model_dump() for hop in nci.hops(**query)] == plain.get("hops", params=query).json()["hops"]


def test_cliffs_reads_every_page(nci: Collection, plain: httpx.Client) -> None:
    filters = [{"property": "rings", "max": 2}]
    query: dict[str, Any] = {"property": "molwt", "by": "difference", "min_similarity": 0.5, "min_difference": 1}
    whole = plain.get("cliffs", params={**query, "filters": json.dumps(filters), "limit": 1000}).json()
    assert whole["next_cursor"] is None
    assert 3 < len(whole["pairs"]) == whole["total"]
    assert nci.cliffs(**query, filters=filters).model_dump() == whole
    few = nci.cliffs(**query, filters=filters, limit=2)
    assert [pair.model_dump() for pair in few.pairs] == whole["pairs"][:2]
    assert {item.id for item in few.items} == {id for pair in few.pairs for id in (pair.a, pair.b)}


def test_clusters_and_their_members_equal_http(nci: Collection, plain: httpx.Client) -> None:
    query: dict[str, Any] = {"method": "single", "threshold": 0.5, "property": "molwt"}
    all_clusters = nci.clusters(**query)
    assert all_clusters.model_dump() == plain.get("clusters", params={**query, "limit": 1000}).json()
    assert nci.clusters(**query, limit=3).clusters == all_clusters.clusters[:3]
    largest = all_clusters.clusters[0]
    part = nci.cluster(1, **query)
    assert part.model_dump() == plain.get("clusters/1", params={**query, "limit": 1000}).json()
    assert len(part.items) == largest.size > 2
    assert nci.cluster(1, **query, limit=2).items == part.items[:2]
    assert nci.item_cluster(part.items[-1].id, **query).cluster == largest
    mcs = nci.mcs(1, method="single")
    assert mcs.model_dump() == plain.get("clusters/1/mcs", params={"method": "single"}).json()
    assert nci.mcs_depiction(1, method="single", width=200).startswith(b"<?xml")
    subgraph = nci.clusters(threshold=0.3, limit=1).clusters[0]  # The client waits for the computation.
    assert subgraph.size == len(nci.cluster(1, threshold=0.3).items)


def test_scaffold_tree_equals_http(nci: Collection, plain: httpx.Client) -> None:
    body: dict[str, Any] = {"property": "molwt", "substructure": {"smiles": "c1ccccc1"}, "min_count": 2}
    whole = nci.scaffold_tree(**body)
    assert whole.model_dump() == plain.post("scaffolds", json={**body, "limit": 1000}).json()
    few = nci.scaffold_tree(**body, limit=3)
    assert few.scaffolds == whole.scaffolds[:3]
    assert few.total == whole.total > 3


def test_pick_equals_http(nci: Collection, plain: httpx.Client) -> None:
    body: dict[str, Any] = {"count": 12, "method": "sphere", "threshold": 0.4}
    selection = {"filters": [{"property": "rings", "min": 1}]}
    assert nci.pick(12).model_dump() == plain.post("pick", json={"count": 12}).json()
    assert (
        nci.pick(**body, source=selection).model_dump() == plain.post("pick", json={**body, "from": selection}).json()
    )
    with pytest.raises(InvalidInput, match="this number of items"):
        nci.pick(3, source={"ids": [1, 2]})


def test_components_reads_every_page(nci: Collection, plain: httpx.Client) -> None:
    query: dict[str, Any] = {"min_similarity": 0.5, "min_size": 1}
    whole = plain.get("components", params={**query, "limit": 1000}).json()
    assert whole["next_cursor"] is None
    assert nci.components(**query).model_dump() == whole
    assert nci.components(**query, limit=3).components == nci.components(**query).components[:3]
    largest = whole["components"][0]
    part = nci.component(largest["id"], min_similarity=0.5)
    assert (
        part.model_dump()
        == plain.get(f"components/{largest['id']}", params={"min_similarity": 0.5, "limit": 1000}).json()
    )
    assert len(part.items) == largest["size"]
    assert nci.component(largest["id"], min_similarity=0.5, limit=2).items == part.items[:2]


def test_components_combines_many_pages(server: Graphkin) -> None:
    many = server.collection("many")
    many_components = many.components(min_similarity=0.95, min_size=1, limit=2500)
    assert [each.id for each in many_components.components] == [*range(2500)]
    assert [item.id for item in many_components.named] == [*range(2500)]
    assert (many_components.total, many_components.singletons) == (many.size, many.size)
    assert [item.id for item in many.component(0, limit=1500).items] == [*range(1500)]


def test_rejections_iterates_over_many_pages(rejecting_url: str, connect: Any) -> None:
    with connect(rejecting_url) as server:
        result = [*server.collection("some").rejections()]
        assert [each.line for each in result] == [*range(2, 1302)]
        assert result[0].input == "nonsense"


def test_search_batch_equals_json_lines(nci: Collection, plain: httpx.Client) -> None:
    structures: list[Any] = ["CCO", "C1CC", {"smiles": "c1ccccc1O"}, {"name": "none"}]
    option_sets: list[dict[str, Any]] = [{}, {"min_similarity": 0.3, "limit": 100}]
    for options in option_sets:
        table = nci.search_batch(structures, **options)
        rows = parse_rows(plain.post("search/batch", json={"structures": structures, **options}))
        assert table.equals(pa.Table.from_pylist(rows, schema=table.schema))
    with pytest.raises(InvalidInput, match="10000"):
        nci.search_batch(["C"] * 10_001)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample["policy"])
def test_epoch_equals_json_lines(nci: Collection, plain: httpx.Client, sample: dict[str, Any]) -> None:
    table = nci.epoch(3, **sample)
    *rows, end = parse_rows(plain.get("positives/epochs/3", params=sample))
    assert end == {"complete": True, "rows": nci.size}
    assert table.to_pylist() == rows
    assert table.schema.metadata[b"generation"].decode() == nci.generation
    assert nci.epoch(3, **sample, start=10, stop=17).to_pylist() == rows[10:17]
    assert nci.epoch(3, **sample, start=nci.size).to_pylist() == []
    for row in rows[::61]:
        explained = nci.positives(row["anchor"], epoch=3, **sample)
        assert [each.item.id for each in explained.positives] == row["positives"][: row["count"]]
    ids = [17, 3, 3, 250]
    assert nci.positives_batch(ids, epoch=3, **sample).to_pylist() == [rows[id] for id in ids]


def test_positives_batch_splits_many_anchors(server: Graphkin) -> None:
    many, ids = server.collection("many"), [*range(70_000)]
    table = many.positives_batch(ids, "first_order", epoch=1)
    assert table.equals(many.epoch(1, "first_order", stop=70_000), check_metadata=True)


def test_negatives_equal_json_lines(nci: Collection, plain: httpx.Client) -> None:
    query = {"seed": 5, "epoch": 2, "first": 7, "batches": 40, "count": 33}
    table = nci.negatives(**query)
    assert table.to_pylist() == parse_rows(plain.get("negatives", params=query))


def test_negatives_splits_many_batches(server: Graphkin) -> None:
    many = server.collection("many")
    table = many.negatives(0, batches=70_000, count=2)
    assert table["batch"].to_pylist() == [*range(70_000)]
    assert table.slice(69_999).to_pylist() == many.negatives(0, first=69_999, count=2).to_pylist()


def test_edges_are_filtered_by_similarity(nci: Collection, plain: httpx.Client) -> None:
    lines = plain.get("export", params={"what": "edges", "format": "csv"}).text.splitlines()[1:]
    rows = [(int(a), int(b), np.float32(s)) for a, b, s in (line.split(",") for line in lines)]
    for threshold in (0.4, 0.7, 1.0):
        columns = nci.edges(min_similarity=threshold).to_pydict()
        result = [*zip(columns["source"], columns["target"], map(np.float32, columns["similarity"]), strict=True)]
        assert result == [row for row in rows if row[2] >= np.float32(threshold)]
    assert nci.edges().num_rows == len(rows)
    middle = nci.edges(min_similarity=0.6, start=50, stop=200).to_pydict()["source"]
    assert middle == [row[0] for row in rows if 50 <= row[0] < 200 and row[2] >= np.float32(0.6)]


def test_table_selects_columns_and_a_range(nci: Collection) -> None:
    items = [*nci.items()]
    table = nci.table(["names"], start=30, stop=50)
    assert table.to_pylist() == [{"id": item.id, "names": item.names} for item in items[30:50]]
    assert nci.table(["smiles", "id"])["smiles"].to_pylist() == [item.smiles for item in items]
    assert nci.table([], start=nci.size).num_rows == 0


def test_column_yields_blocks_in_the_order_of_ids(nci: Collection) -> None:
    assert [text for block in nci.column("smiles") for text in block] == [item.smiles for item in nci.items()]


@pytest.mark.parametrize(
    "export_options",
    [
        {"what": "items", "format": "sdf"},
        {"what": "edges", "format": "graphml"},
        {"what": "items", "format": "csv", "columns": ["smiles", "names"], "start": 5, "stop": 50},
        {"what": "edges", "format": "csv", "start": 5, "stop": 50, "min_similarity": 0.6},
        {"what": "items", "format": "csv", "ids": [7, 2, 9], "query_smiles": "CCO"},
    ],
)
def test_export_writes_the_reply_to_a_file(
    nci: Collection, plain: httpx.Client, export_options: dict[str, Any]
) -> None:
    file = io.BytesIO(b"before ")
    file.seek(0, io.SEEK_END)
    nci.export(file, **export_options)
    reply = (
        plain.post("export", json=export_options)
        if "ids" in export_options
        else plain.get("export", params=export_options)
    )
    assert file.getvalue() == b"before " + reply.content


def test_refusals_are_raised_with_the_text_of_the_server(server: Graphkin, nci: Collection) -> None:
    with pytest.raises(NotFound, match="no item") as missing:
        nci.item(10**6)
    assert (missing.value.given, missing.value.exit_code) == (10**6, 3)
    with pytest.raises(NotFound, match="no collection 'nobody'") as unknown:
        server.collection("nobody")
    assert "nci" in str(unknown.value.expected)
    with pytest.raises(InvalidInput, match="min_similarity") as low:
        nci.neighbors(0, min_similarity=0.1)
    assert low.value.given == 0.1
    assert low.value.expected == "0.4 to 1"
    assert str(low.value).count("\n") == 3
    with pytest.raises(InvalidInput, match="unknown parameter"):
        nci.epoch(0, "first_order", kk=3)  # type: ignore[call-arg]
    with pytest.raises(InvalidInput, match="count"):
        nci.negatives(0, count=10**6)
    with pytest.raises(Conflict):
        [*nci.items(inchikey="LFQSCWFLJHTTHZ-UHFFFAOYSA-N")]
    with pytest.raises(InvalidInput, match=r"(?s)no column of this name.*colour.*one of id, smiles"):
        [*nci.column("colour")]
    with pytest.raises(InvalidInput, match="start: unknown"):
        nci.export(io.BytesIO(), "items", "csv", ids=[1], start=1)


def test_range_outside_the_anchors_is_refused(nci: Collection) -> None:
    for start, stop in ((10**6, None), (0, 10**6), (5, 4)):
        with pytest.raises(InvalidInput):
            nci.epoch(0, "first_order", start=start, stop=stop)
