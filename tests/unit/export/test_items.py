"""Exported items, read back by the csv module, pyarrow and RDKit."""

import csv
import io
import re
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdkit import Chem

from graphkin.export import MEDIA_TYPES, ItemFormat, export_edges, export_items, media_type
from graphkin.export.table import Comparison
from graphkin.ingest.readers import ReadOptions, open_source
from graphkin.protocol.errors import Conflict, InvalidInput, NotFound
from graphkin.similarity.molecules.kind import MoleculeKind
from graphkin.store.base import Generation

TITLES = ["id", "smiles", "names", "<i>\n\"d'", "=sum", "property.id", "logP", "property.names", "note"]
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"))


def read_csv(pieces: Iterator[bytes]) -> list[list[str]]:
    return list(csv.reader(io.StringIO(b"".join(pieces).decode(), newline="")))


def read_sdf(pieces: Iterator[bytes]) -> list[Chem.Mol]:
    content = b"".join(pieces).decode()
    supplier = Chem.SDMolSupplier()
    supplier.SetData(content)
    return list(supplier) if content else []


def names_of(molecule: Chem.Mol) -> list[str]:
    return molecule.GetProp("names").split("\n") if molecule.HasProp("names") else []


def read_arrow(pieces: Iterator[bytes]) -> pa.Table:
    return pa.ipc.open_stream(b"".join(pieces)).read_all()


def read_parquet(pieces: Iterator[bytes]) -> pa.Table:
    return pq.read_table(io.BytesIO(b"".join(pieces)))


def test_csv_holds_all_columns(generation: Generation) -> None:
    header, *rows = read_csv(export_items(generation, "csv"))
    assert header == [*TITLES[:4], "'=sum", *TITLES[5:]]
    assert [row[:2] for row in rows] == [
        ["0", "CCO"],
        ["1", "[Na+].[Cl-]"],
        ["2", "C[C@H](N)C(=O)O"],
        ["3", "c1ccccc1"],
        ["4", "CC"],
    ]
    assert rows[0][2:] == ['ethanol; the "spirit"', "", "", "5", "-0.31", "", "plain"]
    assert rows[1][2:] == ["'=1+1", "", "", "", "", "", "two\nlines,\n\nand one\r\n$$$$\rend"]
    assert rows[2][2:] == ["", "", "'@cmd", "", "7", "n", "-5"]
    assert rows[4][3:] == ["+1", "", "", "1e-7", "", "'\ttab"]


def test_csv_lines_end_with_a_line_feed(make_generation: Callable) -> None:
    content = b"".join(export_items(make_generation([{"smiles": "C", "names": ["a", "b,c"]}], []), "csv"))
    assert content == b'id,smiles,names\n0,C,"a; b,c"\n'


@pytest.mark.parametrize("first", list("=+-@\t\r"))
def test_csv_escapes_text_that_a_spreadsheet_would_run(make_generation: Callable, first: str) -> None:
    generation = make_generation(
        [{"smiles": "-C", "names": [f"{first}n", first], "properties": {f"{first}h": f"{first}v", "z": -1}}], []
    )
    header, row = read_csv(export_items(generation, "csv"))
    assert dict(zip(header, row, strict=True)) == {
        "id": "0", "smiles": "-C", "names": f"'{first}n; {first}", f"'{first}h": f"'{first}v", "z": "-1",
    }  # fmt: skip


@pytest.mark.parametrize(("format", "read"), [("arrow", read_arrow), ("parquet", read_parquet)])
def test_arrow_and_parquet_columns_are_typed(
    generation: Generation, items: list[dict], format: ItemFormat, read: Callable
) -> None:
    table = read(export_items(generation, format))
    assert table.schema.names == TITLES
    assert table.schema.types == [
        pa.int32(), pa.string(), pa.list_(pa.string()), pa.string(), pa.string(), pa.float64(), pa.float64(),
        pa.string(), pa.string(),
    ]  # fmt: skip
    assert table["id"].to_pylist() == list(range(5))
    assert table["names"].to_pylist() == [item["names"] for item in items]
    for title in ("logP", "note", "=sum"):
        assert table[title].to_pylist() == [item["properties"].get(title) for item in items]
    assert table["property.id"].to_pylist() == [5.0, None, None, None, None]


