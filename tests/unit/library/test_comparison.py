"""`graphkin.compare` and `graphkin.similar_pairs` of two sets equal RDKit's comparison of all pairs."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator

import graphkin
from graphkin.protocol.errors import Conflict, InvalidInput

THRESHOLD = 0.5


def fingerprint(smiles: str) -> Any:
    return rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048).GetFingerprint(Chem.MolFromSmiles(smiles))


def canonical(smiles: str | None) -> str | None:
    molecule = None if smiles is None else Chem.MolFromSmiles(smiles)
    return None if molecule is None else Chem.MolToSmiles(molecule)


@pytest.fixture(scope="module")
def sets(nci_smiles: list[str]) -> tuple[list[str], list[str | None]]:
    """Two sets that share 60 molecules, which are written differently, with records that cannot be read in the second.

    Each set has an item twice.
    """
    readable = [smiles for smiles in nci_smiles[:400] if canonical(smiles) is not None]
    first = [*readable[:200], readable[0]]
    rewritten = [
        Chem.MolToSmiles(Chem.MolFromSmiles(smiles), canonical=False, rootedAtAtom=0) for smiles in readable[140:200]
    ]
    return first, [*rewritten, None, "C1CC", *readable[200:320], readable[250]]


@pytest.fixture(scope="module")
def matrix(sets: tuple[list[str], list[str | None]]) -> np.ndarray:
    """RDKit's similarity of each record of the first set with each of the second; -1 where it cannot be read."""
    vectors = [fingerprint(smiles) for smiles in sets[0]]
    rows = [
        [-1.0] * len(vectors)
        if canonical(smiles) is None
        else DataStructs.BulkTanimotoSimilarity(fingerprint(str(smiles)), vectors)
        for smiles in sets[1]
    ]
    return np.array(rows).T


@pytest.fixture(scope="module")
def comparison(sets: tuple[list[str], list[str | None]]) -> Any:
    return graphkin.compare(*sets, THRESHOLD)


def test_pairs_across_two_sets_equal_rdkit(sets: tuple[list[str], list[str | None]], matrix: np.ndarray) -> None:
    with pytest.warns(UserWarning, match=r"2 of 183 records of b cannot be read.*the first is record 60: empty record"):
        pairs = graphkin.similar_pairs(*sets, THRESHOLD)
    left, right = np.nonzero(matrix >= THRESHOLD)
    frame = pairs.to_pandas()
    assert len(frame) > 60
    assert [str(field.type) for field in pairs.arrow.schema] == ["int32", "int32", "double"]
    assert frame["left"].tolist() == left.tolist()
    assert frame["right"].tolist() == right.tolist()
    assert frame["similarity"].tolist() == matrix[left, right].tolist()


def test_pairs_within_a_set_of_smiles_equal_rdkit(sets: tuple[list[str], list[str | None]]) -> None:
    vectors = [fingerprint(smiles) for smiles in sets[0]]
    exact = np.triu([DataStructs.BulkTanimotoSimilarity(each, vectors) for each in vectors], 1)
    pairs = graphkin.similar_pairs(pd.Series(sets[0], index=range(7, 7 + len(vectors))), threshold=THRESHOLD)
    assert [tuple(row.values()) for row in pairs.to_pylist()] == [
        (left, right, exact[left, right]) for left, right in zip(*np.nonzero(exact >= THRESHOLD), strict=True)
    ]


def test_nearest_items_equal_rdkit(
    sets: tuple[list[str], list[str | None]], matrix: np.ndarray, comparison: Any
) -> None:
    frame = comparison.nearest.to_pandas()
    readable = np.flatnonzero(matrix[0] >= 0)
    assert frame["right"].tolist() == readable.tolist()
    assert frame["similarity"].tolist() == matrix[:, readable].max(axis=0).tolist()
    assert (matrix[frame["left"], frame["right"]] == frame["similarity"]).all()
    assert frame["right_smiles"].tolist() == [canonical(sets[1][right]) for right in readable]
    assert frame["left_smiles"].tolist() == [canonical(sets[0][left]) for left in frame["left"]]


def test_notebooks_depict_both_ends_of_a_row() -> None:
    html = graphkin.compare(["CCO", "CCN"], ["CCCO", "CC"], 0.3).nearest._repr_html_()
    assert html.count("<img") == 4


def test_overlap_equals_a_merge_of_pandas(sets: tuple[list[str], list[str | None]], comparison: Any) -> None:
    first, second = (
        pd.DataFrame({"smiles": [canonical(smiles) for smiles in sets[position]]})
        .rename_axis(end)
        .reset_index()
        .dropna()
        for position, end in ((0, "left"), (1, "right"))
    )
    merged = second.merge(first.drop_duplicates("smiles"), on="smiles")
    overlap = comparison.overlap.to_pandas()
    assert len(merged) == 60
    assert overlap["right"].tolist() == merged["right"].tolist()
    assert overlap["left"].tolist() == merged["left"].tolist()
    assert (overlap["relation"] == "identical").all()


