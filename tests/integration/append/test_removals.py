"""A collection that items are removed from is, byte for byte, what one ingest of the files without them makes."""

import gzip
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from rdkit import Chem, rdBase

from graphkin.ingest.append import append
from graphkin.ingest.pipeline import ingest
from graphkin.ingest.remove import RemovalResult, remove
from graphkin.protocol.errors import Conflict, InvalidInput, NotFound
from graphkin.protocol.values import ListedBy
from graphkin.similarity.graphs.recipe import resolve_graphs
from graphkin.similarity.molecules.recipe import resolve
from graphkin.similarity.recipe import Recipe
from graphkin.similarity.verify import verify
from graphkin.store import open_store
from graphkin.store.base import Generation, Store
from tests.integration.append.conftest import OPTIONS, content, grow, written
from tests.integration.append.test_exact import (
    MEMORY,
    MOLECULES,
    NAMES,
    THRESHOLDS,
    TOP_K,
    as_csv,
    as_json,
    graph,
    molecules,
)

pytestmark = pytest.mark.usefixtures("parsed_here")

_AS_READ = ("inputs", "counts", "removed", "differing")
"""What tells of the files that were read, which are others."""
_REJECTED = "rejections.arrow"

BY_SMILES = [*MOLECULES, "OCC", "C(C)N", "C" * 12]
BY_NAME = [*filter(None, NAMES), "nobody"]


def molecule(smiles: str) -> str | None:
    """Which one it is, by RDKit alone."""
    with rdBase.BlockLogs():
        read = Chem.MolFromSmiles(smiles)
    return None if read is None else Chem.MolToSmiles(read)


def without(parts: Sequence[Any], by: ListedBy, listed: Sequence[str]) -> list[Any]:
    """The rows, part by part, of the molecules that are not listed, and those of none."""
    rows = [row for _, rows in parts for row in rows]
    if by == "name":
        gone = {molecule(smiles) for smiles, name, _ in rows if name in listed}
    else:
        gone = {molecule(smiles) for smiles in listed}
    return [(columns, [row for row in rows if molecule(row[0]) not in gone - {None}]) for columns, rows in parts]


def told(generation: Generation) -> dict[str, Any]:
    """All that a generation says but of the files that were read."""
    every = content(generation)
    kept = {key: value for key, value in every["manifest"].items() if key not in _AS_READ}
    counts = {key: every["manifest"]["counts"][key] for key in ("kept", "rejected")}
    rejections = [(row["input"], row["reason"]) for row in every["rejections"]]
    return {**every, "manifest": kept, "counts": counts, "rejections": rejections}


def files_of(store: Store, collection: str) -> dict[str, str]:
    (fragment,) = store.manifest(collection).fragments
    return {name: digest for name, digest in fragment.files.items() if name != _REJECTED}


def assert_like(store: Store, collection: str, expected: str) -> None:
    """Collections say the same, in the same files."""
    with store.open(collection) as one, store.open(expected) as other:
        wanted = told(other)
        for what, found in told(one).items():
            assert found == wanted[what], what
        assert one.id == other.id
        assert one.check() == []
        counts, removed = one.manifest.counts, one.manifest.removed
    assert counts.read == counts.kept + counts.duplicates + counts.rejected + sum(each.items for each in removed)
    assert files_of(store, collection) == files_of(store, expected)


def assert_removed(
    parts: Sequence[Sequence[str]], left: Sequence[Sequence[str]], ending: str, recipe: Recipe, by: ListedBy,
    listed: Sequence[str], grown: bool,
) -> None:  # fmt: skip
    with TemporaryDirectory(dir=MEMORY) as folder, open_store(Path(folder) / "store", create=True) as store:
        files = written(Path(folder), parts, ending)
        brought = files  # what an append of a file that brings nothing rejects is kept nowhere
        if grown:
            brought = grow(store, "c", files, recipe)
        else:
            ingest(store, "c", files, recipe, OPTIONS)
        left = [part for file, part in zip(files, left, strict=True) if part and file in brought]
        before = store.manifest("c")
        (Path(folder) / "list").write_text("".join(f"{line}\n" for line in listed))
        nothing = not left
        if not nothing:
            try:
                ingest(store, "without", written(Path(folder) / "left", left, ending), recipe, OPTIONS)
            except InvalidInput:  # none of the records that are left is an item
                nothing = True
        if nothing:
            event("nothing is left")
            with pytest.raises(InvalidInput, match="no item would be left"):
                remove(store, "c", str(Path(folder) / "list"), by)
            assert store.manifest("c") == before
            return
        removed = remove(store, "c", str(Path(folder) / "list"), by)
        event(f"{min(removed.items, 3)} or more go")
        if not removed.items:
            assert removed.manifest == store.manifest("c") == before
            assert removed.missing.num_rows == len(listed)
            return
        assert_like(store, "c", "without")


