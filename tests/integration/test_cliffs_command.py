"""The command `graphkin cliffs` equals pandas over all stored pairs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def place(ingest: Callable[..., Any], nci_smiles: list[str], tmp_path: Path) -> tuple[object, ...]:
    """Ingest molecules with an activity, and return options for their collection. Every seventh has no activity; some
    are equal.
    """
    random = np.random.default_rng(0)
    active = ["" if row % 7 == 0 else f"{random.normal():.1f}" for row in range(800)]
    rows = (f"{smiles},n{row},{active[row]}" for row, smiles in enumerate(nci_smiles[:800]))
    text = "smiles,id,pIC50\n" + "".join(f"{row}\n" for row in rows)
    assert ingest(text, "--max-rejected", 1, "--workers", 1, name="molecules.csv").code == 0
    return ("--store", tmp_path / "store", "--collection", "c")


@pytest.fixture
def every_pair(graphkin: Callable[..., Any], place: tuple[object, ...], tmp_path: Path) -> pd.DataFrame:
    """Return a, b, similarity, difference and sali of every pair, computed by pandas."""
    for table in ("edges", "items"):
        outcome = graphkin("export", table, *place, "--format", "csv", "--output", tmp_path / f"{table}.csv")
        assert outcome.code == 0, outcome.err
    pairs = pd.read_csv(tmp_path / "edges.csv").rename(columns={"source": "a", "target": "b"})
    activity = pd.read_csv(tmp_path / "items.csv").set_index("id")["pIC50"]
    pairs["difference"] = (pairs["a"].map(activity) - pairs["b"].map(activity)).abs()
    pairs["similarity"] = pairs["similarity"].astype(np.float32)
    pairs["sali"] = pairs["difference"] / (1 - pairs["similarity"].astype(float))
    return pairs[pairs["difference"] > 0]


@pytest.mark.parametrize("by", ["sali", "difference"])
@pytest.mark.parametrize(("min_similarity", "min_difference", "limit"), [(0.4, 0, 25), (0.55, 0.3, 10_000)])
def test_cliffs_equal_pandas(
    graphkin: Callable[..., Any],
    place: tuple[object, ...],
    every_pair: pd.DataFrame,
    tmp_path: Path,
    by: str,
    min_similarity: float,
    min_difference: float,
    limit: int,
) -> None:
    bounds = ("--min-similarity", min_similarity, "--max-similarity", 0.9, "--min-difference", min_difference)
    query_options = (*bounds, "--limit", limit, "--by", by, "--output", tmp_path / "cliffs.csv")
    outcome = graphkin("cliffs", *place, "--property", "pIC50", *query_options)
    assert outcome.code == 0, outcome.err
    cliffs = pd.read_csv(tmp_path / "cliffs.csv")
    differing = every_pair[every_pair["difference"] >= min_difference]
    identical = differing["similarity"] == 1
    bounds = differing["similarity"].between(np.float32(min_similarity), np.float32(0.9))
    order = [by, "difference", "a", "b"]
    passing = differing[bounds & ~identical].sort_values(order, ascending=[False, False, True, True])
    assert f"of {len(passing):,} pairs" in outcome.err
    assert f"{identical.sum():,} pairs with identical fingerprints" in outcome.err
    expected = passing.head(limit).reset_index(drop=True)
    assert len(expected) > 20
    for column in ("similarity", "difference", "sali"):
        assert cliffs[column].to_numpy() == pytest.approx(expected[column].to_numpy(), rel=1e-5)
    assert [*zip(cliffs["a"], cliffs["b"], strict=True)] == [*zip(expected["a"], expected["b"], strict=True)]
    assert (cliffs["pIC50_a"] - cliffs["pIC50_b"]).abs().to_numpy() == pytest.approx(cliffs["difference"].to_numpy())
    assert cliffs["smiles_a"].notna().all()


def test_identical_fingerprints_are_written_to_a_separate_file(
    ingest: Callable[..., Any], graphkin: Callable[..., Any], tmp_path: Path
) -> None:
    """Long chains have the same Morgan environments at any length."""
    lines = [f"{'C' * length}O,{length}" for length in range(3, 16)]
    assert ingest("smiles,activity\n" + "\n".join(lines), "--workers", 1, name="molecules.csv").code == 0
    place = ("--store", tmp_path / "store", "--collection", "c", "--property", "activity")
    file = tmp_path / "cliffs.csv"
    outcome = graphkin("cliffs", *place, "--by", "sali", "--output", file)
    assert outcome.code == 0, outcome.err
    ranked = pd.read_csv(file)
    assert (ranked["similarity"] < 1).all()
    assert np.isfinite(ranked["sali"]).all()
    outcome = graphkin("cliffs", *place, "--min-similarity", 1, "--include-identical", "--output", file)
    assert outcome.code == 0, outcome.err
    identical = pd.read_csv(file)
    assert (identical["similarity"] == 1).all()
    assert len(identical) > 20
    assert identical["difference"].is_monotonic_decreasing
    assert identical["difference"].iloc[0] > 5


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--property", "nothing"), 2, "pIC50"),
        (("--property", "pIC50", "--min-similarity", 0.1), 2, "similarity"),
        (("--property", "pIC50", "--min-difference", -1), 2, "min_difference"),
        (("--property", "pIC50", "--max-similarity", 0.5), 2, "min_similarity is 0.7"),
        (("--property", "pIC50", "--max-similarity", 1.5), 2, "max_similarity"),
    ],
)
def test_invalid_options_are_refused(
    graphkin: Callable[..., Any], place: tuple[object, ...], options: tuple[object, ...], code: int, message: str
) -> None:
    outcome = graphkin("cliffs", *place, *options, "--output", "cliffs.csv")
    assert outcome.code == code
    assert message in outcome.err
    assert not Path("cliffs.csv").exists()


def test_properties_with_the_names_of_other_columns_are_renamed(
    ingest: Callable[..., Any], graphkin: Callable[..., Any], tmp_path: Path
) -> None:
    """They have the names of exported columns, and each column has one meaning."""
    text = "smiles,id,names,sali,class\nCCCCO,x,1.5,7,acid\nCCCCCO,y,4.5,9,acid\nCCCCCCO,z,9.5,9,base\n"
    assert ingest(text, "--workers", 1, name="molecules.csv").code == 0
    place = ("--store", tmp_path / "store", "--collection", "c", "--output", tmp_path / "cliffs.csv")
    outcome = graphkin(
        "cliffs", *place, "--property", "property.names", "--filter", "class=acid", "--min-similarity", 0.4
    )
    assert outcome.code == 0, outcome.err
    (row,) = pd.read_csv(tmp_path / "cliffs.csv").to_dict("records")
    assert (row["names_a"], row["names_b"], row["difference"]) == ("x", "y", 3)
    assert (row["property.names_a"], row["property.names_b"]) == (1.5, 4.5)
    assert graphkin("cliffs", *place, "--property", "sali").code == 0
    cliffs = pd.read_csv(tmp_path / "cliffs.csv")
    assert set(cliffs["sali_a"]) == {7}
    assert cliffs["sali"].tolist() == pytest.approx(2 / (1 - cliffs["similarity"].astype(np.float32).astype(float)))
    assert graphkin("cliffs", *place, "--property", "class").code == 2
    longer = ("--property", "sali", "--substructure-smiles", "CCCCCCO")
    assert graphkin("cliffs", *place, *longer).code == 0  # One of the identical pairs has this property.
    assert len(pd.read_csv(tmp_path / "cliffs.csv")) == 0
