"""The ingest pipeline from file to generation, compared with RDKit."""

import csv
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from rdkit import Chem, rdBase

from graphkin.ingest.pipeline import IngestOptions, ingest
from graphkin.ingest.readers import ReadOptions
from graphkin.protocol.errors import InvalidInput, NotFound
from graphkin.similarity.molecules.recipe import resolve
from graphkin.similarity.verify import verify
from graphkin.store import open_store
from graphkin.store.base import Generation, Store

QUICK = IngestOptions(workers=1)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "store", create=True) as store:
        yield store


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    """Return write(*lines, name="m.smi"), which writes a file and returns its path."""

    def write(*lines: str, name: str = "m.smi") -> str:
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
        return str(tmp_path / name)

    return write


@pytest.fixture
def nci(write: Callable[..., str], nci_file: Path) -> str:
    """Return a file of 500 records, some of them rejected or duplicate."""
    return write(*nci_file.read_text().splitlines()[:500])


def _edges(generation: Generation) -> dict[tuple[int, int], np.float32]:
    return {
        (a, b): s
        for block in generation.edges()
        for a, b, s in zip(block.source.tolist(), block.target.tolist(), block.similarity, strict=True)
    }


@pytest.mark.parametrize("threshold", [0.3, 0.7])
def test_edges_equal_rdkit(
    store: Store, nci: str, nci_smiles: list[str], generators: Any, similarities: Any, threshold: float
) -> None:
    manifest = ingest(store, "c", [nci], resolve(threshold=threshold, top_k=0), IngestOptions(workers=2))
    with rdBase.BlockLogs():
        parsed = [molecule for text in nci_smiles[:500] if (molecule := Chem.MolFromSmiles(text))]
    distinct: dict[str, Chem.Mol] = {}
    for molecule in parsed:
        distinct.setdefault(Chem.MolToSmiles(molecule), molecule)
    exact = similarities([generators["morgan"](molecule) for molecule in distinct.values()])
    expected = {(int(a), int(b)): np.float32(exact[a, b]) for a, b in np.argwhere(np.triu(exact, 1) >= threshold)}
    with store.open("c") as generation:
        assert [item["smiles"] for item in generation.items(range(generation.size))] == list(distinct)
        assert _edges(generation) == expected
        assert verify(generation, 10**6) == []
        forest = generation.forest()
    graph = nx.Graph(expected.keys())
    assert len(forest) == graph.number_of_nodes() - nx.number_connected_components(graph)
    counts = manifest.counts
    assert (counts.read, counts.kept, counts.rejected) == (500, len(distinct), 500 - len(parsed))
    assert counts.duplicates == len(parsed) - len(distinct)
    assert (manifest.edges, manifest.dropped) == (len(expected), 0)


@pytest.mark.parametrize("preset", ["default", "paper", "rc"])
def test_generation_does_not_depend_on_workers_or_repetition(store: Store, nci: str, preset: str) -> None:
    recipe = resolve(preset, top_k=3)
    first = ingest(store, "c", [nci], recipe, IngestOptions(workers=1))
    other = ingest(store, "d", [nci], recipe, IngestOptions(workers=2))
    again = ingest(store, "c", [nci], recipe, QUICK)
    assert first.generation == other.generation
    assert again.generation == first.generation
    assert store.manifest("c") == first
    assert store.collection("c").generations == (first.generation,)
    with store.open("c") as one, store.open("d") as two:
        assert _edges(one) == _edges(two)
        assert one.items(range(one.size)) == two.items(range(two.size))
    assert first.dropped == other.dropped
    assert first.dropped


def test_truncated_pairs_are_counted(store: Store, nci: str) -> None:
    whole = ingest(store, "whole", [nci], resolve(threshold=0.3, top_k=0), QUICK)
    capped = ingest(store, "capped", [nci], resolve(threshold=0.3, top_k=5), QUICK)
    assert capped.dropped == whole.edges - capped.edges > 0
    with store.open("whole") as one, store.open("capped") as two:
        assert _edges(two).items() <= _edges(one).items()
        everyone = range(two.size)
        for before, after in zip(one.items(everyone), two.items(everyone), strict=True):
            assert after["dropped"] == before["degree"] - after["degree"]
            assert after["degree"] >= min(5, before["degree"])
        for threshold in (0.35, 0.5, 0.7):
            ingest(store, "higher", [nci], resolve(threshold=threshold, top_k=5), QUICK)
            with store.open("higher") as higher:
                assert {pair for pair, s in _edges(two).items() if s >= np.float32(threshold)} == set(_edges(higher))