def assert_molecules_removed(
    parts: list[Any], top_k: int, threshold: float, listing: tuple[ListedBy, list[str]], grown: bool
) -> None:
    by, listed = listing
    lines = [as_csv(*part) for part in parts]
    left = [as_csv(*part) if part[1] else [] for part in without(parts, by, listed)]
    assert_removed(lines, left, "csv", resolve(threshold=threshold, top_k=top_k), by, listed, grown)


def assert_graphs_removed(parts: list[Any], top_k: int, threshold: float, listed: list[str], grown: bool) -> None:
    rest = [[row for row in part if row[1] not in listed] for part in parts]
    lines, left = ([[as_json(*row) for row in part] for part in each] for each in (parts, rest))
    assert_removed(lines, left, "jsonl", resolve_graphs(threshold=threshold, top_k=top_k), "name", listed, grown)


some = settings(max_examples=10)
many = settings(max_examples=300)
names = st.lists(st.sampled_from(BY_NAME), min_size=1, max_size=3, unique=True)
lists = st.one_of(
    st.tuples(st.just("smiles"), st.lists(st.sampled_from(BY_SMILES), min_size=1, max_size=20, unique=True)),
    st.tuples(st.just("name"), names),
)
of_molecules = given(st.lists(molecules, min_size=1, max_size=3), TOP_K, THRESHOLDS, lists, st.booleans())
of_graphs = given(
    st.lists(st.lists(graph, min_size=1, max_size=15), min_size=1, max_size=3), TOP_K, THRESHOLDS, names, st.booleans()
)


@some
@of_molecules
def test_molecules(parts: list[Any], top_k: int, threshold: float, listed: Any, grown: bool) -> None:
    assert_molecules_removed(parts, top_k, threshold, listed, grown)


@some
@of_graphs
def test_graphs(parts: list[Any], top_k: int, threshold: float, listed: list[str], grown: bool) -> None:
    assert_graphs_removed(parts, top_k, threshold, listed, grown)


@pytest.mark.long
@many
@of_molecules
def test_many_more_molecules(parts: list[Any], top_k: int, threshold: float, listed: Any, grown: bool) -> None:
    assert_molecules_removed(parts, top_k, threshold, listed, grown)


@pytest.mark.long
@many
@of_graphs
def test_many_more_graphs(parts: list[Any], top_k: int, threshold: float, listed: list[str], grown: bool) -> None:
    assert_graphs_removed(parts, top_k, threshold, listed, grown)


RECIPE = resolve(threshold=0.3, top_k=4)


@pytest.fixture(scope="module")
def lines(nci_file: Path) -> list[str]:
    return nci_file.read_text().splitlines()


class Workbench:
    """A store, and files beside it."""

    def __init__(self, folder: Path, store: Store) -> None:
        self.folder, self.store = folder, store

    def ingest(self, collection: str, lines: Sequence[str], recipe: Recipe = RECIPE) -> None:
        ingest(self.store, collection, written(self.folder / collection, [lines], "smi"), recipe, OPTIONS)

    def append(self, collection: str, lines: Sequence[str]) -> None:
        append(self.store, collection, written(self.folder / "more", [lines], "smi"), OPTIONS)

    def remove(self, collection: str, by: ListedBy, *listed: str) -> RemovalResult:
        (file,) = written(self.folder / "listed", [listed], "txt")
        return remove(self.store, collection, file, by)


@pytest.fixture
def bench(tmp_path: Path) -> Any:
    with open_store(tmp_path / "store", create=True) as store:
        yield Workbench(tmp_path, store)


@pytest.mark.parametrize("top_k", [1, 4, 70])
@pytest.mark.parametrize("step", [2, 5, 40])
def test_real_molecules(bench: Workbench, lines: list[str], top_k: int, step: int) -> None:
    recipe = resolve(threshold=0.25, top_k=top_k)
    every = lines[:400]
    bench.ingest("c", every, recipe)
    removed = bench.remove("c", "smiles", *(line.split()[0] for line in every[::step]))
    assert removed.items >= len(every) // step - 5
    gone = {molecule(line.split()[0]) for line in every[::step]}
    bench.ingest("without", [line for line in every if molecule(line.split()[0]) not in gone], recipe)
    assert_like(bench.store, "c", "without")
    with bench.store.open("c") as generation:
        assert verify(generation, 1000) == []


def test_what_was_removed_can_come_back(bench: Workbench, lines: list[str]) -> None:
    bench.ingest("c", lines[:60])
    bench.remove("c", "smiles", *(line.split()[0] for line in lines[10:20]))
    bench.append("c", lines[15:80])
    bench.ingest("once", [*lines[:10], *lines[20:60], *lines[15:80]])
    with bench.store.open("c") as grown, bench.store.open("once") as once:
        assert told(grown) == told(once)
        counts = grown.manifest.counts
        assert counts.read == 60 + 65
        assert counts.read == counts.kept + counts.duplicates + counts.rejected + 10