@pytest.mark.parametrize(("format", "read"), [("arrow", read_arrow), ("parquet", read_parquet)])
def test_inchikeys_are_exported_if_the_recipe_stores_them(
    make_generation: Callable, format: ItemFormat, read: Callable
) -> None:
    generation = make_generation([{"smiles": "C", "inchikey": "VNWKTOKETHGBQD-UHFFFAOYSA-N"}], [], inchikey=True)
    assert read(export_items(generation, format)).to_pylist() == [
        {"id": 0, "smiles": "C", "names": [], "inchikey": "VNWKTOKETHGBQD-UHFFFAOYSA-N"}
    ]
    assert read_csv(export_items(generation, "csv"))[0] == ["id", "smiles", "names", "inchikey"]
    assert read_sdf(export_items(generation, "sdf"))[0].GetProp("inchikey") == "VNWKTOKETHGBQD-UHFFFAOYSA-N"


def test_property_with_a_reserved_prefix_gets_a_unique_title(make_generation: Callable) -> None:
    own = {"id": "a", "property.id": "b", "inchikey": "c"}
    header, row = read_csv(export_items(make_generation([{"smiles": "C", "properties": own}], []), "csv"))
    assert header[3:] == ["property.id", "property.inchikey", "property.property.id"]
    assert row[3:] == ["a", "c", "b"]


def test_sdf_holds_molecules_names_and_properties(generation: Generation, items: list[dict]) -> None:
    molecules = read_sdf(export_items(generation, "sdf"))
    assert [Chem.MolToSmiles(molecule) for molecule in molecules] == [
        Chem.CanonSmiles(item["smiles"]) for item in items
    ]
    assert [molecule.GetProp("_Name") for molecule in molecules[:4]] == ["ethanol", "=1+1", "2", "a\tb"]
    assert molecules[4].GetProp("_Name").strip() == "$$$$ > <note>"
    assert [molecule.GetProp("smiles") for molecule in molecules] == [item["smiles"] for item in items]
    assert [names_of(molecule) for molecule in molecules] == [
        ["ethanol", 'the "spirit"'], ["=1+1"], [], ["a\tb"], [" $$$$ > <note>"],
    ]  # fmt: skip
    assert [molecule.GetProp("id") for molecule in molecules] == list("01234")
    assert molecules[1].GetProp("note") == "two\nlines,\nand one\n $$$$\nend"
    assert molecules[2].GetPropsAsDict()["logP"] == 7
    assert molecules[2].GetProp("property.names") == "n"
    assert not molecules[1].HasProp("logP")
    conformer = molecules[2].GetConformer()
    assert not conformer.Is3D()
    assert np.ptp(conformer.GetPositions()[:, :2], axis=0).min() > 1  # laid out, not all at the origin


def test_sdf_of_a_large_molecule_is_v3000(make_generation: Callable) -> None:
    smiles = "C" * 1000  # more atoms than a V2000 block can count
    [molecule] = read_sdf(export_items(make_generation([{"smiles": smiles}], []), "sdf"))
    assert molecule.GetNumAtoms() == 1000


@given(names=st.lists(TEXT, max_size=2), label=TEXT, value=TEXT)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_sdf_holds_any_text(make_generation: Callable, names: list[str], label: str, value: str) -> None:
    item = {"smiles": "CO", "names": names, "properties": {label: value}}
    pieces = list(export_items(make_generation([item, item], []), "sdf"))
    source = open_source("-", MoleculeKind.file_formats, ReadOptions(format="sdf"), io.BytesIO(b"".join(pieces)))
    texts = [text for batch in source for text in batch["text"].to_pylist()]
    assert [Chem.MolToSmiles(Chem.MolFromMolBlock(text)) for text in texts] == ["CO", "CO"]
    molecules = read_sdf(iter(pieces))
    assert [Chem.MolToSmiles(molecule) for molecule in molecules] == ["CO", "CO"]
    expected = [re.sub(r"[\r\n]+", " ", name).strip() for name in names]
    assert [[name.strip() for name in names_of(molecule)] for molecule in molecules] == [[*filter(None, expected)]] * 2


