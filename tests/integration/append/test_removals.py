"""A collection after a removal equals, byte for byte, one ingest of the files without the removed items."""

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
from tests.integration.append.conftest import OPTIONS, content, grow, write_parts
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

pytestmark = pytest.mark.usefixtures("parse_inline")

_INPUT_FIELDS = ("inputs", "counts", "removed", "differing")
"""Manifest fields about the input files, which differ."""
_REJECTED = "rejections.arrow"

BY_SMILES = [*MOLECULES, "OCC", "C(C)N", "C" * 12]
BY_NAME = [*filter(None, NAMES), "nobody"]


def molecule(smiles: str) -> str | None:
    """Return the canonical SMILES by RDKit, or None if the molecule is invalid."""
    with rdBase.BlockLogs():
        mol = Chem.MolFromSmiles(smiles)
    return None if mol is None else Chem.MolToSmiles(mol)


def without(parts: Sequence[Any], by: ListedBy, listed: Sequence[str]) -> list[Any]:
    """Return the rows of each part without the listed molecules. Rows of invalid molecules remain."""
    rows = [row for _, rows in parts for row in rows]
    if by == "name":
        removed = {molecule(smiles) for smiles, name, _ in rows if name in listed}
    else:
        removed = {molecule(smiles) for smiles in listed}
    return [(columns, [row for row in rows if molecule(row[0]) not in removed - {None}]) for columns, rows in parts]


def comparable_content(generation: Generation) -> dict[str, Any]:
    """Return the content of a generation except for the fields about its input files."""
    full_content = content(generation)
    manifest = {key: value for key, value in full_content["manifest"].items() if key not in _INPUT_FIELDS}
    counts = {key: full_content["manifest"]["counts"][key] for key in ("kept", "rejected")}
    rejections = [(row["input"], row["reason"]) for row in full_content["rejections"]]
    return {**full_content, "manifest": manifest, "counts": counts, "rejections": rejections}


def files_of(store: Store, collection: str) -> dict[str, str]:
    (fragment,) = store.manifest(collection).fragments
    return {name: digest for name, digest in fragment.files.items() if name != _REJECTED}


def assert_equal_content(store: Store, collection: str, expected: str) -> None:
    """Check that two collections have the same content and the same files."""
    with store.open(collection) as one, store.open(expected) as other:
        expected_content = comparable_content(other)
        for field, value in comparable_content(one).items():
            assert value == expected_content[field], field
        assert one.id == other.id
        assert one.check() == []
        counts, removed = one.manifest.counts, one.manifest.removed
    assert counts.read == counts.kept + counts.duplicates + counts.rejected + sum(each.items for each in removed)
    assert files_of(store, collection) == files_of(store, expected)


def assert_removed(
    parts: Sequence[Sequence[str]], remaining: Sequence[Sequence[str]], ending: str, recipe: Recipe, by: ListedBy,
    listed: Sequence[str], grown: bool,
) -> None:  # fmt: skip
    with TemporaryDirectory(dir=MEMORY) as folder, open_store(Path(folder) / "store", create=True) as store:
        files = write_parts(Path(folder), parts, ending)
        effective_files = files  # Rejections of an appended file without new items are not stored.
        if grown:
            effective_files = grow(store, "c", files, recipe)
        else:
            ingest(store, "c", files, recipe, OPTIONS)
        remaining = [part for file, part in zip(files, remaining, strict=True) if part and file in effective_files]
        before = store.manifest("c")
        (Path(folder) / "list").write_text("".join(f"{line}\n" for line in listed))
        nothing = not remaining
        if not nothing:
            try:
                ingest(store, "without", write_parts(Path(folder) / "left", remaining, ending), recipe, OPTIONS)
            except InvalidInput:  # None of the remaining records is an item.
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
        assert_equal_content(store, "c", "without")


def assert_molecules_removed(
    parts: list[Any], top_k: int, threshold: float, listing: tuple[ListedBy, list[str]], grown: bool
) -> None:
    by, listed = listing
    lines = [as_csv(*part) for part in parts]
    remaining = [as_csv(*part) if part[1] else [] for part in without(parts, by, listed)]
    assert_removed(lines, remaining, "csv", resolve(threshold=threshold, top_k=top_k), by, listed, grown)