def test_removing_what_an_append_brought_leads_back(bench: Workbench, lines: list[str]) -> None:
    bench.ingest("c", lines[:60])
    before = bench.store.manifest("c")
    bench.append("c", lines[60:80])
    removed = bench.remove("c", "smiles", *(line.split()[0] for line in lines[60:80])).manifest
    assert removed.generation == before.generation == bench.store.collection("c").current
    assert bench.store.manifest("c") == before


def test_readers_of_the_older_generation_go_on(bench: Workbench, lines: list[str]) -> None:
    bench.ingest("c", lines[:60])
    with bench.store.open("c") as older:
        before = content(older)
        bench.remove("c", "smiles", lines[0].split()[0])
        assert content(older) == before
        assert bench.store.collection("c").generations == (older.id, bench.store.collection("c").current)


def test_a_name_means_all_items_that_have_it(bench: Workbench) -> None:
    bench.ingest("c", ["CCO one", "CCCO two", "OCC three", "CCCCO one", "CCCCCO One"])
    removed = bench.remove("c", "name", "one", "", "three", "four", "one")
    assert removed.items == 2
    assert removed.missing.to_pylist() == [
        {"source": str(bench.folder / "listed" / "part-0.txt"), "line": 4, "input": "four",
         "reason": "no item has this name"}
    ]  # fmt: skip
    with bench.store.open("c") as generation:
        assert [*generation.structures()] == ["CCCO", "CCCCCO"]
        assert [each.model_dump(include={"by", "items"}) for each in generation.manifest.removed] == [
            {"by": "name", "items": 2}
        ]
        assert generation.manifest.counts.model_dump() == {"read": 5, "kept": 2, "duplicates": 1, "rejected": 0}


def test_a_list_may_be_compressed(bench: Workbench) -> None:
    bench.ingest("c", ["CCO one", "CCCO two"])
    (bench.folder / "list.gz").write_bytes(gzip.compress(b"two\n"))
    assert remove(bench.store, "c", str(bench.folder / "list.gz"), "name").items == 1
    (bench.folder / "bomb.gz").write_bytes(gzip.compress(b"two\n" * 5_000_000))
    with pytest.raises(InvalidInput, match="unpacks to more than"):
        remove(bench.store, "c", str(bench.folder / "bomb.gz"), "name")


def test_structures_are_standardised_as_the_recipe_does(bench: Workbench) -> None:
    recipe = resolve(threshold=0.3, standardise=["largest_fragment", "uncharge"])
    bench.ingest("c", ["CC(=O)O acid", "CCO ethanol", "nonsense", "CCN amine"], recipe)
    removed = bench.remove("c", "smiles", "CC(=O)[O-].[Na+]", "CCCCCC", "nonsense")
    assert removed.items == 1
    line, unread = removed.missing.to_pylist()
    assert (line["input"], line["reason"]) == ("CCCCCC", "no item is this molecule")
    assert unread["input"] == "nonsense"
    assert unread["reason"].startswith("not a molecule: ")
    with bench.store.open("c") as generation:
        assert [*generation.structures()] == ["CCO", "CCN"]
        (rejected,) = (row for batch in generation.rejections() for row in batch.to_pylist())
        assert rejected["line"] == 3


def test_what_cannot_be_removed(bench: Workbench, lines: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    bench.ingest("window", lines[:30], resolve("paper"))
    with pytest.raises(Conflict, match="window"):
        bench.remove("window", "smiles", "CCO")
    with pytest.raises(NotFound):
        bench.remove("nobody", "smiles", "CCO")
    bench.ingest("c", lines[:30])
    before = bench.store.collection("c")
    with pytest.raises(InvalidInput, match="no item would be left") as error:
        bench.remove("c", "smiles", *(line.split()[0] for line in lines[:30]))
    assert "graphkin delete" in str(error.value.hint)
    with pytest.raises(InvalidInput, match="empty"):
        bench.remove("c", "name")
    monkeypatch.setattr(rdBase, "rdkitVersion", "1999.09.1")
    with pytest.raises(Conflict, match="other libraries"):
        bench.remove("c", "smiles", "CCO")
    assert bench.store.collection("c") == before


def test_graphs_have_no_smiles(bench: Workbench) -> None:
    files = written(bench.folder / "graphs", [[as_json(0, "one", {}), as_json(1, "two", {})]], "jsonl")
    ingest(bench.store, "graphs", files, resolve_graphs(), OPTIONS)
    with pytest.raises(Conflict, match="no SMILES"):
        bench.remove("graphs", "smiles", "CCO")
