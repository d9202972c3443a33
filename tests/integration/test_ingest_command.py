"""The command `graphkin ingest molecules` with valid and invalid input, and its repetition."""

import csv
import gzip
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphkin.client import Graphkin

MOLECULES = ["CCO", "CCN", "CCCO", "c1ccccc1", "c1ccccc1O", "CC(=O)O", "CC(=O)OC", "CCCCCC", "CCCCCN", "OCCO"]
SMI = "".join(f"{smiles}\tm{number}\n" for number, smiles in enumerate(MOLECULES))


def manifest(outcome: Any) -> dict:
    assert outcome.code == 0, outcome.err
    return json.loads(outcome.out)


def generation(outcome: Any) -> str:
    return manifest(outcome)["generation"]


def test_every_format_gives_the_same_generation(ingest: Callable[..., Any], tmp_path: Path) -> None:
    """File name, compression, line ends, format and number of workers do not change the id."""
    expected = generation(ingest(SMI, "--json"))
    as_csv = "smiles,id\n" + "".join(f"{smiles},m{number}\n" for number, smiles in enumerate(MOLECULES))
    same = [
        ingest(SMI, "--json", "--workers", 1),
        ingest(SMI.replace("\n", "\r\n"), "--json", name="windows.txt"),
        ingest(b"\xef\xbb\xbf" + SMI.encode(), "--json", name="bom.smi"),
        ingest(gzip.compress(SMI.encode()), "--json", name="molecules.smi.gz"),
        ingest(as_csv, "--json", name="molecules.csv"),
        ingest(b"\xef\xbb\xbf" + as_csv.replace("\n", "\r\n").encode(), "--json", name="bom.csv"),
        ingest(as_csv.replace(",", "\t").replace("smiles", "SMILES"), "--json", name="molecules.tsv"),
    ]
    pq.write_table(pa.table({"Smiles": MOLECULES, "ID": [f"m{n}" for n in range(10)]}), tmp_path / "m.parquet")
    same.append(ingest(tmp_path / "m.parquet", "--json"))
    assert [generation(outcome) for outcome in same] == [expected] * len(same)


def test_standard_input_needs_a_format(
    graphkin: Callable[..., Any], ingest: Callable[..., Any], tmp_path: Path
) -> None:
    expected = generation(ingest(SMI, "--json"))
    command = ("ingest", "molecules", "-", "--store", tmp_path / "other", "--collection", "c", "--json")
    assert generation(graphkin(*command, "--format", "smi", stdin=SMI.encode())) == expected
    without_format = graphkin(*command, stdin=SMI.encode())
    assert without_format.code == 2
    assert "--format" in without_format.err


def test_repeated_ingest_makes_its_generation_current_again(
    ingest: Callable[..., Any], graphkin: Callable[..., Any], tmp_path: Path
) -> None:
    first = generation(ingest(SMI, "--json"))
    second = generation(ingest(SMI, "--json", "--threshold", 0.6))
    assert first != second
    assert generation(ingest(SMI, "--json")) == first
    store_info = json.loads(graphkin("info", "--store", tmp_path / "store", "--json").out)
    assert store_info["collections"][0]["generation"] == first