def test_manifest_records_the_ingest(store: Store, nci: str) -> None:
    recipe = resolve(threshold=0.3)
    manifest = ingest(store, "c", [nci], recipe, QUICK)
    data = Path(nci).read_bytes()
    assert [source.model_dump() for source in manifest.inputs] == [
        {"name": nci, "bytes": len(data), "sha256": sha256(data).hexdigest()}
    ]
    assert manifest.recipe == recipe.model_dump(mode="json")
    assert manifest.versions["rdkit"] == rdBase.rdkitVersion
    assert manifest.properties == {"heavy_atoms": "number", "molwt": "number", "rings": "number"}
    assert list(manifest.times) == ["compile", "parse", "items", "index", "join", "cap", "write"]
    with store.open("c") as generation:
        degrees = np.diff(generation.graph().indptr)
        similarity = generation.graph().similarity
    degree, similar = manifest.histograms["degree"], manifest.histograms["similarity"]
    assert (sum(degree.counts), sum(similar.counts)) == (len(degrees), len(similarity) // 2)
    for low, high, count in zip(degree.edges, degree.edges[1:], degree.counts, strict=False):
        assert count == np.count_nonzero((degrees >= low) & (degrees < high))
    assert (similar.edges[0], similar.edges[-1]) == (float(np.float32(0.3)), 1.0)


@pytest.mark.parametrize("threshold", [0.01, 1.0])
def test_extreme_thresholds_are_ingested(store: Store, write: Callable[..., str], threshold: float) -> None:
    manifest = ingest(store, "c", [write("CCO", "CCCO", "c1ccccc1", "[U]")], resolve(threshold=threshold), QUICK)
    assert manifest.counts.kept == 4
    assert sum(manifest.histograms["similarity"].counts) == manifest.edges


def test_single_molecule_is_a_generation(store: Store, write: Callable[..., str]) -> None:
    manifest = ingest(store, "c", [write("C methane")], resolve(), QUICK)
    assert (manifest.counts.kept, manifest.edges, manifest.dropped) == (1, 0, 0)
    with store.open("c") as generation:
        assert generation.items([0])[0]["names"] == ["methane"]
        assert verify(generation, 10) == []


def test_several_files_are_one_collection_in_order(store: Store, write: Callable[..., str]) -> None:
    smi = write("OCC first", "N", "nonsense", "N")
    table = write("id,smiles,logP", "a,CCO,1.5", "b,C,x", name="t.csv")
    manifest = ingest(store, "c", [smi, table], resolve(), IngestOptions(workers=2, max_rejected=0.5))
    assert manifest.counts.model_dump() == {"read": 6, "kept": 3, "duplicates": 2, "rejected": 1}
    assert [source.name for source in manifest.inputs] == [smi, table]
    with store.open("c") as generation:
        assert [(item["smiles"], item["names"]) for item in generation.items(range(3))] == [
            ("CCO", ["first", "a"]),
            ("N", []),
            ("C", ["b"]),
        ]
        (rejection,) = [row for batch in generation.rejections() for row in batch.to_pylist()]
    assert (rejection["source"], rejection["line"], rejection["input"]) == (smi, 3, "nonsense")


def test_too_many_rejections_fail_and_are_written_to_a_file(
    store: Store, write: Callable[..., str], tmp_path: Path
) -> None:
    file, rejections_path = write("C", "N", 'bad,"one"', "", "O"), tmp_path / "left.csv"
    options = IngestOptions(workers=1, max_rejected=0.3, rejections_file=rejections_path)
    with pytest.raises(InvalidInput, match=r"2 of 5 records \(40\.0%\)") as error:
        ingest(store, "c", [file], resolve(), options)
    assert str(rejections_path) in str(error.value.hint)
    assert f"{file}:3" in str(error.value.given)
    assert store.collections() == []
    with rejections_path.open(newline="", encoding="utf-8") as text:
        rows = list(csv.DictReader(text))
    assert [(row["source"], row["line"], row["input"]) for row in rows] == [(file, "3", 'bad,"one"'), (file, "4", "")]
    assert ingest(store, "c", [file], resolve(), IngestOptions(workers=1, max_rejected=0.4)).counts.kept == 3


def test_ingest_without_valid_records_publishes_nothing(store: Store, write: Callable[..., str]) -> None:
    with pytest.raises(InvalidInput, match="2 of 2 records"):
        ingest(store, "c", [write("bad", "worse")], resolve(), IngestOptions(workers=1, max_rejected=1))
    with pytest.raises(NotFound):
        store.open("c")


def test_empty_input_is_refused(store: Store, write: Callable[..., str]) -> None:
    with pytest.raises(InvalidInput, match="no record"):
        ingest(store, "c", [write("smiles", name="t.csv")], resolve(), QUICK)
    assert store.collections() == []


def test_missing_file_is_reported_before_the_ingest(store: Store, nci: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot open"):
        ingest(store, "c", [nci, str(tmp_path / "missing.smi")], resolve(), QUICK)
    assert store.collections() == []


def test_reader_options_and_atom_limit_apply(store: Store, write: Callable[..., str]) -> None:
    file = write("structure,label", "CCO,ethanol", "CCCCCC,hexane", name="t.dat")
    read = ReadOptions(format="csv", structure_column="structure", name_column="label")
    options = IngestOptions(read=read, max_size=5, max_rejected=0.5, workers=1)
    assert ingest(store, "c", [file], resolve(), options).counts.rejected == 1
    with store.open("c") as generation:
        assert generation.items([0])[0]["names"] == ["ethanol"]


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_progress_reaches_its_totals(store: Store, nci: str, recorder: Any, preset: str) -> None:
    progress = recorder()
    manifest = ingest(store, "c", [nci], resolve(preset), QUICK, progress)
    size = Path(nci).stat().st_size
    stages = {name: (total, unit, done) for name, total, unit, done in progress.stages}
    assert stages["parse"] == (size, "B", size)
    assert stages["join"] == (manifest.counts.kept, "molecules", manifest.counts.kept)
