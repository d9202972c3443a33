"""Descriptors equal RDKit's, activities equal logarithms, and neither is confused with a source column."""

import csv
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from rdkit import Chem, RDConfig
from rdkit.Chem import Descriptors

import graphkin
from graphkin.collection.exporting import export
from graphkin.collection.open_collection import OpenCollection
from graphkin.collection.sar import descriptors
from graphkin.collection.sar.descriptors import descriptor_table
from graphkin.library.stored import StoredCollection
from graphkin.protocol.descriptors import DESCRIPTORS, Activity, ActivityName
from graphkin.protocol.errors import Conflict, InvalidInput
from graphkin.protocol.filters import Filter, Sort
from graphkin.protocol.requests import CliffRanking, MapQuery, QueryFields, StructureFields
from graphkin.store import open_store
from graphkin.store.base import Generation

RDKIT: dict[str, Callable[[Chem.Mol], float]] = {
    "descriptor.molecular_weight": Descriptors.MolWt,
    "descriptor.heavy_atoms": Descriptors.HeavyAtomCount,
    "descriptor.rings": Descriptors.RingCount,
    "descriptor.clogp": Descriptors.MolLogP,
    "descriptor.tpsa": Descriptors.TPSA,
    "descriptor.hbd": Descriptors.NumHDonors,
    "descriptor.hba": Descriptors.NumHAcceptors,
    "descriptor.rotatable_bonds": Descriptors.NumRotatableBonds,
    "descriptor.qed": Descriptors.qed,
    "descriptor.fsp3": Descriptors.FractionCSP3,
    "descriptor.formal_charge": Chem.GetFormalCharge,
}
NCI = [
    line.split()[0]
    for line in (Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi").read_text().splitlines()[:120]
    if Chem.MolFromSmiles(line.split()[0])
]
ODD = [
    "[Na+].[Cl-]",
    "[NH3+]CC([O-])=O",
    "[HH]",
    "*c1ccccc1",
    "[Fe+3]",
    "F[C@H](Cl)Br",
    "C1CC2CC1CC2",
    "[2H]O[2H]",
    "CCO",
]

COLUMNS = ["IC50 (nM)", "Ki", "descriptor.qed", "pactivity.nM.Ki", "class"]
ROWS = [
    ["100", "2.5", "-5", "77", "a"],
    ["0.5", "0", "-6", "", "b"],
    ["0", "-3", "", "78", ""],
    ["", "", "-7", "79", "c"],
    [">10000", "1000", "-8", "80", "d"],
]
CONCENTRATIONS = [100, 0.5, None, None, 10000]


def write_table(path: Path, smiles: Sequence[str]) -> Path:
    """Write a table whose columns have the names of computed columns, and values that have no logarithm."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["smiles", *COLUMNS])
        writer.writerows([text, *ROWS[row % len(ROWS)]] for row, text in enumerate(smiles))
    return path


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoredCollection]:
    folder = tmp_path_factory.mktemp("descriptors")
    distinct = [*dict.fromkeys(Chem.CanonSmiles(text) for text in [*ODD, *NCI])]
    table = write_table(folder / "table.csv", distinct)
    with graphkin.ingest(table, store=folder / "store", collection="c", workers=1) as opened:
        assert opened.size == len(distinct)
        assert isinstance(opened, StoredCollection)
        yield opened


@pytest.fixture(scope="module")
def generation(collection: StoredCollection) -> Generation:
    return collection.stored


@pytest.fixture(scope="module")
def opened(generation: Generation) -> OpenCollection:
    return OpenCollection(generation)


@pytest.fixture(scope="module")
def expected(generation: Generation) -> dict[str, list[float]]:
    molecules = [Chem.MolFromSmiles(smiles) for smiles in generation.structures()]
    return {name: [function(molecule) for molecule in molecules] for name, function in RDKIT.items()}


@pytest.mark.parametrize("name", DESCRIPTORS)
def test_descriptors_equal_rdkit(opened: OpenCollection, expected: dict[str, list[float]], name: str) -> None:
    assert opened.descriptors().column(name).tolist() == expected[name]


def test_worker_processes_compute_the_same(
    generation: Generation, expected: dict[str, list[float]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    table = descriptors._compute_table(generation, 1, lambda _: None, 0)
    assert table.rows(np.array([7, 0, 7], np.int32)).T.tolist() == [
        [values[7], values[0], values[7]] for values in expected.values()
    ]


def test_structure_that_is_no_item_gets_descriptors(opened: OpenCollection) -> None:
    query, id, values = opened.structure_descriptors(StructureFields(smiles="OC(=O)c1ccccc1OC(C)=O"))
    molecule = Chem.MolFromSmiles(query.text)
    assert values == {name: function(molecule) for name, function in RDKIT.items()}
    assert id is None
    assert opened.structure_descriptors(StructureFields(smiles="OCC"))[1] == opened.item_id(smiles="CCO")


def test_unreadable_structure_has_no_descriptors(opened: OpenCollection) -> None:
    with pytest.raises(InvalidInput, match="not a molecule"):
        opened.structure_descriptors(StructureFields(smiles="C1CC"))


def test_filter_and_sort_by_a_descriptor(opened: OpenCollection, expected: dict[str, list[float]]) -> None:
    qed, clogp = expected["descriptor.qed"], expected["descriptor.clogp"]
    request = QueryFields(
        filters=[Filter(property="descriptor.qed", min=0.3, max=0.6)], sort=Sort(by="descriptor.clogp", descending=True)
    )
    ids = opened.query(request).ids.tolist()
    selection = [id for id, value in enumerate(qed) if 0.3 <= value <= 0.6]
    assert ids == sorted(selection, key=lambda row: (-clogp[row], row))
    assert 10 < len(ids) < len(qed)


def test_filter_on_neighbors_by_a_descriptor(opened: OpenCollection, expected: dict[str, list[float]]) -> None:
    id = int(opened.generation.graph().degrees().argmax())
    limit = float(np.median(expected["descriptor.tpsa"]))
    neighbors = opened.neighbors(id, filters=[Filter(property="descriptor.tpsa", min=limit)]).ids.tolist()
    everyone = opened.neighbors(id).ids.tolist()
    assert neighbors == [other for other in everyone if expected["descriptor.tpsa"][other] >= limit]


def test_activities_are_negative_logarithms(opened: OpenCollection) -> None:
    values = opened.property_values("pactivity.nM.IC50 (nM)")
    logarithms = [math.nan if value is None else 9 - math.log10(value) for value in CONCENTRATIONS]
    rows = [logarithms[id % len(ROWS)] for id in range(opened.generation.size)]
    np.testing.assert_allclose(values, rows, rtol=1e-15)
    micromolar = opened.property_values("pactivity.uM.IC50 (nM)")
    np.testing.assert_allclose(micromolar, np.array(rows) - 3, rtol=1e-14)


def test_activity_keeps_its_source(opened: OpenCollection) -> None:
    titles = ["IC50 (nM)", "IC50 (nM)_qualifier", "pactivity.nM.IC50 (nM)"]
    table = opened.items_of(np.arange(5, dtype=np.int32), titles)
    assert table["IC50 (nM)"].to_pylist() == [100, 0.5, 0, None, 10000]
    assert table["IC50 (nM)_qualifier"].to_pylist() == [None, None, None, None, ">"]
    assert table["pactivity.nM.IC50 (nM)"].to_pylist() == [7, pytest.approx(9.30103), None, None, 5]


def test_source_column_with_the_name_of_a_computed_one_gets_a_prefix(
    opened: OpenCollection, expected: dict[str, list[float]]
) -> None:
    titles = ["property.descriptor.qed", "descriptor.qed", "property.pactivity.nM.Ki", "pactivity.nM.Ki"]
    row = opened.items_of(np.array([0], np.int32), titles).to_pylist()[0]
    qed = expected["descriptor.qed"][0]
    assert row == dict(zip(titles, [-5, qed, 77, pytest.approx(9 - math.log10(2.5))], strict=True))
    assert opened.items().column_names == [
        *("id", "smiles", "names", "IC50 (nM)", "IC50 (nM)_qualifier", "Ki", "class"),
        *("property.descriptor.qed", "heavy_atoms", "molwt", "property.pactivity.nM.Ki", "rings"),
    ]
    source = QueryFields(filters=[Filter(property="property.descriptor.qed", max=-5)])
    assert {id % len(ROWS) for id in opened.query(source).ids.tolist()} == {0, 1, 3, 4}
    computed = QueryFields(filters=[Filter(property="descriptor.qed", max=-5)])
    assert opened.query(computed).ids.tolist() == []


@pytest.mark.parametrize("format", ["csv", "parquet", "sdf", "arrow"])
def test_export_has_computed_columns_only_if_they_are_named(opened: OpenCollection, format: str) -> None:
    named = b"".join(export(opened.generation, "items", format, columns=["id", "descriptor.tpsa", "pactivity.nM.Ki"]))
    assert b"descriptor.tpsa" in named
    assert b"pactivity.nM.Ki" in named
    assert b"descriptor.tpsa" not in b"".join(export(opened.generation, "items", format))


def test_cliffs_and_the_map_take_descriptors(opened: OpenCollection, expected: dict[str, list[float]]) -> None:
    cliffs = opened.cliffs(CliffRanking(property="descriptor.clogp", min_similarity=0.4), 5)
    clogp = expected["descriptor.clogp"]
    differences = [abs(clogp[a] - clogp[b]) for a, b in zip(cliffs.a, cliffs.b, strict=True)]
    assert cliffs.difference.tolist() == differences
    assert len(differences) == 5
    rows = opened.map(MapQuery(property="descriptor.clogp")).rows(slice(0, opened.generation.size))
    assert rows["value"].to_pylist() == clogp


@pytest.mark.parametrize(
    "name", ["descriptor.qd", "descriptor.", "pactivity.nM.class", "pactivity.kM.Ki", "pactivity.nM."]
)
def test_unknown_computed_column_is_refused_with_the_known_ones(opened: OpenCollection, name: str) -> None:
    for ask in (
        lambda: opened.query(QueryFields(filters=[Filter(property=name, min=0)])),
        lambda: opened.query(QueryFields(sort=Sort(by=name))),
        lambda: opened.items(["id", name]),
        lambda: opened.property_values(name),
    ):
        with pytest.raises(InvalidInput) as error:
            ask()
        assert error.value.given == name
        assert "descriptor.qed, descriptor.fsp3, descriptor.formal_charge, pactivity.nM.IC50 (nM)" in str(
            error.value.expected
        )


def test_graphs_have_no_descriptors() -> None:
    with graphkin.ingest([nx.path_graph(2), nx.path_graph(3)], kind="graphs", workers=1) as graphs:
        with pytest.raises(Conflict, match="no molecular descriptors"):
            graphs.descriptors()
        with pytest.raises(InvalidInput, match="no column of this name"):
            graphs.items(columns=["descriptor.qed"])
        with pytest.raises(InvalidInput, match="no property of this name"):
            graphs.query(filters=[{"property": "descriptor.qed", "min": 0}])


@pytest.mark.parametrize(
    ("source", "unit"),
    [
        ("IC50 (nM)", "nM"),
        ("exp_mean [nM]", "nM"),
        ("Ki_uM", "uM"),
        ("EC50 µM", "uM"),
        ("IC50 [μM]", "uM"),
        ("pM", "pM"),
        ("Kd mM", "mM"),
        ("IC50", None),
        ("M", None),
        ("columnMass", None),
        ("nMol", None),
        ("unM", None),
    ],
)
def test_unit_is_read_from_the_name_of_a_column(source: str, unit: str | None) -> None:
    name = ActivityName.from_source(source)
    assert (None if name is None else name.unit) == unit
    assert name is None or ActivityName.from_text(name.text) == name


class Interrupted(Exception):
    """Ctrl-C in the middle of a computation."""


def test_interrupted_computation_continues_and_an_append_computes_new_blocks_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphkin.ingest(NCI[:25], store=tmp_path / "store", collection="c", workers=1).close()
    with graphkin.open(tmp_path / "store") as collections, collections["c"] as before:
        first = before.generation
        before.append(NCI[25:40], workers=1)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(descriptors, "BLOCK", 10)
    monkeypatch.setattr(descriptors, "_CHUNK", 4)

    def interrupt(molecules: int) -> None:
        steps.append(molecules)
        if sum(steps) > 10:
            raise Interrupted

    with open_store(tmp_path / "store") as store, store.open("c", first) as generation, store.open("c") as grown:
        steps: list[int] = []
        with pytest.raises(Interrupted):
            descriptor_table(generation, 1, interrupt)
        steps = []
        table = descriptor_table(generation, 1, steps.append)
        assert steps == [10, 4, 4, 2, 4, 1]  # the first block is cached
        assert descriptor_table(generation, 1, steps.append) is table

        steps = []
        appended = descriptor_table(grown, 1, steps.append)
        assert steps == [10, 10, 4, 4, 2, 4, 4, 2]  # two blocks are cached
        rebuilt = [[function(Chem.MolFromSmiles(each)) for function in RDKIT.values()] for each in grown.structures()]
        assert appended.rows(np.arange(grown.size, dtype=np.int32)).tolist() == rebuilt


def test_descriptors_without_a_usable_cache(
    generation: Generation, expected: dict[str, list[float]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").write_text("a file where the folder of the cache should be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    table = descriptors._compute_table(generation, 1, lambda _: None, generation.size)
    assert table.column("descriptor.qed").tolist() == expected["descriptor.qed"]


@pytest.mark.parametrize(
    ("source", "label"),
    [
        ("Ki nM", "pKi"),
        ("IC50 (nM)", "pIC50"),
        ("hERG IC50 [uM]", "hERG pIC50"),
        ("EC50_nM", "pEC50"),
        ("exp_mean [nM]", "−log₁₀(exp_mean [nM])"),
    ],
)
def test_activity_is_labeled_with_the_quantity_of_its_source(source: str, label: str) -> None:
    name = ActivityName.from_source(source)
    assert name is not None
    assert Activity.from_name(name).label == label
