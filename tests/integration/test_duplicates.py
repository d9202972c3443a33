"""Values of items with several records, merged by --duplicates, compared with pandas."""

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import graphkin
from graphkin.protocol.errors import Conflict, InvalidInput

Command = Callable[..., Any]
SPELLINGS = {"CCO": ["CCO", "OCC"], "CCN": ["CCN", "NCC"], "CCC": ["CCC"], "CCS": ["CCS", "SCC"], "CCCC": ["CCCC"]}


@pytest.fixture
def records() -> pd.DataFrame:
    """Return 40 records of five molecules in random spellings and order, with empty cells. CCCC occurs once."""
    random = np.random.default_rng(5)
    molecules = [*random.choice(["CCO", "CCN", "CCC", "CCS"], 39), "CCCC"]
    return pd.DataFrame(
        {
            "smiles": [random.choice(SPELLINGS[molecule]) for molecule in molecules],
            "id": [f"r{number}" for number in range(40)],
            "activity": np.where(random.random(40) < 0.2, np.nan, random.normal(size=40).round(3)),
            "constant": [float(len(molecule)) for molecule in molecules],
            "molecule": molecules,
        }
    )


@pytest.fixture
def place(tmp_path: Path) -> tuple[object, ...]:
    return "--store", tmp_path / "store", "--collection", "c"


def _items(graphkin: Command, place: tuple[object, ...]) -> pd.DataFrame:
    outcome = graphkin("export", "items", *place, "--format", "csv", "--output", "-")
    return pd.read_csv(StringIO(outcome.out), dtype={"constant": float}).set_index("smiles")


def _differing(graphkin: Command, place: tuple[object, ...]) -> dict[str, Any]:
    return dict(json.loads(graphkin("info", *place, "--differing", "--json").out))


@pytest.mark.parametrize("duplicates", ["mean", "median"])
def test_averages_equal_pandas(
    ingest: Command, graphkin: Command, place: tuple[object, ...], records: pd.DataFrame, duplicates: str
) -> None:
    outcome = ingest(records.to_csv(index=False), "--duplicates", duplicates, name="m.csv")
    assert outcome.code == 0, outcome.err
    items = _items(graphkin, place)
    groups = records.groupby("molecule", sort=False)
    assert items.index.tolist() == [*groups.groups]
    assert items["activity"].to_numpy() == pytest.approx(groups["activity"].agg(duplicates).to_numpy(), rel=1e-14)
    assert items["constant"].tolist() == groups["constant"].first().tolist()
    later = records["activity"].notna() & (records["activity"] != groups["activity"].transform("first"))
    assert _differing(graphkin, place)["counts"] == {"activity": int(later.sum())}
    assert _differing(graphkin, place)["duplicates"] == duplicates
    assert f"items keep the {duplicates} of numbers" in graphkin("info", *place).out


def test_list_keeps_the_first_value_and_all_values(
    ingest: Command, graphkin: Command, place: tuple[object, ...], records: pd.DataFrame
) -> None:
    assert ingest(records.to_csv(index=False), "--duplicates", "list", name="m.csv").code == 0
    items = _items(graphkin, place)
    present = records.dropna(subset="activity")
    lists = present.groupby("molecule", sort=False)["activity"].agg(lambda values: "; ".join(map(str, values)))
    assert items["activity"].tolist() == records.groupby("molecule", sort=False)["activity"].first().tolist()
    assert items["activity_values"].drop("CCCC").to_dict() == lists.drop("CCCC").to_dict()
    assert pd.isna(items["activity_values"]["CCCC"])
    assert "constant_values" not in items
    condition = f"activity_values~{present['activity'].iloc[-2]}"
    file = place[1].parent / "hits.csv"  # type: ignore[attr-defined]
    assert graphkin("query", *place, "--filter", condition, "--output", file).code == 0
    assert present["molecule"].iloc[-2] in pd.read_csv(file)["smiles"].tolist()


def test_reject_keeps_items_without_conflicting_values(
    ingest: Command, graphkin: Command, place: tuple[object, ...]
) -> None:
    lines = [
        "CCO,a,1",
        "CCO,b,",
        "CCO,c,1.0",
        "CCN,d,1",
        "NCC,e,2",
        "CCN,f,1",
        "no molecule,g,1",
        "CCC,h,>5",
        "CCC,i,5",
    ]
    outcome = ingest("\n".join(["smiles,id,x", *lines]), "--duplicates", "reject", "--max-rejected", 1, name="m.csv")
    assert outcome.code == 0, outcome.err
    items = _items(graphkin, place)
    assert (items.index.tolist(), items["names"].tolist(), items["x"].tolist()) == (["CCO"], ["a; b; c"], [1])
    rejections = json.loads(graphkin("info", *place, "--rejections", "--json").out)["rejections"]
    reasons = {row["line"]: (row["input"], row["reason"]) for row in rejections}
    assert {line: text for line, (text, _) in reasons.items()} == {
        5: "CCN", 6: "NCC", 7: "CCN", 8: "no molecule", 9: "CCC", 10: "CCC",
    }  # fmt: skip
    assert reasons[6][1] == "the records of this item differ in x: 1, 2"
    assert reasons[10][1] == "the records of this item differ in x: >5, 5"
    counts = json.loads(graphkin("info", *place, "--json").out)["manifest"]["counts"]
    assert counts == {"read": 9, "kept": 1, "duplicates": 2, "rejected": 6}
    assert _differing(graphkin, place)["counts"] == {"x": 2}