def test_summary_divides_the_second_set(
    sets: tuple[list[str], list[str | None]], matrix: np.ndarray, comparison: Any
) -> None:
    structures = [{*map(canonical, each)} - {None} for each in sets]
    best = {
        right: matrix[:, right].max()
        for right, smiles in enumerate(sets[1])
        if canonical(smiles) is not None and canonical(smiles) not in structures[0]
    }
    assert comparison.summary["fingerprint"].startswith("RDKit-Morgan/1 radius=2 fpSize=2048")
    summary, novel = comparison.summary, sum(similarity < THRESHOLD for similarity in best.values())
    assert summary["a"] == {"records": 201, "rejected": 0, "items": 201, "distinct": len(structures[0])}
    assert summary["b"] == {"records": 183, "rejected": 2, "items": 181, "distinct": len(structures[1])}
    assert summary["pairs"] == np.count_nonzero(matrix >= THRESHOLD)
    assert summary["identical"] == 181 - len(best)
    assert summary["near_duplicates"] == len(best) - novel > 0
    assert summary["novel"] == novel
    assert summary["novel_share"] == novel / 181
    nearest = matrix.max(axis=0)[matrix[0] >= 0]
    for each in summary["histogram"]:
        expected = (nearest >= each["min"]) & ((nearest < each["max"]) | (each["max"] == 1))
        assert each["items"] == np.count_nonzero(expected)
    assert sum(each["items"] for each in summary["histogram"]) == 181


def test_identical_item_is_the_nearest_among_items_of_the_same_similarity() -> None:
    """The fingerprint does not tell stereoisomers apart, but they are different structures."""
    first = ["C[C@H](N)C(=O)O", "C[C@@H](N)C(=O)O"]
    frame = graphkin.compare(first, ["C[C@@H](N)C(=O)O", "CC(N)C(=O)O"], 0.9).nearest.to_pandas()
    assert frame["relation"].tolist() == ["identical", "near duplicate"]
    assert frame["left"].tolist() == [1, 0]
    assert frame["similarity"].tolist() == [1, 1]


def test_standardization_applies_to_both_sets() -> None:
    salts = ["CC(=O)[O-].[Na+]", "CCO"]
    assert graphkin.compare(salts, ["CC(=O)O"]).summary["identical"] == 0
    standardized = graphkin.compare(salts, ["CC(=O)O"], standardise=("largest_fragment", "uncharge"))
    assert standardized.overlap.select(["left", "left_smiles"]).to_pylist() == [{"left": 0, "left_smiles": "CC(=O)O"}]


def test_fingerprints_are_identical_by_their_bits() -> None:
    bits = np.random.default_rng(5).random((40, 100)) < 0.3
    bits[30:] = bits[:10]
    bits[[5, 35, 39]] = False  # two empty fingerprints are not the same item
    summary = graphkin.compare(bits[:30], bits[30:], 0.9).summary
    assert summary["identical"] == 8
    assert summary["novel"] == 2


def test_other_fingerprints_equal_rdkit() -> None:
    generator = rdFingerprintGenerator.GetRDKitFPGenerator(fpSize=1024)
    vectors = [generator.GetFingerprint(Chem.MolFromSmiles(smiles)) for smiles in ("CCOC", "CCCCO")]
    pairs = graphkin.similar_pairs(["CCOC"], ["CCCCO"], 0.01, fingerprint="rdkit", bits=1024)
    assert pairs["similarity"].to_pylist() == [DataStructs.TanimotoSimilarity(*vectors)]


@pytest.mark.parametrize(("first", "second"), [([], ["C"]), (["C"], []), ([], [])])
def test_empty_sets_have_no_pairs(first: list[str], second: list[str]) -> None:
    assert len(graphkin.similar_pairs(first, second, 0.5)) == 0
    comparison = graphkin.compare(first, second)
    assert comparison.summary["novel"] == len(comparison.nearest) == len(second)
    assert comparison.nearest.to_pylist() == [
        {"right": row, "right_smiles": text, "relation": "novel", "similarity": None, "left": None, "left_smiles": None}
        for row, text in enumerate(second)
    ]


def test_empty_set_and_fingerprints_of_another_length_have_no_pairs() -> None:
    bits = np.ones((3, 200), bool)
    assert len(graphkin.similar_pairs([], bits, 0.5)) == len(graphkin.similar_pairs(bits, [], 0.5)) == 0


