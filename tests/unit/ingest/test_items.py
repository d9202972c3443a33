"""The item table equals a reference of dictionaries, for all chunkings."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdkit import Chem
from rdkit.Chem import Descriptors

from graphkin.ingest import items as items_module
from graphkin.ingest.items import ColumnFormat, ItemTable, OldItems, Properties
from graphkin.ingest.parsing import Chunk, ChunkParser
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.manifest import ColumnValues, Counts, Provenance
from graphkin.similarity.molecules.describer import MoleculeDescriber
from graphkin.similarity.molecules.kind import MoleculeKind
from graphkin.similarity.molecules.recipe import MoleculeRecipe, resolve
from graphkin.store.columns import ITEM_SCHEMA, titles
from graphkin.store.columns import properties as properties_of
from graphkin.store.identity import content_digest

KIND = MoleculeKind()
RECIPE = resolve(fingerprint={"bits": 64})


@pytest.fixture(scope="module")
def parser() -> ChunkParser:
    return ChunkParser(MoleculeDescriber(RECIPE, 1000))


def _finish(
    parser: ChunkParser, *chunks: Chunk, recipe: MoleculeRecipe = RECIPE
) -> tuple[ItemTable, Any, list[dict[str, Any]]]:
    """Return the table, the descriptors and the rows with parsed properties."""
    table = ItemTable(OldItems.empty(KIND.computed_columns))
    for chunk in chunks:
        table.add(parser.parse(chunk))
    descriptors, batches = table.finish(partial(KIND.descriptors, recipe=recipe))
    rows = []
    for batch in batches:
        assert batch.schema.names[:4] == ITEM_SCHEMA.names
        batch.validate(full=True)
        column_names = titles(table.properties.types)
        for row in batch.to_pylist():
            properties = properties_of(
                list(column_names), [row[title] for title in column_names.values()], table.properties.qualifiers
            )
            rows.append({**row, "properties": properties})
    return table, descriptors, rows


def _own(row: dict[str, Any]) -> dict[str, Any]:
    """Return the properties that came with the source."""
    return {key: value for key, value in row["properties"].items() if key not in ("molwt", "rings", "heavy_atoms")}


def test_more_items_than_ids_are_refused(
    parser: ChunkParser, chunk: Callable[..., Chunk], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records of the same item share an id."""
    monkeypatch.setattr(items_module, "MAX_ID", 1)
    _finish(parser, chunk(["CCO", "C", "OCC"]))
    with pytest.raises(InvalidInput, match="too many different items"):
        _finish(parser, chunk(["CCO", "C", "N"]))


def test_duplicates_collapse_into_the_first(parser: ChunkParser, chunk: Callable[..., Chunk]) -> None:
    texts = ["OCC", "C", "CCO", "C(O)C", "C", "N"]
    names = ["a", "b", "c", "a", None, "b"]
    properties = [{"x": str(n), **({"y": "only later"} if n == 3 else {})} for n in range(6)]
    table, descriptors, rows = _finish(parser, chunk(texts, names, properties))
    assert [row["smiles"] for row in rows] == ["CCO", "C", "N"]
    assert [row["names"] for row in rows] == [["a", "c"], ["b"], ["b"]]
    assert [_own(row) for row in rows] == [{"x": 0}, {"x": 1}, {"x": 5}]
    assert (table.read, table.rejected, len(descriptors)) == (6, 0, 3)


def test_properties_have_the_order_of_their_source(parser: ChunkParser, chunk: Callable[..., Chunk]) -> None:
    """Columns keep their order although cells of the first records are empty. Computed properties follow."""
    sparse = ["za", "zy", "cb", "czyx", "xb", "bad"]  # cells of the columns c, z, y, x, b, a and d
    table, _, _ = _finish(
        parser, chunk(["C", "N", "O", "S", "P", "F"], properties=[dict.fromkeys(keys, "1") for keys in sparse])
    )
    source = [name for name in table.properties.types if len(name) == 1]
    assert "".join(source) == "czyxbad"
    assert list(table.properties.types)[len(source) :] == ["molwt", "rings", "heavy_atoms"]
    one = ColumnFormat(numbers=True, texts=False, shortest=True)
    further = Properties((), table.properties.source) & Properties((), dict.fromkeys("xwb", one))
    assert "".join(name for name in further.types if len(name) == 1) == "czyxwbad"
    assert list((Properties((), further.source) & Properties((), dict.fromkeys("xc", one))).source) == [
        *further.source
    ]  # this order contradicts the other one


