"""POST rgroups equals RDKit's R-group decomposition of the exported molecules."""

import io
from collections.abc import Callable
from functools import partial
from typing import Any
from xml.etree import ElementTree

import httpx
import pandas as pd
import pytest
from PIL import Image
from rdkit import Chem
from rdkit.Chem import rdRGroupDecomposition

URL = "/v1/collections/nci"
PYRIDINE = "c1ccncc1"


@pytest.fixture(scope="module")
def smiles(client: httpx.Client) -> "pd.Series[str]":
    reply = client.get(f"{URL}/export", params={"what": "items", "format": "parquet"})
    return pd.read_parquet(io.BytesIO(reply.content)).set_index("id")["smiles"]


def post(client: httpx.Client, **body: Any) -> dict[str, Any]:
    reply = client.post(f"{URL}/rgroups", json=body)
    assert reply.status_code == 200, reply.text
    content: dict[str, Any] = reply.json()
    return content


def test_reply_equals_rdkits_decomposition(client: httpx.Client, smiles: "pd.Series[str]") -> None:
    pattern = Chem.MolFromSmiles(PYRIDINE)
    matching = [id for id, text in smiles.items() if Chem.MolFromSmiles(text).HasSubstructMatch(pattern)]
    ids = [*matching[:30], *(id for id in smiles.index[:40] if id not in matching)][::-1]
    reply = post(client, ids=ids, core=PYRIDINE, property="molwt")
    molecules = [Chem.MolFromSmiles(smiles[id]) for id in ids]
    rows, unmatched = rdRGroupDecomposition.RGroupDecompose([pattern], molecules, asSmiles=True)
    assert [{"Core": row["core"], **row["groups"]} for row in reply["rows"]] == rows
    assert reply["unmatched"] == [ids[position] for position in unmatched]
    assert reply["columns"] == sorted(rows[0].keys() - {"Core"})
    assert [row["item"]["id"] for row in reply["rows"]] == [id for id in ids if id in matching]
    assert all(row["value"] == row["item"]["properties"]["molwt"] for row in reply["rows"])
    fields = {"pattern": PYRIDINE, "source": "request", "compared": 0, "complete": True, "property": "molwt"}
    assert {name: reply[name] for name in fields} == fields
    assert reply["core"] == rows[0]["Core"]


def test_series_without_a_core_is_compared_at_its_common_substructure(client: httpx.Client) -> None:
    query = {"substructure": {"smiles": PYRIDINE}, "filters": [{"property": "molwt", "max": 200}]}
    reply = post(client, **query)
    assert reply["source"] == "mcs"
    assert reply["compared"] == len(reply["rows"]) > 2
    assert not reply["unmatched"]
    assert {row["value"] for row in reply["rows"]} == {None}
    core = Chem.MolFromSmarts(reply["pattern"])
    assert all(Chem.MolFromSmiles(row["item"]["smiles"]).HasSubstructMatch(core) for row in reply["rows"])
    assert post(client, **query, core=reply["pattern"])["rows"] == reply["rows"]


def test_accept_selects_a_file(client: httpx.Client) -> None:
    body = {"ids": [3, 1, 2], "core": "[*:1]C", "property": "molwt"}
    reply = post(client, **body)
    ids = [*(row["item"]["id"] for row in reply["rows"]), *reply["unmatched"]]
    readers: dict[str, Callable[[io.BytesIO], pd.DataFrame]] = {
        "text/csv": pd.read_csv,
        "application/vnd.apache.parquet": pd.read_parquet,
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": partial(pd.read_excel, engine="calamine"),
    }
    for media_type, read in readers.items():
        file = client.post(f"{URL}/rgroups", json=body, headers={"Accept": media_type})
        assert file.status_code == 200
        assert file.headers["content-type"].startswith(media_type)
        assert "-rgroups." in file.headers["content-disposition"]
        frame = read(io.BytesIO(file.content))
        assert frame["id"].tolist() == ids
        assert [*frame.columns[:3]] == ["id", "molwt", "core"]
        cores = [*(row["core"] for row in reply["rows"]), *(None for _ in reply["unmatched"])]
        assert [core if isinstance(core, str) else None for core in frame["core"]] == cores
    file = client.post(f"{URL}/rgroups", json=body, headers={"Accept": "chemical/x-mdl-sdfile"})
    assert file.status_code == 200, file.text
    records = Chem.ForwardSDMolSupplier(io.BytesIO(file.content))
    assert [int(record.GetProp("id")) for record in records] == ids
    svg, png = (
        client.post(f"{URL}/rgroups", json=body, headers={"Accept": f"image/{each}"}) for each in ("svg+xml", "png")
    )
    assert (svg.status_code, png.status_code) == (200, 200)
    assert svg.headers["content-security-policy"]
    picture = Image.open(io.BytesIO(png.content))
    assert ElementTree.fromstring(svg.content).get("height") == f"{picture.height}px"
    assert client.post(f"{URL}/rgroups", json=body, headers={"Accept": "text/html"}).status_code == 406
    computed = {**body, "property": "pactivity.nM.molwt"}
    file = client.post(f"{URL}/rgroups", json=computed, headers={"Accept": "application/vnd.apache.parquet"})
    frame = pd.read_parquet(io.BytesIO(file.content))
    assert (10 ** (9 - frame["pactivity.nM.molwt"])).tolist() == pytest.approx(frame["molwt"].tolist())
    nothing = {**body, "core": "C1CCCCCCCCCCC1"}
    assert client.post(f"{URL}/rgroups", json=nothing, headers={"Accept": "image/png"}).status_code == 422