def test_run_with_the_same_result_reports_its_own_counts_and_rejections(
    ingest: Callable[..., Any],
    graphkin: Callable[..., Any],
    serve: Callable[..., AbstractContextManager[str]],
    tmp_path: Path,
) -> None:
    place = ("--store", tmp_path / "store", "--collection", "c")
    rows = [f"{smiles},m{number}\n" for number, smiles in enumerate(MOLECULES)]
    first = ingest("smiles,id\n" + "".join(rows), name="a.csv")
    assert first.out.startswith("published c generation ")
    info = json.loads(graphkin("info", *place, "--json").out)

    second_input = ("smiles,id\n" + "".join(rows + rows + ["notamolecule,bad\n"]),)
    id = info["manifest"]["generation"]
    second = ingest(*second_input, name="b.csv")
    assert second.code == 0
    assert second.out.startswith(
        f"unchanged: generation {id[:12]} of c already published\n  10 items (21 records, 10 duplicates, 1 rejected)\n"
    )
    second_manifest = manifest(ingest(*second_input, "--json", name="b.csv"))
    assert (second_manifest["generation"], second_manifest["unchanged"]) == (id, True)
    assert second_manifest["counts"] == {"read": 21, "kept": 10, "duplicates": 10, "rejected": 1}
    assert [Path(each["name"]).name for each in second_manifest["inputs"]] == ["b.csv"]

    after = json.loads(graphkin("info", *place, "--json").out)
    assert {**after, "rerun": None} == info
    assert after["rerun"]["counts"] == second_manifest["counts"]
    assert "21 records read, 10 kept, 10 duplicates, 1 rejected" in graphkin("info", *place).out
    store_info = json.loads(graphkin("info", *place, "--rejections", "--json").out)
    assert store_info["rejections"] == []
    (rejected,) = store_info["rerun"]["rejections"]
    assert (Path(rejected["source"]).name, rejected["line"], rejected["input"]) == ("b.csv", 22, "notamolecule")
    text = graphkin("info", *place, "--rejections")
    assert "b.csv:22: " in text.out

    with serve(tmp_path / "store") as url, Graphkin(url) as server:
        detail = httpx.get(f"{url}/v1/collections/c").json()
        assert (detail["rerun"], detail["manifest"]["counts"]["rejected"]) == (after["rerun"], 0)
        page = httpx.get(f"{url}/v1/collections/c/rejections", params={"rerun": True, "generation": id})
        assert (page.headers["Cache-Control"], page.json()["rejections"]) == ("no-cache", [rejected])
        assert [*server.collection("c").rejections()] == []
        assert [each.model_dump() for each in server.collection("c").rejections(rerun=True)] == [rejected]

    copy = tmp_path / "copy"
    assert graphkin("backup", "--store", tmp_path / "store", "--to", copy).code == 0
    assert json.loads(graphkin("info", "--store", copy, "--collection", "c", "--json").out) == after
    file = tmp_path / "store" / "reruns" / "c" / f"{id}.arrow"
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    damaged = graphkin("info", *place, "--rejections")
    assert damaged.code == 4
    assert f"reruns/c/{id}.arrow" in damaged.err


def test_duplicates_collapse_and_keep_every_name(
    ingest: Callable[..., Any], graphkin: Callable[..., Any], tmp_path: Path
) -> None:
    counts = manifest(ingest("OCC ethanol\nCCN amine\nCCO alcohol\nC(O)C ethanol\n", "--json"))["counts"]
    assert counts == {"read": 4, "kept": 2, "duplicates": 2, "rejected": 0}
    place = ("--store", tmp_path / "store", "--collection", "c")
    item = json.loads(graphkin("neighbors", *place, "--smiles", "OCC", "--json").out)["item"]
    assert item["names"] == ["ethanol", "alcohol"]


@pytest.mark.parametrize("text", ["", "\ufeff"])
@pytest.mark.parametrize("name", ["a.smi", "a.csv", "a.tsv", "a.sdf", "a.parquet", "a.smi.gz"])
def test_empty_file_is_refused(ingest: Callable[..., Any], text: str, name: str, tmp_path: Path) -> None:
    outcome = ingest(text, name=name)
    assert outcome.code == 2
    assert "is empty" in outcome.err
    assert name in outcome.err


def test_header_without_records_is_refused(ingest: Callable[..., Any]) -> None:
    outcome = ingest("smiles,id\n", name="a.csv")
    assert outcome.code == 2
    assert "no record" in outcome.err


def test_binary_file_is_refused(ingest: Callable[..., Any], graphkin: Callable[..., Any], tmp_path: Path) -> None:
    outcome = ingest(bytes(range(256)) * 40, name="picture.smi")
    assert outcome.code == 2
    assert "were rejected; nothing was published" in outcome.err
    assert graphkin("info", "--store", tmp_path / "store", "--json").out == '{"collections": []}\n'


def test_file_of_line_ends_is_refused_in_seconds(ingest: Callable[..., Any]) -> None:
    outcome = ingest(gzip.compress(b"CCO\n") + 300 * gzip.compress(b"\n" * (1 << 20)), name="lines.smi.gz")
    assert outcome.code == 2
    assert "lines.smi.gz has more than 100,000 blank lines in a row" in outcome.err
    assert "from line 2 to line 100,002" in outcome.err


def test_error_about_a_missing_column_lists_the_columns(ingest: Callable[..., Any]) -> None:
    outcome = ingest("structure,id\nCCO,1\n", name="a.csv")
    assert outcome.code == 2
    assert "structure, id" in outcome.err
    assert ingest("structure,id\nCCO,1\n", "--smiles-column", "structure", name="a.csv").code == 0