def test_rejections_are_counted_and_take_no_id(parser: ChunkParser, chunk: Callable[..., Chunk]) -> None:
    table, _, rows = _finish(parser, chunk(["nonsense", "C", "", "N"], faults=[None, None, None, "too long"]))
    assert (table.read, table.rejected) == (4, 3)
    assert [row["smiles"] for row in rows] == ["C"]


def test_descriptors_are_those_of_the_first_record(
    parser: ChunkParser, chunk: Callable[..., Chunk], packed: Any, generators: Any
) -> None:
    texts = ["OCC", "c1ccccc1C", "CCO", "[Na+].[Cl-]"]
    _, descriptors, rows = _finish(parser, chunk(texts))
    first = [Chem.MolFromSmiles(text) for text in (texts[0], texts[1], texts[3])]
    assert descriptors.molwt.tolist() == [round(Descriptors.MolWt(molecule), 6) for molecule in first]
    assert descriptors.rings.tolist() == [0, 1, 0]
    assert descriptors.heavy_atoms.tolist() == [3, 7, 2]
    assert descriptors.words.shape == (3, 1)
    digests = [content_digest(row["smiles"], 0) for row in rows]
    assert descriptors.tie.tolist() == [int.from_bytes(digest[:8], "little") for digest in digests]
    for row, molwt, rings, heavy in zip(
        rows, descriptors.molwt, descriptors.rings, descriptors.heavy_atoms, strict=True
    ):
        assert row["properties"] == {"heavy_atoms": heavy, "molwt": molwt, "rings": rings}  # exactly equal


def test_fingerprints_equal_those_of_rdkit(chunk: Callable[..., Chunk], packed: Any, generators: Any) -> None:
    recipe = resolve()
    _, descriptors, _ = _finish(
        ChunkParser(MoleculeDescriber(recipe, 1000)), chunk(["CCO", "c1ccccc1", "OCC"]), chunk(["CC"]), recipe=recipe
    )
    molecules = [Chem.MolFromSmiles(text) for text in ("CCO", "c1ccccc1", "CC")]
    assert np.array_equal(descriptors.words, packed([generators["morgan"](molecule) for molecule in molecules]))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1", "2", "-3"], [1, 2, -3]),
        (["1", "2.5", "-1e3"], [1.0, 2.5, -1000.0]),
        ([" 7 ", "\t8", "9\n"], [7, 8, 9]),
        (["007", "+7", "-0"], [7, 7, 0]),
        ([".5", "5.", "+.5e-1"], [0.5, 5.0, 0.05]),
        (["1e-400", "1", "1e308"], [0.0, 1.0, 1e308]),
        (["999999999999999", "1", "2"], [999999999999999, 1, 2]),
        (["123456789012345678", "1", "2"], [123456789012345678.0, 1.0, 2.0]),
        (["0.1", "0.30000000000000004", "1e-7"], [0.1, 0.30000000000000004, 1e-7]),
    ],
)
def test_columns_of_numbers_are_numeric(
    parser: ChunkParser, chunk: Callable[..., Chunk], values: list[str], expected: list[float]
) -> None:
    table, _, rows = _finish(parser, chunk(["C", "N", "O"], properties=[{"x": value} for value in values]))
    assert table.properties.types["x"] == "number"
    assert [row["properties"]["x"] for row in rows] == expected
    whole = [value.is_integer() and abs(value) < 1e15 for value in map(float, expected)]
    assert [type(row["properties"]["x"]) is int for row in rows] == whole
    cells = [row["x"] for row in rows]
    assert (
        [cell["text"] for cell in cells] if table.properties.written else pa.array(cells).cast(pa.string()).to_pylist()
    ) == values


@pytest.mark.parametrize(
    "odd",
    [
        "inf",
        "-Infinity",
        "1_000",
        "1e400",
        "-1e400",
        "1,5",
        "0x10",
        "1e",
        ".",
        "٣",
        "x",
        "1 2",
        "true",
        "1d",
        ">",
        "> x",
        ">>5",
        "<1e400",
        "inactive",
        "missing",
    ],
)
def test_one_value_that_is_not_a_finite_number_makes_a_text_column(
    parser: ChunkParser, chunk: Callable[..., Chunk], odd: str
) -> None:
    table, _, rows = _finish(parser, chunk(["C", "N", "O"], properties=[{"x": "1"}, {"x": odd}, {"x": " 2.50"}]))
    assert table.properties.types["x"] == "text"
    assert [row["properties"]["x"] for row in rows] == ["1", odd, " 2.50"]


