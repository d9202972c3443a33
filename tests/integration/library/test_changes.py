"""Collections are changed, described, written to files and deleted as by the commands."""

import json
import pickle
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from rdkit import Chem

import graphkin
from graphkin.cli import graphkin as command
from graphkin.library import Collection, Collections
from graphkin.protocol.errors import Conflict, Deleted, InvalidInput, NotFound

Serve = Callable[..., AbstractContextManager[str]]

SMILES = ["CCO", "CCN", "CCCO", "no molecule", "c1ccccc1", "OCC", "c1ccccc1O", "CCCN"]
NAMES = ["ethanol", "amine", "7", "nothing", "benzene", "alcohol", "phenol", "propylamine"]
KEPT = ["CCO", "CCN", "CCCO", "c1ccccc1", "Oc1ccccc1", "CCCN"]
OPTIONS: dict[str, Any] = {"threshold": 0.1, "max_rejected": 0.5, "workers": 1}


def write(path: Path, smiles: list[str], names: list[str]) -> Path:
    path.write_text("".join(f"{one} {other}\n" for one, other in zip(smiles, names, strict=True)))
    return path


def run(*arguments: object) -> str:
    """Return what a command prints."""
    outcome = CliRunner().invoke(command, [str(argument) for argument in arguments])
    assert outcome.exit_code == 0, outcome.output
    return outcome.stdout


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store that no test changes."""
    folder = tmp_path_factory.mktemp("changes")
    file = write(folder / "molecules.smi", SMILES, NAMES)
    graphkin.ingest(file, store=folder / "store", collection="c", **OPTIONS)
    return folder / "store"


@pytest.fixture
def store(shared_store: Path, tmp_path: Path) -> Path:
    """Return a store that the test may change."""
    return Path(shutil.copytree(shared_store, tmp_path / "store"))


@pytest.fixture(scope="module", params=["folder", "http"])
def collections(request: pytest.FixtureRequest, shared_store: Path, serve: Serve) -> Iterator[Collections]:
    if request.param == "folder":
        with graphkin.open(shared_store) as opened:
            yield opened
    else:
        with serve(shared_store) as url, graphkin.connect(url) as opened:
            yield opened


def smiles_of(collection: Collection) -> list[str]:
    return [Chem.CanonSmiles(smiles) for smiles in collection.items()["smiles"].to_pylist()]


def ingest_rest(tmp_path: Path, removed: set[str]) -> str:
    """Return the id of the generation that an ingest of the other molecules publishes."""
    rest = [number for number, smiles in enumerate(SMILES) if number == 3 or Chem.CanonSmiles(smiles) not in removed]
    file = write(tmp_path / "rest.smi", [SMILES[number] for number in rest], [NAMES[number] for number in rest])
    return str(graphkin.ingest(file, store=tmp_path / "rest", collection="c", **OPTIONS).generation)


@pytest.mark.parametrize(
    ("arguments", "removed"),
    [
        ({"names": ["ethanol", "7"]}, {"CCO", "CCCO"}),
        ({"names": "benzene"}, {"c1ccccc1"}),
        ({"names": pd.Series([7, 8], index=["x", "y"])[:1]}, {"CCCO"}),
        ({"names": pd.Series(["phenol", None, np.nan], index=[5, 5, 9])}, {"Oc1ccccc1"}),
        ({"smiles": ["OCC", "C1=CC=CC=C1"]}, {"CCO", "c1ccccc1"}),
        ({"ids": [5, 0, 0]}, {"CCCN", "CCO"}),
        ({"ids": np.array([1], np.uint16)}, {"CCN"}),
        ({"ids": 4}, {"Oc1ccccc1"}),
    ],
    ids=lambda value: "-".join(sorted(value)),
)
def test_remove_equals_an_ingest_of_the_rest(
    store: Path, tmp_path: Path, arguments: dict[str, Any], removed: set[str]
) -> None:
    collection = graphkin.open(store)["c"]
    before, older = collection.generation, graphkin.open(store)["c"]

    assert collection.remove(**arguments) is collection

    assert smiles_of(collection) == [smiles for smiles in KEPT if smiles not in removed]
    assert collection.size == len(KEPT) - len(removed)
    assert collection.generation == ingest_rest(tmp_path, removed)
    assert graphkin.open(store)["c"].generation == collection.generation
    assert (older.generation, smiles_of(older)) == (before, KEPT)
    (record,) = collection.manifest.removed
    assert record.items == len(removed)


def test_remove_warns_of_what_matches_no_item(store: Path) -> None:
    collection = graphkin.open(store)["c"]
    expected = r"2 of 3 names match no item \(nobody: no item has this name; AMINE: no item has this name\)"
    with pytest.warns(UserWarning, match=expected) as caught:
        collection.remove(names=["nobody", "amine", "AMINE"])
    assert Path(caught[0].filename) == Path(__file__)
    generation = collection.generation
    with pytest.warns(UserWarning, match="5 of 5 smiles match no item .*C1CC: .*; and 2 more"):
        collection.remove(smiles=["C1CC", "CCCCC", "CCN", "[U]", "CF"])
    collection.remove(names=[])
    collection.remove(ids=[])
    assert (collection.generation, collection.size) == (generation, 5)


def test_remove_refuses_wrong_arguments(store: Path) -> None:
    collection = graphkin.open(store)["c"]
    with pytest.raises(InvalidInput, match=r"given: none of them\n.*one of ids, names, smiles"):
        collection.remove()
    with pytest.raises(InvalidInput, match="given: ids, smiles"):
        collection.remove(ids=[0], smiles=["CCO"])
    with pytest.raises(NotFound, match="there is no item 6"):
        collection.remove(ids=[0, 6])
    with pytest.raises(InvalidInput, match=r"numpy\.flatnonzero"):
        collection.remove(ids=np.arange(6) < 2)
    with pytest.raises(InvalidInput, match="no item would be left"):
        collection.remove(ids=range(6))
    other = graphkin.open(store)["c"]
    collection.remove(ids=[0])
    with pytest.raises(Conflict, match="open the collection again"):
        other.remove(ids=[0])
    other.remove(names=["amine"])
    assert smiles_of(other) == KEPT[2:]


def test_changed_collection_answers_from_its_new_generation(store: Path) -> None:
    collection = graphkin.open(store)["c"]
    assert len(collection.neighbors(name="benzene")) == 1
    collection.remove(names=["phenol"])
    assert len(collection.neighbors(name="benzene")) == 0
    assert collection.search("c1ccccc1O", limit=1)["names"].to_pylist() == [["benzene"]]
    assert pickle.loads(pickle.dumps(collection)).size == collection.size == 5


def test_compact_merges_fragments(store: Path, tmp_path: Path) -> None:
    run("append", write(tmp_path / "more.smi", ["CCCCO"], ["butanol"]), "--store", store, "--collection", "c")
    collection = graphkin.open(store)["c"]
    generation, items = collection.generation, collection.items().to_pylist()
    assert len(collection.manifest.fragments) == 2
    assert collection.compact() is collection
    assert len(collection.manifest.fragments) == 1
    assert (collection.generation, collection.items().to_pylist()) == (generation, items)


def test_info_equals_the_command(collections: Collections, shared_store: Path) -> None:
    facts = collections["c"].info()
    place = ("--store", shared_store, "--collection", "c")
    assert facts.to_dict() == json.loads(run("info", *place, "--json"))
    assert f"{facts}\n" == run("info", *place)
    assert facts.manifest.counts.rejected == 1
    assert [*facts.generations] == [facts.current]
    html = facts._repr_html_()
    assert html.count("<li>") == len(str(facts).splitlines()) - 1
    assert "8 records read, 6 kept, 1 duplicates, 1 rejected" in html


def test_info_shows_damage(store: Path) -> None:
    collection = graphkin.open(store)["c"]
    (file,) = store.rglob("rejections.arrow")
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    damage = graphkin.open(store)["c"].info().damage
    assert damage is not None
    assert "rejections.arrow" in damage.file
    assert "DAMAGED" in repr(collection.info())


def test_rejections_are_a_table(collections: Collections, shared_store: Path) -> None:
    (row,) = collections["c"].rejections()
    assert row["source"] == str(shared_store.with_name("molecules.smi"))
    assert (row["line"], row["input"]) == (4, "no")
    assert row["reason"]
    assert collections["c"].rejections().columns == ["source", "line", "input", "reason"]


@pytest.mark.parametrize(
    ("name", "arguments", "options"),
    [
        ("items.csv", {}, "items"),
        ("two.parquet", {"columns": ["id", "smiles"], "start": 1, "stop": 4}, "items --column id --column smiles"),
        ("m.sdf", {}, "items"),
        ("items.arrow", {}, "items"),
        ("edges.csv", {"content": "edges", "min_similarity": 0.3}, "edges --min-similarity 0.3"),
        ("m.graphml", {}, "edges"),
        ("m.fps", {}, "fingerprints"),
        ("m.npy", {"start": 2}, "fingerprints"),
        ("table.txt", {"format": "csv"}, "items --format csv"),
    ],
)
def test_export_equals_the_command(
    collections: Collections, shared_store: Path, tmp_path: Path, name: str, arguments: dict[str, Any], options: str
) -> None:
    content, *rest = options.split()
    if "--format" not in rest:
        rest += ["--format", name.rpartition(".")[2]]
    for bound in ("start", "stop"):
        rest += [f"--{bound}", str(arguments[bound])] if bound in arguments else []
    run("export", content, "--store", shared_store, "--collection", "c", "--output", tmp_path / "expected", *rest)
    collections["c"].export(tmp_path / name, **arguments)
    assert (tmp_path / name).read_bytes() == (tmp_path / "expected").read_bytes()


def test_export_refuses_what_it_cannot_write(collections: Collections, tmp_path: Path) -> None:
    collection = collections["c"]
    with pytest.raises(InvalidInput, match=r"given: xlsx\n.*one of csv, parquet, arrow, sdf, graphml, fps, npy"):
        collection.export(tmp_path / "items.xlsx")
    with pytest.raises(InvalidInput, match=r"edges cannot be exported in this format"):
        collection.export(tmp_path / "m.sdf", content="edges")
    with pytest.raises(Conflict, match="not nodes"):
        collection.export(tmp_path / "links.csv", content="links")
    with pytest.raises(InvalidInput, match="cannot write the file"):
        collection.export(tmp_path / "missing" / "items.csv")
    assert not [*tmp_path.glob("*.csv"), *tmp_path.glob("*.xlsx"), *tmp_path.glob(".*")]


def test_delete_removes_generations_and_collections(store: Path) -> None:
    with graphkin.open(store) as collections:
        collection = collections["c"]
        first = collection.generation
        second = collection.remove(ids=[0]).generation
        with pytest.raises(NotFound, match=f"one of {first}, {second}"):
            collections.delete("c", "ffff")
        collections.delete("c", second[:12])
        assert (collections["c"].generation, collections["c"].info().generations) == (first, (first,))
        with pytest.raises(Deleted):
            collections.delete("c", second)
        collections["c"].remove(ids=[1])
        collections.delete("c")
        assert [*collections] == []
        with pytest.raises(NotFound, match="no collection"):
            collections.delete("c")


def test_collection_on_a_server_is_not_changed(store: Path, serve: Serve) -> None:
    with serve(store) as url, graphkin.connect(url) as collections:
        collection = collections["c"]
        calls: list[Callable[[], object]] = [
            lambda: collection.remove(ids=[0]),
            lambda: collection.remove(names=["amine"]),
            collection.compact,
            lambda: collections.delete("c"),
        ]
        for call in calls:
            with pytest.raises(Conflict, match=r"on a server cannot be changed\n.*\n.*\n.*graphkin.open"):
                call()
        assert smiles_of(collection) == KEPT
