"""The command `graphkin ingest nodes`, and the commands that read its collections."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

CLUB = nx.karate_club_graph()
EDGES = "".join(f"{u} {v}\n" for u, v in CLUB.edges)
LABELS = "node label\n" + "".join(f"{node} {side}\n" for node, side in CLUB.nodes(data="club") for side in [side[:2]])


@pytest.fixture
def ingest(graphkin: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    """Return ingest(*arguments, stdin=b""), which ingests into tmp_path/store, collection c. club.edgelist and
    labels.txt exist.
    """
    (tmp_path / "club.edgelist").write_text(EDGES)
    (tmp_path / "labels.txt").write_text(LABELS)
    place = ("--store", tmp_path / "store", "--collection", "c")
    return lambda *arguments, **options: graphkin("ingest", "nodes", *arguments, *place, **options)


@pytest.fixture
def place(ingest: Callable[..., Any], tmp_path: Path) -> tuple[str, ...]:
    outcome = ingest("club.edgelist", "--labels", "labels.txt")
    assert outcome.code == 0, outcome.err
    return ("--store", str(tmp_path / "store"), "--collection", "c")


def generation_id(outcome: Any) -> str:
    assert outcome.code == 0, outcome.err
    return str(json.loads(outcome.out)["generation"])


def test_every_format_gives_the_same_generation(ingest: Callable[..., Any], tmp_path: Path) -> None:
    """File, compression, format and number of workers do not change the id. Walks do."""
    expected = generation_id(ingest("club.edgelist", "--json"))
    (tmp_path / "packed").write_bytes(gzip.compress(EDGES.encode()))
    (tmp_path / "club.tsv").write_text("a\tb\n" + EDGES.replace(" ", "\t"))
    same = [
        ingest("club.edgelist", "--json", "--workers", 1, "--restart", 0.8, "--subgraph", "ppr", "--max-nodes", 64),
        ingest("packed", "--format", "edgelist", "--json", "--initial", "log-degree", "--iterations", 1),
        ingest("club.tsv", "--source-column", "A", "--target-column", "b", "--json", "--similarity", "wl"),
        ingest("-", "--format", "edgelist", "--json", "--threshold", 0.5, "--top-k", 70, stdin=EDGES.encode()),
    ]
    assert [generation_id(outcome) for outcome in same] == [expected] * len(same)
    others = (
        ("--preset", "paper"), ("--subgraph", "walks"), ("--subgraph", "walks", "--seed", 1),
        ("--subgraph", "walks", "--walks", 500), ("--restart", 0.5), ("--max-nodes", 9), ("--labels", "labels.txt"),
    )  # fmt: skip
    assert len({expected, *(generation_id(ingest("club.edgelist", "--json", *each)) for each in others)}) == 8


def test_ingest_reports_counts_and_recipe(ingest: Callable[..., Any]) -> None:
    outcome = ingest("club.edgelist", "--labels", "labels.txt")
    assert "34 items (34 records, 0 duplicates, 0 rejected)" in outcome.out
    walks = ("--subgraph", "walks", "--walks", 100)
    options = ("--initial", "centre", *walks, "--candidates", "window", "--closeness", 5, "--top-k", 3)
    manifest = json.loads(ingest("club.edgelist", "--json", *options).out)
    fields = ("labels", "walks", "candidates", "closeness", "top_k", "restart", "max_nodes", "seed", "kernel")
    assert [manifest["recipe"][name] for name in fields] == ["centre", 100, "window", 5, 3, 0.8, 256, 0, "wl"]
    paper = json.loads(ingest("club.edgelist", "--json", "--preset", "paper").out)["recipe"]
    expected = {"schema_version": 2, "subgraph": "ppr", "weights": "none", "labels": "degree", "iterations": 3,
                "min_visits": 1, "candidates": "window", "threshold": 0}  # fmt: skip
    assert expected.items() <= paper.items()
    assert (manifest["kind"], len(manifest["links"])) == ("node", 64)
    near = json.loads(ingest("club.edgelist", "--json", "--similarity", "proximity", "--radius", 1, "--top-k", 0).out)
    assert near["edges"] == CLUB.number_of_edges()


@pytest.mark.parametrize(
    ("arguments", "content", "message"),
    [
        (("f.edgelist",), "", "is empty"),
        (("f.edgelist",), "# nothing\n", "holds no edge"),
        (("f.edgelist",), "a a\nb b\n", "were rejected"),
        (("f.edgelist",), "a b\nalone\n", "has 1 columns"),
        (("f.mtx",), "%%MatrixMarket matrix coordinate pattern general\n9 9 1000000000\n1 2\n", "truncated or damaged"),
        (("f.xyz",), "a b\n", "cannot be determined from its name"),
        (("f.csv",), "a,b\n1,2\n", "--source-column"),
        (("f.csv", "--source-column", "a"), "a,b\n1,2\n", "--target-column"),
        (("f.edgelist", "--labels", "absent.txt"), "a b\n", "absent.txt"),
        (("f.edgelist", "club.edgelist", "--labels", "labels.txt"), "a b\n", "differs from the number of files"),
        (
            ("f.edgelist", "--subgraph", "walks", "--walks", "many"),
            "a b\n",
            "walks: expected paper, or an integer\n  given: many\n",
        ),
        (
            ("f.edgelist", "--subgraph", "walks", "--walks", 0),
            "a b\n",
            "walks: expected paper, or at least 1\n  given: 0\n",
        ),
        (("f.edgelist", "--walks", 9), "a b\n", "--walks does not apply to subgraphs by PageRank"),
        (("f.edgelist", "--seed", 0), "a b\n", "--seed does not apply to subgraphs by PageRank"),
        (("f.edgelist", "--preset", "rc"), "a b\n", "--preset"),
        (("f.edgelist", "--restart", 1), "a b\n", "restart"),
        (("f.edgelist", "--max-nodes", 1), "a b\n", "max_nodes"),
        (("f.edgelist", "--initial", "index"), "a b\n", "--initial"),
        (
            ("f.edgelist", "--similarity", "proximity", "--candidates", "window"),
            "a b\n",
            "candidates exact with the kernel proximity",
        ),
        (("-",), "a b\n", "--format"),
    ],
)
def test_invalid_input_is_refused(
    ingest: Callable[..., Any], tmp_path: Path, arguments: tuple[object, ...], content: str, message: str
) -> None:
    (tmp_path / str(arguments[0])).write_text(content)
    outcome = ingest(*arguments, stdin=content.encode())
    assert outcome.code == 2
    assert message in outcome.err
    assert "Traceback" not in outcome.err


def test_names_hubs_and_invalid_edges(
    ingest: Callable[..., Any], graphkin: Callable[..., Any], place: tuple[str, ...], tmp_path: Path
) -> None:
    leaves = "".join(f"hub leaf{number}\n" for number in range(30_000))
    (tmp_path / "star.edgelist").write_text(leaves + "leaf0 leaf1\nalone\nBücher hub 2.5\n")
    (tmp_path / "star.labels").write_text("hub H\nnobody N\n")
    outcome = ingest("star.edgelist", "--labels", "star.labels", "--candidates", "window", "--json")
    assert json.loads(outcome.out)["counts"] == {"read": 30_004, "kept": 30_002, "duplicates": 0, "rejected": 2}
    rejections = json.loads(graphkin("info", *place, "--rejections", "--json").out)["rejections"]
    assert [(row["line"], row["input"]) for row in rejections] == [(30_002, "alone"), (2, "nobody")]
    hub = json.loads(graphkin("neighbors", *place, "--name", "hub", "--json").out)["item"]
    assert (hub["properties"]["degree"], hub["properties"]["nodes"], hub["properties"]["label"]) == (30_001, 64, "H")
    assert graphkin("verify", "--store", place[1], "--sample", 200).code == 0


def test_commands_read_nodes(graphkin: Callable[..., Any], place: tuple[str, ...], tmp_path: Path) -> None:
    near = json.loads(graphkin("neighbors", *place, "--name", "0", "--json").out)
    assert (near["item"]["properties"]["degree"], near["item"]["properties"]["label"]) == (16, "Mr")
    collections = json.loads(graphkin("info", "--store", place[1], "--json").out)["collections"]
    assert [(each["name"], each["kind"], each["items"]) for each in collections] == [("c", "node", 34)]
    assert graphkin("verify", "--store", place[1]).code == 0
    query = '{"edges": [[0, 1], [1, 2], [2, 0]], "labels": [3, 4, 4], "weights": [80, 10, 10], "centre": 2}'
    result = json.loads(graphkin("search", *place, query, "--json").out)
    assert len(result["hits"]) == 10
    refused = graphkin("search", *place, '{"edges": [[0, 1]]}')
    assert (refused.code, '"centre"' in refused.err) == (2, True)
    measured = json.loads(graphkin("recall", *place, "--threshold", 0.5, "--json").out)
    assert measured["exact_pairs"] >= measured["found_pairs"] > 0


def test_links_are_exported(graphkin: Callable[..., Any], place: tuple[str, ...], tmp_path: Path) -> None:
    assert graphkin("export", "links", *place, "--format", "csv", "--output", "links.csv").code == 0
    lines = (tmp_path / "links.csv").read_text().splitlines()
    assert (lines[0], len(lines)) == ("source,target", 1 + CLUB.number_of_edges())
    part = graphkin("export", "links", *place, "--format", "csv", "--output", "-", "--start", 3, "--stop", 9)
    assert part.out.splitlines()[1:] == [line for line in lines[1:] if 3 <= int(line.split(",")[0]) < 9]
    (tmp_path / "m.smi").write_text("CCO\nCCC\n")
    graphkin("ingest", "molecules", "m.smi", "--store", "store", "--collection", "m")
    refused = graphkin("export", "links", *place[:2], "--collection", "m", "--format", "csv", "--output", "x.csv")
    assert (refused.code, "not nodes of a network" in refused.err) == (2, True)
    assert not (tmp_path / "x.csv").exists()
