"""The tools for agents, called by the SDK's own client in this process."""

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from mcp import Client
from mcp.types import CallToolResult, TextContent, Tool
from rdkit import Chem, DataStructs
from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

import graphkin
from graphkin.agents.server import create_server
from graphkin.ingest.append import append
from graphkin.library.collections import Collections
from graphkin.store import open_store

pytestmark = pytest.mark.filterwarnings("ignore::graphkin.TruncatedPairsWarning")

MOLECULES = 200
TOP_K = 2  # so that pairs are truncated

Call = Callable[..., CallToolResult]


@pytest.fixture(scope="module")
def frame(nci_smiles: list[str]) -> pd.DataFrame:
    """Return the items: distinct molecules with a name, a number and a long text, whose row numbers are the ids."""
    smiles = [*dict.fromkeys(Chem.CanonSmiles(text) for text in nci_smiles[: MOLECULES + 20])][:MOLECULES]
    numbers = np.random.default_rng(0).normal(size=MOLECULES).round(3)
    return pd.DataFrame(
        {
            "smiles": smiles,
            "id": [f"M{row}" for row in range(MOLECULES)],
            "activity": numbers,
            "note": ["x" * 400] * MOLECULES,
        }
    )


@pytest.fixture(scope="module")
def folder(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with the items as the collection c."""
    folder = tmp_path_factory.mktemp("agents")
    frame.to_csv(folder / "molecules.csv", index=False)
    graphkin.ingest(
        folder / "molecules.csv", store=folder / "store", collection="c", threshold=0.3, top_k=TOP_K, workers=1
    )
    return folder / "store"


@pytest.fixture(scope="module")
def collections(folder: Path) -> Iterator[Collections]:
    with graphkin.open(folder) as collections:
        yield collections


@pytest.fixture
def call(collections: Collections) -> Call:
    """Return `call("search", structure="CCO")`, which calls a tool, by default on the collection c."""

    def call_tool(tool: str, **arguments: Any) -> CallToolResult:
        async def run() -> CallToolResult:
            async with Client(create_server(collections)) as client:
                return await client.call_tool(tool, arguments)

        if tool != "collections":
            arguments = {"collection": "c", **arguments}
        return asyncio.run(run())

    return call_tool


@pytest.fixture(scope="module")
def similarities(frame: pd.DataFrame) -> np.ndarray[Any, Any]:
    """Return the Tanimoto similarity of each pair of items, by RDKit."""
    generator = GetMorganGenerator(radius=2, fpSize=2048)
    bits = [generator.GetFingerprint(Chem.MolFromSmiles(smiles)) for smiles in frame["smiles"]]
    return np.array([DataStructs.BulkTanimotoSimilarity(each, bits) for each in bits])


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def answer(result: CallToolResult) -> dict[str, Any]:
    """Return the structured output, which the text repeats."""
    assert not result.is_error, text_of(result)
    assert json.loads(text_of(result)) == result.structured_content
    content: dict[str, Any] = result.structured_content
    return content


def listed_tools(collections: Collections) -> list[Tool]:
    async def run() -> list[Tool]:
        async with Client(create_server(collections)) as client:
            return (await client.list_tools()).tools

    return asyncio.run(run())


ARGUMENTS: dict[str, dict[str, Any]] = {
    "collections": {},
    "info": {},
    "search": {"structure": "CCO"},
    "search_list": {"structures": ["CCO", "c1ccccc1"]},
    "neighbors": {"id": 0},
    "item": {"id": 0},
    "query": {},
    "clusters": {},
    "cluster": {"number": 1},
    "cliffs": {"property": "activity", "min_similarity": 0.3},
    "pick": {},
}
"""Arguments with which each tool answers."""


def test_each_tool_names_the_generation_and_changes_nothing(call: Call, collections: Collections, folder: Path) -> None:
    def state() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}

    before, generation = state(), collections["c"].generation
    for tool, arguments in ARGUMENTS.items():
        content = answer(call(tool, **arguments))
        for named in content.get("collections", [content]):
            assert (named["collection"], named["generation"]) == ("c", generation), tool
    assert state() == before


def test_tools_are_described_and_read_only(collections: Collections) -> None:
    tools = listed_tools(collections)
    assert {tool.name for tool in tools} == {*ARGUMENTS}
    for tool in tools:
        assert tool.description
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint
        assert all("description" in parameter for parameter in tool.input_schema["properties"].values()), tool.name
        assert tool.output_schema is not None


def test_page_lists_the_tools(collections: Collections) -> None:
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "agents.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.+) \|$", page, re.MULTILINE)
    assert rows == [(tool.name, (tool.description or "").splitlines()[0]) for tool in listed_tools(collections)]


def test_collections_and_info_describe_the_store(call: Call, frame: pd.DataFrame) -> None:
    (listed,) = answer(call("collections"))["collections"]
    assert (listed["kind"], listed["items"]) == ("molecule", len(frame))
    info = answer(call("info"))
    assert (info["items"], info["threshold"], info["recipe"]["top_k"]) == (len(frame), 0.3, TOP_K)
    assert info["properties"].items() >= {("activity", "number"), ("note", "text")}


def test_search_returns_the_most_similar_items(
    call: Call, frame: pd.DataFrame, similarities: np.ndarray[Any, Any]
) -> None:
    content = answer(call("search", structure=frame["smiles"][7], limit=5, min_similarity=0.1))
    expected = np.sort(similarities[7])[::-1][:5]
    assert [row["similarity"] for row in content["rows"]] == pytest.approx(expected.tolist())
    assert [row["smiles"] for row in content["rows"]] == [frame["smiles"][row["id"]] for row in content["rows"]]
    assert content["notes"][:1] == ["there are more rows: raise limit, up to 100, or narrow the question"]
    best = answer(call("search_list", structures=["C(", frame["smiles"][7]], limit=2))
    assert [(row["query"], row["id"]) for row in best["rows"]] == [
        (0, None),
        *((1, row["id"]) for row in content["rows"][:2]),
    ]
    assert "SMILES Parse Error" in best["rows"][0]["error"]
    assert "1 of the structures have more hits" in best["notes"][0]


def test_neighbors_are_stored_pairs_and_say_that_pairs_are_missing(
    call: Call, similarities: np.ndarray[Any, Any]
) -> None:
    similar = np.count_nonzero(similarities >= 0.3, axis=1) - 1
    item = int(similar.argmax())
    content = answer(call("neighbors", name=f"M{item}", limit=100))
    for row in content["rows"]:
        assert row["similarity"] == pytest.approx(similarities[item, row["id"]])
    assert len(content["rows"]) < similar[item]
    assert content["notes"][0].startswith("only stored pairs are read here (")


def test_query_returns_the_rows_of_pandas(call: Call, frame: pd.DataFrame) -> None:
    filters = [{"property": "activity", "min": 0.5}]
    rows = answer(call("query", filters=filters, sort="activity", descending=True, columns=["activity"], limit=3))[
        "rows"
    ]
    expected = frame[frame["activity"] >= 0.5].nlargest(3, "activity")
    assert rows == [{"id": int(id), "activity": value} for id, value in expected["activity"].items()]
    everything = answer(call("query", filters=[{"property": "activity", "min": 9}]))
    assert (everything["rows"], everything["notes"]) == ([], [])


def test_long_values_are_shortened_with_a_note(call: Call) -> None:
    content = answer(call("item", name="M3"))
    (row,) = content["rows"]
    assert (row["id"], row["note"]) == (3, "x" * 300 + "…")
    assert content["notes"] == ["texts end after 300 characters with …, and lists after 10 values"]


def test_complete_cliffs_are_all_pairs(call: Call, frame: pd.DataFrame, similarities: np.ndarray[Any, Any]) -> None:
    stored = answer(call("cliffs", property="activity", min_similarity=0.5, limit=100))
    content = answer(call("cliffs", property="activity", min_similarity=0.5, complete=True, limit=100))
    rows = content["rows"]
    similar = np.argwhere(np.triu((similarities >= 0.5) & (similarities < 1), 1))
    assert {(row["a"], row["b"]) for row in rows} == {*map(tuple, similar.tolist())}
    assert content["notes"] == []
    assert "complete compares all pairs" in stored["notes"][0]
    assert len(stored["rows"]) < len(rows)
    for row in rows:
        difference = abs(frame["activity"][row["a"]] - frame["activity"][row["b"]])
        assert row["difference"] == pytest.approx(difference)
        assert row["sali"] == pytest.approx(difference / (1 - row["similarity"]), rel=1e-4)


def test_clusters_and_their_members_belong_together(call: Call) -> None:
    largest = answer(call("clusters", threshold=0.4, property="activity", limit=1))["rows"][0]
    members = answer(call("cluster", number=1, threshold=0.4, limit=100))["rows"]
    assert (largest["cluster"], largest["size"], largest["centre"]) == (1, len(members), members[0]["id"])
    assert largest["mean"] == pytest.approx(np.mean([row["activity"] for row in members]))


def test_pick_says_when_it_finds_fewer_items(call: Call, similarities: np.ndarray[Any, Any]) -> None:
    content = answer(call("pick", count=100, method="sphere", threshold=0.1))
    ids = [row["id"] for row in content["rows"]]
    assert (similarities[np.ix_(ids, ids)] - np.eye(len(ids))).max() < 0.1
    assert content["notes"][0] == f"only {len(ids)} items meet the conditions and the threshold"


@pytest.mark.parametrize(
    ("tool", "arguments", "parts"),
    [
        ("search", {"structure": "C("}, ["this is not a molecule", "hint: correct the SMILES"]),
        ("search", {"structure": "C", "limit": 101}, ["limit: expected at most 100", "given: 101"]),
        ("search", {"smiles": "C"}, ["the tool search has no parameter smiles", "structure, min_similarity"]),
        ("search", {}, ["structure: required"]),
        ("info", {"collection": "d"}, ["there is no collection 'd'", "expected: one of c"]),
        ("info", {"generation": "f" * 12}, ["ffffffffffff"]),
        ("cliffs", {"property": "potency"}, ["potency", "activity"]),
        ("clusters", {"method": "kmeans"}, ["one of butina, scaffold, single"]),
        ("item", {"id": 0, "name": "M0"}, ["hint"]),
        ("query", {"filters": [{"property": "activity"}]}, ["at least one of min, max"]),
        ("drop", {}, ["Unknown tool: drop"]),
    ],
)
def test_error_says_what_is_wrong(tool: str, arguments: dict[str, Any], parts: list[str], call: Call) -> None:
    result = call(tool, **arguments)
    assert result.is_error
    assert result.structured_content is None
    assert [part for part in parts if part not in text_of(result)] == []


def test_earlier_generation_is_read_after_an_append(folder: Path, frame: pd.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "more.smi").write_text("O=C(O)CCCCCCCCCCCCCCCN new\n")

    async def run() -> tuple[CallToolResult, CallToolResult, CallToolResult]:
        with graphkin.open(tmp_path / "store") as collections:
            async with Client(create_server(collections)) as client:
                before = await client.call_tool("info", {"collection": "d"})
                with open_store(str(tmp_path / "store")) as store:
                    append(store, "d", [str(tmp_path / "more.smi")])
                now = await client.call_tool("item", {"collection": "d", "name": "new"})
                earlier = {"collection": "d", "generation": answer(before)["generation"][:12], "name": "new"}
                return before, now, await client.call_tool("item", earlier)

    frame[["smiles", "id"]][:20].to_csv(tmp_path / "few.csv", index=False)
    graphkin.ingest(tmp_path / "few.csv", store=tmp_path / "store", collection="d", workers=1)
    before, now, earlier = asyncio.run(run())
    assert answer(now)["rows"][0]["id"] == 20
    assert answer(now)["generation"] != answer(before)["generation"]
    assert earlier.is_error