def test_fingerprints_of_different_lengths_are_refused() -> None:
    bits = np.ones((3, 200), bool)
    for call in (lambda: graphkin.similar_pairs(bits, bits[:, :100], 0.5), lambda: graphkin.compare(["C"], bits)):
        with pytest.raises(InvalidInput, match="cannot be compared"):
            call()


def test_radius_0_is_no_default() -> None:
    (row,) = graphkin.compare(["CCO"], ["CCCCO"], 0.1, radius=0).nearest.to_pylist()
    assert row["similarity"] == 1
    assert graphkin.similar_pairs(["CCO"], ["CCCCO"], 0.1, radius=0)["similarity"].to_pylist() == [1]


def test_set_without_a_readable_record_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no record of b can be read"):
        graphkin.compare(["CCO"], ["x", None])
    with pytest.raises(InvalidInput, match="no record of a can be read"):
        graphkin.similar_pairs(["x", None], 0.5)


def test_unknown_option_is_refused() -> None:
    with pytest.raises(TypeError, match="top_k"):
        graphkin.compare(["CCO"], ["CCO"], top_k=1)  # type: ignore[call-arg]
    with pytest.raises(InvalidInput, match="chirality only with"):
        graphkin.similar_pairs(["CCO"], 0.5, fingerprint="rdkit", chirality=True)


def test_missing_threshold_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"invalid threshold\n  given: an object of type list"):
        graphkin.similar_pairs(["CCO"], ["CCO"])  # type: ignore[call-overload]


def test_collection_decides_the_recipe_of_both_sets(tmp_path: Path) -> None:
    options: dict[str, Any] = {"store": tmp_path / "s", "standardise": ("largest_fragment",), "fingerprint": "rdkit"}
    (tmp_path / "a.smi").write_text("CCO.Cl ethanol\nCCCCN amine\n")
    graphkin.ingest(tmp_path / "a.smi", collection="rdkit", **options)
    graphkin.ingest(tmp_path / "a.smi", collection="morgan", store=tmp_path / "s")
    with graphkin.open(tmp_path / "s") as collections:
        comparison = graphkin.compare(collections["rdkit"], ["OCC.[Na+].[Cl-]", "CCCN"], 0.5)
        rows = comparison.nearest.select(["relation", "left_name", "similarity"]).to_pylist()
        generator = rdFingerprintGenerator.GetRDKitFPGenerator(fpSize=2048)
        vectors = [generator.GetFingerprint(Chem.MolFromSmiles(smiles)) for smiles in ("CCCCN", "CCCN")]
        similarity = DataStructs.TanimotoSimilarity(*vectors)
        assert rows == [
            {"relation": "identical", "left_name": "ethanol", "similarity": 1},
            {"relation": "near duplicate", "left_name": "amine", "similarity": similarity},
        ]
        assert len(graphkin.compare(collections["rdkit"], ["CCO"], standardise=[]).overlap) == 1
        with pytest.raises(Conflict, match="were read differently"):
            graphkin.compare(collections["rdkit"], collections["morgan"])
        with pytest.raises(InvalidInput, match="already decides"):
            graphkin.compare(collections["rdkit"], ["CCO"], bits=1024)


class Page(HTMLParser):
    """The text and the addresses of a page. Each element that is opened must be closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.tags: set[str] = set()
        self.text = ""
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.addresses += [str(value) for name, value in attrs if name in ("src", "href", "srcset")]
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_report_shows_the_counts_and_needs_no_other_file(comparison: Any) -> None:
    page = comparison.to_html("first.smi", "second.smi")
    parsed, summary = Page(page), comparison.summary
    assert "second.smi compared with first.smi" in parsed.text
    for name in ("identical", "near_duplicates", "novel", "pairs"):
        assert f"<b>{summary[name]:,}</b>" in page
    assert page.count("<rect") == len(summary["histogram"])
    assert "script" not in parsed.tags
    assert len(parsed.addresses) > 20
    assert all(address.startswith("data:image/svg+xml;base64,") for address in parsed.addresses)
    assert not re.search(r"@import|url\(", page)


def test_report_escapes_names(tmp_path: Path) -> None:
    name = "<script>alert(1)</script>&"
    frames = [pd.DataFrame({"smiles": [smiles], "name": [name]}) for smiles in ("CCO", "CCCO")]
    page = graphkin.compare(frames[0], frames[1], 0.3).to_html("<b>A", '"B"')
    assert "script" not in Page(page).tags
    assert Page(page).text.count(name) == 2
    assert "<b>A compared" not in page
    assert "<b>A" in Page(page).text


def test_report_of_an_empty_comparison_is_a_page() -> None:
    assert "0 items" not in Page(graphkin.compare([], []).to_html()).text