def assert_graphs_removed(parts: list[Any], top_k: int, threshold: float, listed: list[str], grown: bool) -> None:
    rest = [[row for row in part if row[1] not in listed] for part in parts]
    lines, remaining = ([[as_json(*row) for row in part] for part in each] for each in (parts, rest))
    assert_removed(lines, remaining, "jsonl", resolve_graphs(threshold=threshold, top_k=top_k), "name", listed, grown)


few_examples = settings(max_examples=10)
many_examples = settings(max_examples=300)
names = st.lists(st.sampled_from(BY_NAME), min_size=1, max_size=3, unique=True)
lists = st.one_of(
    st.tuples(st.just("smiles"), st.lists(st.sampled_from(BY_SMILES), min_size=1, max_size=20, unique=True)),
    st.tuples(st.just("name"), names),
)
molecule_removals = given(st.lists(molecules, min_size=1, max_size=3), TOP_K, THRESHOLDS, lists, st.booleans())
graph_removals = given(
    st.lists(st.lists(graph, min_size=1, max_size=15), min_size=1, max_size=3), TOP_K, THRESHOLDS, names, st.booleans()
)


@few_examples
@molecule_removals
def test_removed_molecules_equal_an_ingest_without_them(
    parts: list[Any], top_k: int, threshold: float, listed: Any, grown: bool
) -> None:
    assert_molecules_removed(parts, top_k, threshold, listed, grown)


@few_examples
@graph_removals
def test_removed_graphs_equal_an_ingest_without_them(
    parts: list[Any], top_k: int, threshold: float, listed: list[str], grown: bool
) -> None:
    assert_graphs_removed(parts, top_k, threshold, listed, grown)


@pytest.mark.long
@many_examples
@molecule_removals
def test_removed_molecules_equal_an_ingest_without_them_in_many_examples(
    parts: list[Any], top_k: int, threshold: float, listed: Any, grown: bool
) -> None:
    assert_molecules_removed(parts, top_k, threshold, listed, grown)


@pytest.mark.long
@many_examples
@graph_removals
def test_removed_graphs_equal_an_ingest_without_them_in_many_examples(
    parts: list[Any], top_k: int, threshold: float, listed: list[str], grown: bool
) -> None:
    assert_graphs_removed(parts, top_k, threshold, listed, grown)


RECIPE = resolve(threshold=0.3, top_k=4)


@pytest.fixture(scope="module")
def lines(nci_file: Path) -> list[str]:
    return nci_file.read_text().splitlines()


class Workbench:
    """A store and a folder of input files."""

    def __init__(self, folder: Path, store: Store) -> None:
        self.folder, self.store = folder, store

    def ingest(self, collection: str, lines: Sequence[str], recipe: Recipe = RECIPE) -> None:
        ingest(self.store, collection, write_parts(self.folder / collection, [lines], "smi"), recipe, OPTIONS)

    def append(self, collection: str, lines: Sequence[str]) -> None:
        append(self.store, collection, write_parts(self.folder / "more", [lines], "smi"), OPTIONS)

    def remove(self, collection: str, by: ListedBy, *listed: str) -> RemovalResult:
        (file,) = write_parts(self.folder / "listed", [listed], "txt")
        return remove(self.store, collection, file, by)


@pytest.fixture
def bench(tmp_path: Path) -> Any:
    with open_store(tmp_path / "store", create=True) as store:
        yield Workbench(tmp_path, store)


@pytest.mark.parametrize("top_k", [1, 4, 70])
@pytest.mark.parametrize("step", [2, 5, 40])
def test_removed_real_molecules_equal_an_ingest_without_them(
    bench: Workbench, lines: list[str], top_k: int, step: int
) -> None:
    recipe = resolve(threshold=0.25, top_k=top_k)
    full_content = lines[:400]
    bench.ingest("c", full_content, recipe)
    removed = bench.remove("c", "smiles", *(line.split()[0] for line in full_content[::step]))
    assert removed.items >= len(full_content) // step - 5
    removed_smiles = {molecule(line.split()[0]) for line in full_content[::step]}
    bench.ingest("without", [line for line in full_content if molecule(line.split()[0]) not in removed_smiles], recipe)
    assert_equal_content(bench.store, "c", "without")
    with bench.store.open("c") as generation:
        assert verify(generation, 1000) == []