def test_rejections_are_kept_with_reason_and_line(
    ingest: Callable[..., Any], graphkin: Callable[..., Any], tmp_path: Path
) -> None:
    lines = [*MOLECULES, "notamolecule bad", "", "CC\0O", "C" * 5_000 + " long"]
    outcome = ingest("\n".join(lines) + "\n", "--max-rejected", 0.3, "--json")
    assert manifest(outcome)["counts"] == {"read": 14, "kept": 10, "duplicates": 0, "rejected": 4}
    assert "SMILES Parse Error" not in outcome.err  # The parser's message is captured, not printed.
    place = ("--store", tmp_path / "store", "--collection", "c")
    info = json.loads(graphkin("info", *place, "--rejections", "--json").out)["rejections"]
    assert [row["line"] for row in info] == [11, 12, 13, 14]
    reasons = [row["reason"] for row in info]
    assert "SMILES Parse Error" in reasons[0]
    assert reasons[1:] == ["empty record", "contains a NUL byte", "5000 atoms, more than 1000"]
    assert all(row["source"].endswith("molecules.smi") for row in info)
    text = graphkin("info", *place, "--rejections").out
    assert text.count("\n") == 4


def test_too_many_rejections_fail_and_are_written_to_a_file(
    ingest: Callable[..., Any], graphkin: Callable[..., Any], tmp_path: Path
) -> None:
    garbage = "".join("CCO\n" if number % 5 else "garbage\n" for number in range(100))
    outcome = ingest(garbage)
    assert outcome.code == 2
    assert "20 of 100 records (20.0%) were rejected; nothing was published" in outcome.err
    with (tmp_path / "c.rejections.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["line"]) for row in rows] == list(range(1, 101, 5))
    assert graphkin("info", "--store", tmp_path / "store", "--collection", "c").code == 3
    assert ingest(garbage, "--max-rejected", 0.2).code == 0


def test_file_of_rejections_is_safe_in_a_spreadsheet(ingest: Callable[..., Any], tmp_path: Path) -> None:
    formulas = ['=HYPERLINK("http://x")', "@SUM(A1)", "＝1+1", "x;=1+1"]
    table = "".join(f"CCO\t{text}\n" for text in formulas)
    outcome = ingest(f"smiles\tname\n{table}", "--smiles-column", "name", name="molecules.tsv")
    assert outcome.code == 2
    with (tmp_path / "c.rejections.csv").open(newline="") as file:
        inputs = [row["input"] for row in csv.DictReader(file)]
    assert inputs == ['\'=HYPERLINK("http://x")', "'@SUM(A1)", "'＝1+1", "x;'=1+1"]


def test_rejections_of_exactly_a_tenth_are_accepted(ingest: Callable[..., Any]) -> None:
    outcome = ingest(
        "".join(f"{'C' * (number + 1)}\n" if number % 10 else "garbage\n" for number in range(100)), "--json"
    )
    assert manifest(outcome)["counts"]["rejected"] == 10


@pytest.mark.parametrize("threshold", ["0", "-0.1", "1.1", "nan", "inf"])
def test_threshold_out_of_range_is_refused(ingest: Callable[..., Any], threshold: str) -> None:
    outcome = ingest(SMI, "--threshold", threshold)
    assert outcome.code == 2
    assert "threshold" in outcome.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--fingerprint", "rdkit", "--radius", 3), "no radius with the fingerprint"),
        (("--bits", 100), "multiple of 64"),
        (("--fingerprint", "maccs", "--bits", 2048), "167 bits with the fingerprint maccs"),
        (("--top-k", -1), "top_k"),
        (("--fingerprint", "ecfp"), "--fingerprint"),
        (("--name-column", "nothere"), None),
    ],
)
def test_conflicting_options_are_refused(
    ingest: Callable[..., Any], options: tuple[object, ...], message: str | None
) -> None:
    outcome = ingest(SMI, *options)
    if message is None:
        assert outcome.code in (0, 2)
    else:
        assert outcome.code == 2
        assert message in outcome.err