@pytest.mark.parametrize(
    "marker", ["NA", "n/a", "#N/A", "<NA>", "NaN", "nan", "Null", "none", "ND", "n.d.", "-", "?", "", " ", " N/A\t"]
)
def test_missing_markers_are_no_values(parser: ChunkParser, chunk: Callable[..., Chunk], marker: str) -> None:
    values = [{"x": "1"}, {"x": marker}, {"x": " 2.50"}]
    table, _, rows = _finish(parser, chunk(["C", "N", "O"], properties=values))
    assert [_own(row) for row in rows] == [{"x": 1}, {}, {"x": 2.5}]
    assert [row["x"]["text"] for row in rows] == ["1", marker, " 2.50"]
    assert table.properties.columns == {"x": ColumnValues(numbers=2, missing=1, censored=0, texts=0)}
    assert table.properties.qualifiers == {}


@pytest.mark.parametrize(
    ("value", "number", "sign"),
    [
        (">10000", 10000, ">"),
        ("<0.5", 0.5, "<"),
        (">= 1e3", 1000, ">="),
        ("<=-2.50", -2.5, "<="),
        (" ~ 7 ", 7, "~"),
        ("≥5", 5, ">="),
        ("≤ .5", 0.5, "<="),
        ("> +3", 3, ">"),
    ],
)
def test_censored_numbers_keep_their_sign(
    parser: ChunkParser, chunk: Callable[..., Chunk], value: str, number: float, sign: str
) -> None:
    values = [{"x": "1"}, {"x": value}, {"x_qualifier": "of the source", "x": "2"}]
    table, _, rows = _finish(parser, chunk(["C", "N", "O"], properties=values))
    assert table.properties.types["x"] == "number"
    assert table.properties.columns["x"] == ColumnValues(numbers=2, missing=0, censored=1, texts=0)
    assert table.properties.qualifiers == {"x": "x_qualifier_2"}
    assert [_own(row) for row in rows] == [
        {"x": 1},
        {"x": number, "x_qualifier_2": sign},
        {"x": 2, "x_qualifier": "of the source"},
    ]


def test_text_column_counts_its_numbers(parser: ChunkParser, chunk: Callable[..., Chunk]) -> None:
    values = [{"x": "1"}, {"x": "inactive"}, {"x": "n/a"}, {"x": ">5"}, {"x": "toxic"}]
    table, _, rows = _finish(parser, chunk(["C", "N", "O", "S", "P"], properties=values))
    assert table.properties.types["x"] == "text"
    assert table.properties.columns["x"] == ColumnValues(numbers=1, missing=1, censored=1, texts=2, example="inactive")
    assert [_own(row) for row in rows] == values


def test_column_of_only_missing_markers_is_text(parser: ChunkParser, chunk: Callable[..., Chunk]) -> None:
    table, _, rows = _finish(parser, chunk(["C", "N"], properties=[{"x": "none"}, {"x": "-"}]))
    assert table.properties.types["x"] == "text"
    assert [_own(row) for row in rows] == [{"x": "none"}, {"x": "-"}]


def test_differing_values_of_repeated_items_are_counted_and_listed(
    parser: ChunkParser, chunk: Callable[..., Chunk]
) -> None:
    """Values are compared with the first record. Another text of one number is equal, and a marker is no value."""
    texts = ["CCO", "C", "OCC", "C(O)C", "C", "C", "N"]
    values = [
        {"x": "1.0", "class": "a"},
        {"x": "n/a"},
        {"x": "5.0", "class": "a"},
        {"x": "1", "class": "b"},
        {"x": "-"},
        {"x": ">3"},
        {"x": "7"},
    ]
    table, _, rows = _finish(parser, chunk(texts, properties=values))
    assert [_own(row) for row in rows] == [{"x": 1, "class": "a"}, {}, {"x": 7}]
    assert table.differing.counts == {"class": 1, "x": 2}
    assert [
        (difference.structure, difference.property, difference.kept, difference.value)
        for difference in table.differing.first
    ] == [
        ("CCO", "x", "1.0", "5.0"),
        ("CCO", "class", "a", "b"),
        ("C", "x", "n/a", ">3"),
    ]