def runs(cell: str) -> bool:
    """Return whether a spreadsheet may evaluate a part of a cell as a formula."""
    for part in (each.strip(' "') for each in re.split(r"[;\t\r\n]", cell)):
        if part[:1] in tuple("=+-@＝＋－＠") and len(part) > 1:
            try:
                float(part.replace("_", "?"))
            except ValueError:
                return True
    return cell.startswith(("\t", "\r"))


@given(properties=st.dictionaries(TEXT, TEXT, max_size=3), names=st.lists(TEXT, max_size=3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_csv_holds_any_text(make_generation: Callable, properties: dict, names: list[str]) -> None:
    header, row = read_csv(
        export_items(make_generation([{"smiles": "C", "names": names, "properties": properties}], []), "csv")
    )
    values = ["; ".join(names), *(value for _, value in sorted(properties.items()))]
    assert [cell.replace("'", "") for cell in row[2:]] == [value.replace("'", "") for value in values]
    assert len(header) == len(row)
    assert not any(map(runs, header + row))


@pytest.mark.parametrize(("format", "read"), [("arrow", read_arrow), ("parquet", read_parquet)])
def test_exported_selection_keeps_its_order(generation: Generation, format: ItemFormat, read: Callable) -> None:
    ids = np.array([4, 0, 3], np.int32)
    assert read(export_items(generation, format, ids))["id"].to_pylist() == [4, 0, 3]
    assert [row[0] for row in read_csv(export_items(generation, "csv", ids))[1:]] == ["4", "0", "3"]
    assert [molecule.GetProp("id") for molecule in read_sdf(export_items(generation, "sdf", ids))] == ["4", "0", "3"]


@pytest.mark.parametrize("format", MEDIA_TYPES["items"])
def test_export_handles_an_empty_selection_and_refuses_unknown_ids(generation: Generation, format: ItemFormat) -> None:
    readers = {"csv": read_csv, "arrow": read_arrow, "parquet": read_parquet, "sdf": read_sdf}
    content = readers[format](export_items(generation, format, np.array([], np.int32)))
    assert len(content) == (1 if format == "csv" else 0)
    for id in (-1, 5):
        with pytest.raises(NotFound, match=f"no item {id}"):
            export_items(generation, format, np.array([0, id], np.int32))


def test_parquet_row_groups_are_bounded(make_generation: Callable) -> None:
    items = [{"smiles": "C", "properties": {"x": f"{at} " * 200_000}} for at in range(60)]
    pieces = list(export_items(make_generation(items, []), "parquet"))
    metadata = pq.ParquetFile(io.BytesIO(b"".join(pieces))).metadata
    assert metadata.num_rows == 60
    assert metadata.num_row_groups == len(pieces) - 1 > 2


def test_sdf_of_graphs_is_refused(make_generation: Callable) -> None:
    generation = make_generation([{"names": ["g"], "structure": "{}"}], [], kind="graph")
    assert read_csv(export_items(generation, "csv")) == [["id", "structure", "names"], ["0", "{}", "g"]]
    with pytest.raises(Conflict, match="are not molecules"):
        export_items(generation, "sdf")


SIMILARITY = np.array([0.7, 1 / 3, 0, 1, 1e-7], np.float32)
COMPARED = Comparison("CCO", 0, SIMILARITY.__getitem__)


@pytest.mark.parametrize(("format", "read"), [("arrow", read_arrow), ("parquet", read_parquet)])
def test_similarity_column_comes_before_the_properties(
    generation: Generation, format: ItemFormat, read: Callable
) -> None:
    table = read(export_items(generation, format, comparison=COMPARED))
    assert table.schema.names == [*TITLES[:3], "similarity", *TITLES[3:]]
    assert table.schema.field("similarity").type == pa.float32()
    assert np.array_equal(table["similarity"], SIMILARITY)
    ids = np.array([4, 0, 4, 3], np.int32)
    table = read(export_items(generation, format, ids, COMPARED))
    assert table["id"].to_pylist() == ids.tolist()
    assert np.array_equal(table["similarity"], SIMILARITY[ids])


def test_text_formats_write_the_shortest_similarities(generation: Generation) -> None:
    ids = np.array([3, 1, 0, 2, 4], np.int32)
    header, *rows = read_csv(export_items(generation, "csv", ids, COMPARED))
    assert header[:5] == ["id", "smiles", "names", "similarity", TITLES[3]]
    assert [(row[0], row[3]) for row in rows] == [
        ("3", "1.0"), ("1", "0.33333334"), ("0", "0.7"), ("2", "0.0"), ("4", "1e-07"),
    ]  # fmt: skip
    molecules = read_sdf(export_items(generation, "sdf", ids, COMPARED))
    assert [molecule.GetProp("similarity") for molecule in molecules] == [row[3] for row in rows]


def test_property_named_similarity_is_kept(make_generation: Callable) -> None:
    generation = make_generation([{"smiles": "C", "inchikey": "K", "properties": {"similarity": 5}}], [], inchikey=True)
    for comparison, expected in (
        (None, ["id", "smiles", "names", "inchikey", "similarity"]),
        (COMPARED, ["id", "smiles", "names", "inchikey", "similarity", "property.similarity"]),
    ):
        header, row = read_csv(export_items(generation, "csv", comparison=comparison))
        assert header == expected
        assert row[-1] == "5"


def test_unknown_item_format_is_refused(generation: Generation) -> None:
    with pytest.raises(InvalidInput, match=r"(?s)items cannot be exported.*graphml.*one of csv, parquet, arrow, sdf"):
        export_items(generation, "graphml")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"(?s)edges.*sdf.*one of csv, parquet, arrow, graphml"):
        media_type("edges", "sdf")
    with pytest.raises(InvalidInput, match="one of items, edges"):
        media_type("walks", "csv")
    assert media_type("items", "sdf") == "chemical/x-mdl-sdfile"


@pytest.mark.parametrize(("format", "read"), [("arrow", read_arrow), ("parquet", read_parquet)])
def test_columns_and_ranges_select_part_of_the_table(
    generation: Generation, format: ItemFormat, read: Callable
) -> None:
    whole = read(export_items(generation, format))
    columns = ["property.id", "note", "id"]
    for start, stop in ((0, None), (1, 4), (3, None), (2, 2)):
        table = read(export_items(generation, format, columns=columns, start=start, stop=stop))
        assert table.equals(
            whole.select([title for title in TITLES if title in columns]).slice(start, (stop or 5) - start)
        )


def test_csv_exports_selected_columns(generation: Generation) -> None:
    header, *rows = read_csv(export_items(generation, "csv", columns=["names", "=sum"], start=2))
    assert header == ["names", "'=sum"]
    assert rows == [["", "'@cmd"], ["a\tb;   ", ""], ["$$$$\n> <note>", ""]]


def test_sdf_with_selected_columns_keeps_molecules_and_titles(generation: Generation) -> None:
    molecules = read_sdf(export_items(generation, "sdf", columns=["logP"], stop=3))
    assert [molecule.GetNumAtoms() for molecule in molecules] == [3, 2, 6]
    assert [molecule.GetProp("_Name") for molecule in molecules] == ["ethanol", "=1+1", "2"]
    assert [molecule.GetPropsAsDict() for molecule in molecules] == [{"logP": -0.31}, {}, {"logP": 7}]


def test_similarity_is_a_column_that_can_be_selected(generation: Generation) -> None:
    comparison = Comparison("C", None, lambda ids: (ids / 8).astype(np.float32))
    table = read_arrow(export_items(generation, "arrow", comparison=comparison, columns=["similarity"]))
    assert table.to_pydict() == {"similarity": [0, 0.125, 0.25, 0.375, 0.5]}
    table = read_arrow(export_items(generation, "arrow", comparison=comparison, columns=["smiles"]))
    assert table.column_names == ["smiles"]


def test_unknown_column_error_lists_the_columns(generation: Generation) -> None:
    with pytest.raises(InvalidInput, match="no column of this name") as error:
        export_items(generation, "csv", columns=["id", "colour"])
    assert (error.value.given, error.value.expected) == ("colour", f"one of {', '.join(TITLES)}")


@pytest.mark.parametrize(("start", "stop"), [(6, None), (0, 6), (3, 2)])
def test_range_beyond_the_items_is_refused(generation: Generation, start: int, stop: int | None) -> None:
    with pytest.raises(InvalidInput, match="no such range of ids") as error:
        export_items(generation, "csv", start=start, stop=stop)
    assert error.value.expected == "0 <= start <= stop <= 5"
    with pytest.raises(InvalidInput, match="no such range of ids"):
        export_edges(generation, "csv", start=start, stop=stop)