@pytest.mark.parametrize("name", ["Upper", "../x", "", "a/b", "x" * 64, "-a"])
def test_invalid_collection_names_are_refused(graphkin: Callable[..., Any], tmp_path: Path, name: str) -> None:
    (tmp_path / "a.smi").write_text(SMI)
    outcome = graphkin("ingest", "molecules", "a.smi", "--store", "store", f"--collection={name}")
    assert outcome.code == 2
    assert "name of a collection" in outcome.err


def test_foreign_folder_is_not_changed(graphkin: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letter.txt").write_text("dear")
    (tmp_path / "a.smi").write_text(SMI)
    outcome = graphkin("ingest", "molecules", "a.smi", "--store", "home", "--collection", "c")
    assert outcome.code == 4
    assert "not a graphkin store" in outcome.err
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["letter.txt"]


def test_missing_file_is_reported(ingest: Callable[..., Any], tmp_path: Path) -> None:
    outcome = ingest(tmp_path / "absent.smi")
    assert outcome.code == 2
    assert "absent.smi" in outcome.err


def test_presets_set_the_recipe(ingest: Callable[..., Any]) -> None:
    paper = manifest(ingest(SMI, "--preset", "paper", "--json"))["recipe"]
    assert (paper["fingerprint"]["name"], paper["candidates"], paper["threshold"], paper["top_k"], paper["ties"]) == (
        "rdkit", "window", 0.36, 0, "hash",
    )  # fmt: skip
    rc = manifest(ingest(SMI, "--preset", "rc", "--threshold", 0.5, "--json"))["recipe"]
    assert (rc["ties"], rc["threshold"]) == ("index", 0.5)


def test_standardized_duplicates_collapse(
    ingest: Callable[..., Any], graphkin: Callable[..., Any], tmp_path: Path
) -> None:
    salts = "CC(=O)[O-].[Na+] acetate\nCC(=O)O acid\nCCO ethanol\n"
    steps = ("--standardise", "largest_fragment", "--standardise", "uncharge")
    assert manifest(ingest(salts, *steps, "--json"))["counts"]["kept"] == 2
    place = ("--store", tmp_path / "store", "--collection", "c")
    result = json.loads(graphkin("search", *place, "[K+].CC(=O)[O-]", "--json").out)
    assert result["query"] == {"smiles": "CC(=O)O", "id": 0}
    assert result["hits"][0]["similarity"] == 1.0


def test_tautomers_collapse_and_are_found_by_each_other(
    ingest: Callable[..., Any], graphkin: Callable[..., Any], tmp_path: Path
) -> None:
    forms = "Oc1ccccn1 enol\nO=c1cccc[nH]1 keto\nCCO ethanol\n" + "C" * 101 + " long\n"
    counts = manifest(ingest(forms, "--standardize", "tautomer", "--max-rejected", 1, "--json"))["counts"]
    assert counts == {"read": 4, "kept": 2, "duplicates": 1, "rejected": 1}
    place = ("--store", tmp_path / "store", "--collection", "c")
    for smiles in ("Oc1ccccn1", "O=c1cccc[nH]1"):
        result = json.loads(graphkin("search", *place, smiles, "--json").out)
        assert result["query"] == {"smiles": "O=c1cccc[nH]1", "id": 0}
        assert result["hits"][0]["similarity"] == 1.0
    assert "101 atoms, more than 100" in graphkin("info", *place, "--rejections").out


def test_items_without_names_are_reported_with_a_candidate_column(ingest: Callable[..., Any]) -> None:
    outcome = ingest("smiles;Shelf Number;logP\nCCO;a1;1.5\nCCC;a2;2\n", name="m.csv")
    assert outcome.code == 0
    assert "no item has a name" in outcome.err
    assert "--name-column, such as 'Shelf Number'" in outcome.err
    with_names = ingest("smiles;Shelf Number;logP\nCCO;a1;1.5\n", "--name-column", "shelf number", name="m.csv")
    assert (with_names.code, "no item has a name" in with_names.err) == (0, False)


def test_delimiter_option_is_used(ingest: Callable[..., Any], graphkin: Callable[..., Any], tmp_path: Path) -> None:
    assert ingest("smiles|Compound ID\nCCO|x, y\n", "--delimiter", "pipe", name="m.csv").code == 0
    result = graphkin("neighbors", "--store", tmp_path / "store", "--collection", "c", "--name", "x, y", "--json")
    assert json.loads(result.out)["item"]["names"] == ["x, y"]