def test_removed_molecules_can_be_appended_again(bench: Workbench, lines: list[str]) -> None:
    bench.ingest("c", lines[:60])
    bench.remove("c", "smiles", *(line.split()[0] for line in lines[10:20]))
    bench.append("c", lines[15:80])
    bench.ingest("once", [*lines[:10], *lines[20:60], *lines[15:80]])
    with bench.store.open("c") as grown, bench.store.open("once") as once:
        assert comparable_content(grown) == comparable_content(once)
        counts = grown.manifest.counts
        assert counts.read == 60 + 65
        assert counts.read == counts.kept + counts.duplicates + counts.rejected + 10


def test_removing_appended_items_restores_the_generation(bench: Workbench, lines: list[str]) -> None:
    bench.ingest("c", lines[:60])
    before = bench.store.manifest("c")
    bench.append("c", lines[60:80])
    removed = bench.remove("c", "smiles", *(line.split()[0] for line in lines[60:80])).manifest
    assert removed.generation == before.generation == bench.store.collection("c").current
    assert bench.store.manifest("c") == before


def test_readers_of_the_older_generation_continue(bench: Workbench, lines: list[str]) -> None:
    bench.ingest("c", lines[:60])
    with bench.store.open("c") as older:
        before = content(older)
        bench.remove("c", "smiles", lines[0].split()[0])
        assert content(older) == before
        assert bench.store.collection("c").generations == (older.id, bench.store.collection("c").current)


def test_name_removes_all_its_items(bench: Workbench) -> None:
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


def test_list_may_be_compressed(bench: Workbench) -> None:
    bench.ingest("c", ["CCO one", "CCCO two"])
    (bench.folder / "list.gz").write_bytes(gzip.compress(b"two\n"))
    assert remove(bench.store, "c", str(bench.folder / "list.gz"), "name").items == 1
    (bench.folder / "bomb.gz").write_bytes(gzip.compress(b"two\n" * 5_000_000))
    with pytest.raises(InvalidInput, match="unpacks to more than"):
        remove(bench.store, "c", str(bench.folder / "bomb.gz"), "name")


def test_listed_structures_are_standardized_by_the_recipe(bench: Workbench) -> None:
    recipe = resolve(threshold=0.3, standardise=["largest_fragment", "uncharge"])
    bench.ingest("c", ["CC(=O)O acid", "CCO ethanol", "nonsense", "CCN amine"], recipe)
    removed = bench.remove("c", "smiles", "CC(=O)[O-].[Na+]", "CCCCCC", "nonsense")
    assert removed.items == 1
    line, unreadable = removed.missing.to_pylist()
    assert (line["input"], line["reason"]) == ("CCCCCC", "no item is this molecule")
    assert unreadable["input"] == "nonsense"
    assert unreadable["reason"].startswith("this is not a molecule: ")
    with bench.store.open("c") as generation:
        assert [*generation.structures()] == ["CCO", "CCN"]
        (rejected,) = (row for batch in generation.rejections() for row in batch.to_pylist())
        assert rejected["line"] == 3


def test_collections_that_cannot_shrink_are_refused(
    bench: Workbench, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
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
    with pytest.raises(Conflict, match="the installed libraries describe items differently"):
        bench.remove("c", "smiles", "CCO")
    assert bench.store.collection("c") == before


def test_removing_graphs_by_smiles_is_refused(bench: Workbench) -> None:
    files = write_parts(bench.folder / "graphs", [[as_json(0, "one", {}), as_json(1, "two", {})]], "jsonl")
    ingest(bench.store, "graphs", files, resolve_graphs(), OPTIONS)
    with pytest.raises(Conflict, match="no SMILES"):
        bench.remove("graphs", "smiles", "CCO")