def test_first_hundred_differing_values_are_listed(parser: ChunkParser, chunk: Callable[..., Chunk]) -> None:
    values = [{"x": str(number), "y": "a" * 1000 + str(number)} for number in range(150)]
    table, _, _ = _finish(parser, chunk(["C"] * 150, properties=values))
    assert table.differing.counts == {"x": 149, "y": 149}
    assert [difference.value for difference in table.differing.first[:3:2]] == ["1", "2"]
    assert len(table.differing.first) == 100
    assert {len(difference.value) for difference in table.differing.first[1::2]} == {200}


def test_missing_values_do_not_change_the_type(parser: ChunkParser, chunk: Callable[..., Chunk]) -> None:
    table, _, rows = _finish(parser, chunk(["C", "N", "O"], properties=[{"x": "1"}, {}, {"y": "z", "x": "2"}]))
    assert [_own(row) for row in rows] == [{"x": 1}, {}, {"x": 2, "y": "z"}]
    assert table.properties.types == {
        "heavy_atoms": "number",
        "molwt": "number",
        "rings": "number",
        "x": "number",
        "y": "text",
    }


def test_only_stored_records_decide_columns_and_types(parser: ChunkParser, chunk: Callable[..., Chunk]) -> None:
    """Values of duplicates and rejected records are not stored, so they decide no column and no type."""
    properties = [{"x": "1"}, {"x": "many", "y": "lost"}, {"x": "none", "z": "lost"}]
    table, _, rows = _finish(parser, chunk(["C", "C", "nonsense"], properties=properties))
    assert [_own(row) for row in rows] == [{"x": 1}]
    assert table.properties.types.keys() == {"heavy_atoms", "molwt", "rings", "x"}


def test_any_text_round_trips(parser: ChunkParser, chunk: Callable[..., Chunk]) -> None:
    texts = ['"quoted" \\ back', "line\nbreak\ttab\r", "Zürich 東京 🧪", "{'a': [1]}", "\u2028\x1f", "null"]
    keys = ["x", 'a "key"', "ключ", "", "a.b", "line\nkey"]
    properties = [dict.fromkeys(keys, text) for text in texts]
    _, _, rows = _finish(parser, chunk(["C" * n for n in range(1, 7)], names=texts, properties=properties))
    assert [_own(row) for row in rows] == properties
    assert [row["names"] for row in rows] == [[text] for text in texts]


def test_properties_are_columns_sorted_by_name(parser: ChunkParser, chunk: Callable[..., Chunk]) -> None:
    table = ItemTable(OldItems.empty(KIND.computed_columns))
    table.add(parser.parse(chunk(["C"], properties=[{"zeta": "é", "alpha": "1.50", "beta": "2.5"}])))
    _, batches = table.finish(len)
    (row,) = pa.Table.from_batches(batches).drop_columns(ITEM_SCHEMA.names).to_pylist()
    alpha = {"number": 1.5, "text": "1.50"}
    assert row == {"alpha": alpha, "beta": 2.5, "heavy_atoms": 1, "molwt": 16.043, "rings": 0, "zeta": "é"}
    assert list(row) == sorted(row) == sorted(table.properties.types)
    assert table.properties.written == ["alpha"]


def test_source_columns_with_reserved_names_get_a_prefix(parser: ChunkParser, chunk: Callable[..., Chunk]) -> None:
    properties = [{"molwt": "heavy", "rings": "2", "source.molwt": "third"}]
    table, _, (row,) = _finish(parser, chunk(["C"], properties=properties))
    assert row["properties"] == {
        "heavy_atoms": 1,
        "molwt": 16.043,
        "rings": 0,
        "source.molwt": "heavy",
        "source.rings": 2,
        "source.source.molwt": "third",
    }
    assert table.properties.types["source.molwt"] == "text"
    assert table.properties.types["source.rings"] == "number"


def test_inchikeys_are_stored_if_the_recipe_asks(chunk: Callable[..., Chunk]) -> None:
    recipe = resolve(inchikey=True)
    _, _, rows = _finish(ChunkParser(MoleculeDescriber(recipe, 1000)), chunk(["C", "*"]), recipe=recipe)
    assert [row["inchikey"] for row in rows] == ["VNWKTOKETHGBQD-UHFFFAOYSA-N", None]


def test_items_without_names_and_properties_are_stored(parser: ChunkParser, chunk: Callable[..., Chunk]) -> None:
    _, _, rows = _finish(parser, chunk(["C", "N"]))
    assert [(row["names"], _own(row)) for row in rows] == [([], {}), ([], {})]