def test_too_many_conflicting_records_publish_nothing(ingest: Command, tmp_path: Path) -> None:
    outcome = ingest("smiles,x\nCCO,1\nCCO,2\nCCC,1\n", "--duplicates", "reject", name="m.csv")
    assert outcome.code != 0
    assert "2 of 3 records (66.7%) were rejected" in outcome.err


@pytest.mark.parametrize("duplicates", ["mean", "median"])
def test_values_that_are_not_plain_numbers_keep_the_first(
    ingest: Command, graphkin: Command, place: tuple[object, ...], duplicates: str
) -> None:
    lines = ["CCO,>10,red", "CCO,4,green", "CCC,n/a,x", "CCC,2,x", "CCC,4,x", "CCN,1,1", "CCN,<0.5,2"]
    assert ingest("\n".join(["smiles,x,color", *lines]), "--duplicates", duplicates, name="m.csv").code == 0
    items = _items(graphkin, place)
    assert items["x"].tolist() == [10, 3, 1]
    assert items["x_qualifier"].fillna("").tolist() == [">", "", ""]
    assert items["color"].tolist() == ["red", "x", "1.5"]
    assert _differing(graphkin, place)["counts"] == {"color": 2, "x": 3}


def test_a_list_never_replaces_a_column(ingest: Command) -> None:
    outcome = ingest("smiles,x,x_values\nCCO,1,a\nCCO,2,a\n", "--duplicates", "list", name="m.csv")
    assert outcome.code == 2
    assert "x_values, for the values of x" in outcome.err


def test_same_content_with_another_setting_is_another_generation(
    ingest: Command, graphkin: Command, place: tuple[object, ...]
) -> None:
    """An append of the two generations differs."""
    ids = []
    for setting in ([], ["--duplicates", "first"], ["--duplicates", "mean"]):
        manifest = json.loads(ingest("smiles,x\nCCO,1\nCCC,2\n", *setting, "--json", name="m.csv").out)
        ids.append(manifest["generation"])
    assert ids[0] == ids[1] != ids[2]


@pytest.mark.parametrize(
    ("duplicates", "base", "more", "refused"),
    [
        ("mean", "CCO,4\nCCO,6\n", "CCO,5\n", True),  # the stored mean, which three values could change
        ("mean", "CCO,4\nCCO,6\n", "CCO,\nCCC,1\nCCC,2\n", False),
        ("mean", "CCO,4\nCCO,4\n", "CCO,4.0\nCCC,1\n", False),
        ("median", "CCO,4\n", "CCO,5\n", True),
        ("list", "CCO,\n", "CCO,5\n", True),
        ("reject", "CCO,4\n", "CCO,5\n", True),
        ("reject", "CCO,4\n", "CCO,4\nCCC,1\n", False),
        ("reject", "CCO,4\nCCC,1\nCCC,2\n", "CCN,4\n", True),  # CCC could be among the new records
    ],
)
def test_append_refuses_to_change_stored_values(
    ingest: Command,
    graphkin: Command,
    place: tuple[object, ...],
    tmp_path: Path,
    duplicates: str,
    base: str,
    more: str,
    refused: bool,
) -> None:
    assert ingest("smiles,x\n" + base, "--duplicates", duplicates, "--max-rejected", 1, name="m.csv").code == 0
    file = tmp_path / "more.csv"
    file.write_text("smiles,x\n" + more)
    before = json.loads(graphkin("info", *place, "--json").out)["manifest"]["generation"]
    outcome = graphkin("append", file, *place)
    after = json.loads(graphkin("info", *place, "--json").out)["manifest"]
    if refused:
        assert outcome.code != 0
        assert "ingest the old and the new files together" in outcome.err
        assert after["generation"] == before
    else:
        assert outcome.code == 0, outcome.err
        assert after["duplicates"] == duplicates


def test_library_merges_duplicates_and_refuses_to_change_them() -> None:
    frame = pd.DataFrame(
        {"smiles": ["CCO", "OCC", "CCC", "CCN", "CCN"], "x": [1, 2, 5, 3, None]}, index=[9, 8, 7, 7, 7]
    )
    collection = graphkin.ingest(frame, duplicates="mean")
    assert collection.items(columns=["x"]).to_pandas()["x"].tolist() == [1.5, 5, 3]
    assert collection.manifest.duplicates == "mean"
    with pytest.raises(Conflict, match='duplicates="mean" demands'):
        collection.append(pd.DataFrame({"smiles": ["CCO"], "x": [3]}))
    collection.append(pd.DataFrame({"smiles": ["CCS", "CCS"], "x": [3, 4]}))
    assert collection.items(columns=["x"]).to_pandas()["x"].tolist() == [1.5, 5, 3, 3.5]
    collection.compact()
    collection.remove(smiles=["CCC"])
    assert collection.items(columns=["x"]).to_pandas()["x"].tolist() == [1.5, 3, 3.5]
    assert collection.manifest.duplicates == "mean"
    rejecting = graphkin.ingest(frame, duplicates="reject", max_rejected=0.5)
    assert rejecting.items(columns=["x"]).to_pandas()["x"].tolist() == [5, 3]
    with pytest.raises(InvalidInput, match="invalid duplicates"):
        graphkin.ingest(frame, duplicates="max")  # type: ignore[arg-type]
