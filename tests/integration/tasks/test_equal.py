"""Ingests by tasks equal an ingest in one stream, for any runner and any sizes of tasks."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphkin.ingest import items
from graphkin.ingest.options import IngestOptions
from graphkin.ingest.pipeline import ingest as ingest_here
from graphkin.ingest.runners.base import Runner
from graphkin.ingest.stages.job import Sizes
from graphkin.ingest.stages.pipeline import ingest
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.values import Duplicates
from graphkin.similarity.fingerprints.recipe import resolve_bits
from graphkin.similarity.graphs.recipe import resolve_graphs
from graphkin.similarity.molecules.recipe import resolve
from graphkin.similarity.nodes.recipe import resolve_nodes
from graphkin.similarity.recipe import Recipe
from graphkin.similarity.vectors.recipe import resolve_vectors
from graphkin.store import open_lake, open_store
from tests.integration.tasks.equality import OPTIONS, SMALL, assert_equal, file_digests, read_lake, stable_fields


@pytest.mark.parametrize(
    "options",
    [
        ["--engine", "spark", "--store", "s"],
        ["--engine", "tasks", "--store", "s"],
        ["--engine", "tasks", "--lake", "l", "--master", "local[2]"],
        ["--engine", "spark", "--lake", "l", "--workers", "2"],
        ["--master", "local[2]", "--store", "s"],
        [],
    ],
)
def test_unsupported_options_are_refused(
    graphkin: Callable[..., Any], mixed_files: list[str], options: list[str], tmp_path: Path
) -> None:
    assert graphkin("ingest", "molecules", *mixed_files, "--collection", "c", *options).code == 2
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "recipe",
    [resolve_nodes(), resolve(fingerprint={"name": "given", "bits": 64})],
    ids=["nodes", "given"],
)
def test_kinds_with_items_from_several_records_are_refused(
    recipe: Recipe, mixed_files: list[str], tmp_path: Path
) -> None:
    unused_runner: Any = None
    with pytest.raises(InvalidInput, match="ingest does not support"):
        ingest(unused_runner, str(tmp_path / "lake"), "c", mixed_files, recipe)


def test_rejecting_duplicates_is_refused(mixed_files: list[str], tmp_path: Path) -> None:
    unused_runner: Any = None
    options = IngestOptions(duplicates="reject")
    with pytest.raises(InvalidInput, match="cannot reject duplicates"):
        ingest(unused_runner, str(tmp_path / "lake"), "c", mixed_files, resolve(), options)


@pytest.mark.parametrize(
    ("recipe", "sizes"),
    [
        pytest.param(resolve(threshold=0.3, top_k=4), Sizes(), id="whole", marks=pytest.mark.long),
        pytest.param(resolve(threshold=0.3, top_k=4), SMALL, id="capped"),
        pytest.param(resolve(threshold=0.3, top_k=0), SMALL, id="uncapped", marks=pytest.mark.long),
        pytest.param(resolve("paper"), SMALL, id="window", marks=pytest.mark.long),
        pytest.param(
            resolve(threshold=0.5, inchikey=True),
            Sizes(records=100, group=20, owners=64, block=513, columns=1),
            id="inchikeys",
            marks=pytest.mark.long,
        ),
        pytest.param(
            resolve(threshold=0.2, top_k=1),
            Sizes(records=90, group=100, owners=1000, block=64, columns=7, room=10),
            id="scraps",
            marks=pytest.mark.long,
        ),
    ],
)
def test_molecules_equal_one_stream(
    runner: Runner, mixed_files: list[str], recipe: Recipe, sizes: Sizes, tmp_path: Path
) -> None:
    assert_equal(runner, mixed_files, recipe, sizes, tmp_path)


def test_lake_of_several_parts_equals_one_stream(runner: Runner, nci_file: Path, tmp_path: Path) -> None:
    """There are more items than a task renders. The second task starts within a parsed part."""
    sizes = Sizes(records=1000, rows=4096, owners=3000, block=1500)
    assert_equal(runner, [str(nci_file)], resolve(threshold=0.6), sizes, tmp_path)


@pytest.mark.parametrize("sizes", [Sizes(), Sizes(records=16, group=50, owners=10)], ids=["whole", "small"])
def test_graphs_equal_one_stream(runner: Runner, shapes: Path, sizes: Sizes, tmp_path: Path) -> None:
    assert_equal(runner, [str(shapes)], resolve_graphs(), sizes, tmp_path)


@pytest.fixture
def arrays(tmp_path: Path) -> Callable[[np.ndarray], tuple[list[str], tuple[str, ...]]]:
    """Return a function that writes two files with the halves of an array, and two with names of their rows."""

    def write_arrays(array: np.ndarray) -> tuple[list[str], tuple[str, ...]]:
        for number, half in enumerate(np.array_split(array, 2)):
            np.save(tmp_path / f"{number}.npy", half)
            (tmp_path / f"{number}.txt").write_text("".join(f"row {number} {row}\n" for row in range(len(half))))
        return [str(tmp_path / f"{n}.npy") for n in range(2)], tuple(str(tmp_path / f"{n}.txt") for n in range(2))

    return write_arrays


@pytest.mark.parametrize("kind", ["fingerprints", "vectors"])
def test_fingerprints_and_vectors_with_files_of_names_equal_one_stream(
    runner: Runner, arrays: Callable[..., Any], kind: str, tmp_path: Path
) -> None:
    """Some rows are repeated."""
    random = np.random.default_rng(0)
    recipe: Recipe
    if kind == "fingerprints":
        rows = random.integers(0, 256, (300, 8), np.uint8) & random.integers(0, 256, (300, 8), np.uint8)
        recipe = resolve_bits(bits=64, threshold=0.3, top_k=5)
    else:
        rows = random.normal(size=(300, 6)).astype(np.float32)
        recipe = resolve_vectors(dimension=6, threshold=0.7, top_k=5)
    inputs, names = arrays(np.concatenate([rows, rows[50:90]]))
    options = IngestOptions(workers=1, names=names)
    sizes = Sizes(records=70, group=100, owners=90, block=64, columns=2, room=100)
    manifest = ingest(runner, str(tmp_path / "lake"), "c", inputs, recipe, options, sizes=sizes)
    with open_store(tmp_path / "one", create=True) as store:
        expected = ingest_here(store, "c", inputs, recipe, options)
    assert manifest.edges > 100
    assert stable_fields(manifest) == stable_fields(expected)
    assert read_lake(tmp_path / "lake", tmp_path / "loaded")[1] == file_digests(tmp_path / "one" / "collections")


def test_too_many_rejections_publish_nothing_and_are_written_to_a_file(
    runner: Runner, mixed_files: list[str], tmp_path: Path
) -> None:
    """And the pieces that they leave are not mixed with those of the next job."""
    url, rejections_path = str(tmp_path / "lake"), tmp_path / "listed.csv"
    with pytest.raises(InvalidInput, match=r"200 of 2000 records \(10\.0%\) were rejected") as refused:
        ingest(
            runner, url, "c", mixed_files, resolve(), IngestOptions(max_rejected=0.05, rejections_file=rejections_path)
        )
    assert str(rejections_path) in str(refused.value)
    assert len(rejections_path.read_text().splitlines()) == 201
    assert not (tmp_path / "lake" / "manifest.json").exists()
    ingest(runner, url, "c", mixed_files[:1], resolve(threshold=0.5), OPTIONS)
    with open_lake(url) as lake, lake.open("c") as generation:
        assert generation.manifest.counts.read == 700
        assert generation.check() == []
    assert {path.name for path in (tmp_path / "lake").iterdir()}.isdisjoint({"_work"})


def test_too_many_items_are_refused_before_the_join(
    runner: Runner, mixed_files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(items, "MAX_ID", 99)
    with pytest.raises(InvalidInput, match="too many different items"):
        ingest(runner, str(tmp_path / "lake"), "c", mixed_files, resolve(), OPTIONS)
    assert {path.name for path in (tmp_path / "lake").iterdir()} <= {"_work", "rejections"}


def test_errors_about_files_equal_those_of_one_stream(runner: Runner, mixed_files: list[str], tmp_path: Path) -> None:
    cut = tmp_path / "cut.csv.gz"
    cut.write_bytes(Path(mixed_files[1]).read_bytes()[:-100])
    (tmp_path / "other.csv").write_text("structure\nC\n")
    for file in (cut, tmp_path / "other.csv", tmp_path / "nowhere.smi"):
        with pytest.raises(InvalidInput) as local_error, open_store(tmp_path / "one", create=True) as store:
            ingest_here(store, "c", [str(file)], resolve(), OPTIONS)
        with pytest.raises(InvalidInput) as tasks_error:
            ingest(runner, str(tmp_path / "lake"), "c", [str(file)], resolve(), OPTIONS)
        assert str(local_error.value) == str(tasks_error.value)
    with pytest.raises(InvalidInput, match="not a valid name of a collection"):
        ingest(runner, str(tmp_path / "lake"), "No Name", mixed_files, resolve(), OPTIONS)


@pytest.mark.parametrize("duplicates", ["first", "mean", "median", "list"])
def test_special_and_differing_values_equal_one_stream(runner: Runner, duplicates: Duplicates, tmp_path: Path) -> None:
    """Missing markers, censored numbers, a column that stays text, and repeated items in other parts and files."""
    special_values = ["1.0", "2.50", ">10000", "n/a", "", "~3"]
    rows = [
        f"{'C' * (row % 23 + 1)}O,{special_values[row % 5 if row < 60 else row % 6]},{row % 7 or 'high'}"
        for row in range(120)
    ]
    inputs = []
    for number, part in enumerate((rows[:50], rows[50:])):
        file = tmp_path / f"{number}.csv"
        file.write_text("\n".join(["smiles,activity,grade", *part]) + "\n")
        inputs.append(str(file))
    sizes = Sizes(records=9, group=20, owners=10, block=8, columns=2, room=1000)
    options = replace(OPTIONS, duplicates=duplicates)
    assert_equal(runner, inputs, resolve(threshold=0.3, top_k=4), sizes, tmp_path, options)
    with open_lake(str(tmp_path / "lake")) as lake, lake.open("c") as generation:
        manifest = generation.manifest
    assert manifest.duplicates == duplicates
    assert manifest.properties["activity"] == "number"
    assert manifest.qualifiers == {"activity": "activity_qualifier"}
    assert manifest.columns["activity"].censored > 3
    assert sum(manifest.differing.counts.values()) > 50
    if duplicates == "first":
        assert manifest.columns["activity"].missing > 3
        assert manifest.columns["grade"].example == "high"
        assert sum(manifest.differing.counts.values()) > 100 == len(manifest.differing.first)