POOL = ["C", "N", "O", "CC", "OC", "CO", "C(C)", "nonsense", "[Na+].[Cl-]", "[Cl-].[Na+]"]
records = st.lists(
    st.tuples(
        st.sampled_from(POOL),
        st.none() | st.sampled_from(["a", "b", "", "é"]),
        st.dictionaries(st.sampled_from(["x", "y", "rings"]), st.sampled_from(["1", "2.5", "text"]), max_size=2),
    ),
    min_size=1,
    max_size=25,
).filter(lambda rows: any(text != "nonsense" for text, _, _ in rows))


def _expected(records: Sequence[tuple[str, str | None, dict[str, str]]]) -> list[tuple[str, list[str], dict[str, str]]]:
    """Return canonical SMILES, names and first properties, by an ordered dictionary."""
    items: dict[str, tuple[list[str], dict[str, str]]] = {}
    for text, name, properties in records:
        if text == "nonsense":
            continue
        names, _ = items.setdefault(Chem.MolToSmiles(Chem.MolFromSmiles(text)), ([], properties))
        if name is not None and name not in names:
            names.append(name)
    return [(smiles, names, properties) for smiles, (names, properties) in items.items()]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records=records, cuts=st.lists(st.integers(0, 25), max_size=3))
def test_table_equals_the_reference_for_all_chunkings(
    parser: ChunkParser, chunk: Callable[..., Chunk], records: Any, cuts: list[int]
) -> None:
    texts, names, properties = (list(column) for column in zip(*records, strict=True))
    whole = chunk(texts, names, properties)
    bounds = [0, *sorted(min(cut, len(records)) for cut in cuts), len(records)]
    parts = [whole.slice(start, end - start) for start, end in pairwise(bounds)]
    table, descriptors, rows = _finish(parser, whole)
    table_of_parts, descriptors_of_parts, rows_of_parts = _finish(parser, *parts)
    assert rows_of_parts == rows
    assert (table_of_parts.read, table_of_parts.rejected) == (table.read, table.rejected)
    assert table_of_parts.properties.types == table.properties.types
    for name, column in vars(descriptors).items():
        assert np.array_equal(getattr(descriptors_of_parts, name), column)
    assert [(row["smiles"], row["names"]) for row in rows] == [expected[:2] for expected in _expected(records)]
    for row, (_, _, source) in zip(rows, _expected(records), strict=True):
        expected_properties = {"source.rings" if key == "rings" else key: value for key, value in source.items()}
        assert _own(row).keys() == expected_properties.keys()
        for key, value in _own(row).items():
            assert value == (
                expected_properties[key] if table.properties.types[key] == "text" else float(expected_properties[key])
            )


_MANIFEST: dict[str, Any] = {
    "kind": "molecule",
    "structure": "smiles",
    "recipe": {},
    "versions": {},
    "libraries": [],
    "inputs": [],
    "counts": Counts(read=0, kept=0, duplicates=0, rejected=0),
    "edges": 0,
    "dropped": 0,
    "histograms": {},
    "times": {},
}
VALUES = st.sampled_from([None, "1", "2.50", "-3e2", "x", "", "007", ">5", "n/a", "~ 2"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.fixed_dictionaries({"a": VALUES, "b": VALUES, "rings": VALUES}), min_size=1, max_size=6), st.data())
def test_properties_of_parts_combine_to_those_of_the_whole(
    parser: ChunkParser, chunk: Callable[..., Chunk], rows: list[dict[str, str | None]], data: st.DataObject
) -> None:
    """The table of a part is a slice of the whole table, even if none of its items has a property."""
    properties = [{name: value for name, value in row.items() if value is not None} for row in rows]
    items = pa.Table.from_batches(
        [parser.parse(chunk(["C" * n for n in range(1, len(rows) + 1)], properties=properties)).items]
    )
    whole = Properties.from_items(KIND.computed_columns, items)
    cut = data.draw(st.integers(0, len(rows)))
    parts = [items.slice(0, cut), items.slice(cut)]
    combined = Properties.from_items(KIND.computed_columns, parts[0]) & Properties.from_items(
        KIND.computed_columns, parts[1]
    )
    assert combined == whole
    manifest = Provenance(**_MANIFEST, properties=whole.types, written=whole.written, columns=whole.columns)
    assert Properties.from_manifest(KIND.computed_columns, manifest) == whole

    def table(part: pa.Table) -> pa.Table:
        return combined.table(part, pa.array([[]] * len(part), pa.list_(pa.string())))

    assert pa.concat_tables([table(part) for part in parts]).equals(table(items))