@pytest.mark.parametrize(
    ("body", "status", "detail"),
    [
        ({"ids": [1, 2], "core": "c1ccccc"}, 422, "the core cannot be read"),
        ({"ids": [1, 2], "core": "C" * 10_001}, 422, "core"),
        ({"ids": [1, 2], "core": ""}, 422, "the core cannot be read"),
        ({"ids": [1, 2], "property": "weight"}, 422, "no numeric property"),
        ({"ids": [1, 2], "core": "C", "matrix": ["R1", "R99"]}, 422, "the matrix needs two positions"),
        ({"ids": [1, 2], "matrix": ["R1"]}, 422, "matrix"),
        ({"ids": []}, 422, "a series needs molecules"),
        ({"ids": [1, 10**6]}, 404, ""),
        ({"cluster": {"id": 1}, "neighbors_of": {"id": 1}}, 422, "at most one of"),
        ({"ids": [1], "cores": "C"}, 422, "cores"),
    ],
)
def test_invalid_series_is_refused(client: httpx.Client, body: dict[str, Any], status: int, detail: str) -> None:
    reply = client.post(f"{URL}/rgroups", json=body)
    assert reply.status_code == status, reply.text
    assert detail in reply.json()["detail"]


def test_graphs_have_no_r_groups(client: httpx.Client) -> None:
    reply = client.post("/v1/collections/social/rgroups", json={"ids": [1, 2]})
    assert reply.status_code == 409
    assert reply.json()["expected"] == "molecules"


def test_reply_has_free_wilson_contributions_and_a_matrix(client: httpx.Client) -> None:
    query = {"substructure": {"smiles": PYRIDINE}, "core": PYRIDINE}
    reply = post(client, **query, property="molwt", matrix=["R2", "R1"])
    rows = pd.DataFrame([{**row["groups"], "id": row["item"]["id"], "value": row["value"]} for row in reply["rows"]])
    fit, matrix = reply["free_wilson"], reply["matrix"]
    assert fit["compounds"] == rows["value"].count()
    assert {(each["position"], each["group"]) for each in fit["contributions"]} == {
        (position, group) for position in reply["columns"] for group in rows[position]
    }
    assert matrix["positions"] == ["R2", "R1"]
    expected = rows.groupby(["R2", "R1"]).agg(ids=("id", list), values=("value", "count"), mean=("value", "mean"))
    cells = {(matrix["rows"][cell["row"]], matrix["columns"][cell["column"]]): cell for cell in matrix["cells"]}
    assert cells.keys() == set(expected.index)
    for key, row in expected.iterrows():
        assert (cells[key]["ids"], cells[key]["values"]) == (row["ids"], row["values"])
        assert cells[key]["mean"] == pytest.approx(row["mean"])
    plain = post(client, **query)
    assert plain["free_wilson"] is None
    assert plain["matrix"]["positions"] == ["R1", "R2"]


def test_core_that_takes_too_much_memory_is_refused(client: httpx.Client) -> None:
    query = {"substructure": {"smiles": "c1ccccc1"}, "core": "c1ccc([*:1])cc1[*:2]"}
    reply = client.post(f"{URL}/rgroups", json=query)
    assert reply.status_code == 422
    assert "too much memory" in reply.json()["detail"]
