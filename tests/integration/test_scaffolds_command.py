"""The command `graphkin scaffolds` writes the scaffold tree of a series."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from rdkit.Chem.Scaffolds import MurckoScaffold

from graphkin.store import open_store

SERIES = ["c1ccccc1CCO", "Cc1ccccc1", "Cc1ccc(-c2ccncc2)cc1", "c1ccncc1", "CCO", "c1ccc(-c2ccncc2)cc1Cc1ccco1"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    from graphkin.ingest.pipeline import IngestOptions, ingest
    from graphkin.similarity.molecules.recipe import resolve

    folder = tmp_path_factory.mktemp("scaffolds")
    frame = pd.DataFrame({"smiles": SERIES, "pIC50": [5.0, 6.0, None, 7.0, 4.0, 8.5]})
    frame.to_csv(folder / "a.csv", index=False)
    with open_store(folder / "store", create=True) as new_store:
        ingest(new_store, "m", [str(folder / "a.csv")], resolve(), IngestOptions(workers=1))
    return ("--store", str(folder / "store"), "--collection", "m")


def test_tree_is_written(graphkin: Callable[..., Any], place: tuple[str, ...]) -> None:
    outcome = graphkin("scaffolds", *place, "--property", "pIC50", "--output", "tree.csv")
    assert outcome.err.endswith("5 scaffolds of 6 molecules\n")
    rows = pd.read_csv("tree.csv", keep_default_na=False)
    columns = ["min", "max", "mean", "values"]
    assert rows.columns.tolist() == [
        *("scaffold", "parent", "depth", "children", "items", "branch_items"),
        *columns,
        *(f"branch_{name}" for name in columns),
    ]
    assert rows["scaffold"].tolist()[0] == "c1ccncc1"
    own = {scaffold: count for scaffold, count in zip(rows["scaffold"], rows["items"], strict=True) if count}
    assert own == pd.Series(SERIES).map(MurckoScaffold.MurckoScaffoldSmiles).value_counts().to_dict()
    tree = {row.scaffold: row for row in rows.itertuples()}
    biaryl = "c1ccc(-c2ccncc2)cc1"
    assert (tree[biaryl].parent, tree[biaryl].depth) == ("c1ccncc1", 1)
    assert (tree["c1ccncc1"].branch_items, tree["c1ccncc1"].children) == (3, 1)
    assert (tree[biaryl].mean, tree[biaryl].branch_mean) == ("", 8.5)
    assert tree["c1ccncc1"].branch_mean == 7.75
    assert (tree["c1ccccc1"].mean, tree[""].mean) == ("5.5", "4")


def test_part_of_the_tree_of_a_series_is_written(graphkin: Callable[..., Any], place: tuple[str, ...]) -> None:
    options = ("--substructure", "c1ccncc1", "--parent", "C1=CN=CC=C1", "--levels", "1", "--json")
    outcome = graphkin("scaffolds", *place, *options, "--output", "part.csv")
    assert json.loads(outcome.out)["molecules"] == 3
    rows = pd.read_csv("part.csv")
    assert rows[["scaffold", "parent", "branch_items"]].to_numpy().tolist() == [
        ["c1ccc(-c2ccncc2)cc1", "c1ccncc1", 2],
    ]
    graphkin("scaffolds", *place, "--min-count", "3", "--output", "large.csv")
    assert pd.read_csv("large.csv")["branch_items"].tolist() == [3]


@pytest.mark.parametrize(
    ("options", "items"),
    [
        (("--id", "0", "--id", "2"), {"c1ccccc1": 1, "c1ccncc1": 0, "c1ccc(-c2ccncc2)cc1": 1}),
        (("--cluster", "1", "--method", "scaffold"), {"c1ccccc1": 2}),
        (("--scaffold", "C1=CN=CC=C1"), {"c1ccncc1": 1}),
    ],
)
def test_tree_of_a_series_is_written(
    graphkin: Callable[..., Any], place: tuple[str, ...], options: tuple[str, ...], items: dict[str, int]
) -> None:
    graphkin("scaffolds", *place, *options, "--output", "series.csv")
    rows = pd.read_csv("series.csv")
    assert dict(zip(rows["scaffold"], rows["items"], strict=True)) == items


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--property", "pIC5"), "pIC50"),
        (("--parent", "Cc1ccccc1"), "its scaffold is c1ccccc1"),
        (("--parent", "C1CCCC1"), "no molecule of this collection"),
        (("--filter", "pIC50"), "invalid condition"),
        (("--method", "single"), "--cluster"),
    ],
)
def test_error_names_the_invalid_value(
    graphkin: Callable[..., Any], place: tuple[str, ...], options: tuple[str, ...], message: str
) -> None:
    outcome = graphkin("scaffolds", *place, *options, "--output", "refused.csv")
    assert outcome.code != 0
    assert message in outcome.err
    assert not Path("refused.csv").exists()
