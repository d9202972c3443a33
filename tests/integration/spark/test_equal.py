"""What Spark makes of files is what one machine makes of them, byte for byte, however the work is cut."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyspark
import pytest

import graphkin as package
from graphkin.ingest import items
from graphkin.ingest.options import IngestOptions
from graphkin.ingest.pipeline import ingest as ingest_here
from graphkin.ingest.progress import Clock, Progress
from graphkin.ingest.runners.spark import session
from graphkin.ingest.stages.engine import Engine
from graphkin.ingest.stages.job import Job, Sizes
from graphkin.ingest.stages.pipeline import ingest
from graphkin.protocol.errors import InvalidInput
from graphkin.similarity.fingerprints.recipe import resolve_bits
from graphkin.similarity.graphs.recipe import resolve_graphs
from graphkin.similarity.molecules.recipe import resolve
from graphkin.similarity.nodes.recipe import resolve_nodes
from graphkin.similarity.recipe import Recipe
from graphkin.similarity.vectors.recipe import resolve_vectors
from graphkin.store import open_lake, open_store
from tests.integration.spark.equality import OPTIONS, by_one_machine, files, of_lake, told

if TYPE_CHECKING:
    from pyspark import SparkContext

SMALL = Sizes(records=600, group=1000, owners=500, block=400, columns=2, room=1000)
CAPPED = resolve(threshold=0.3, top_k=4)
RECORDS = 2000

Equal = Callable[..., None]


@pytest.fixture(autouse=True)
def java(require_tools: Callable[..., None]) -> None:
    require_tools("java")


@pytest.fixture
def equal(tmp_path: Path) -> Equal:
    """Ingests the files by both, and compares what comes of it."""

    def compare(inputs: list[str], recipe: Recipe, sizes: Sizes, master: str = "local[2]") -> None:
        with session(master) as context:
            made = ingest(context, str(tmp_path / "lake"), "c", inputs, recipe, OPTIONS, sizes=sizes)
        expected = by_one_machine(inputs, recipe, tmp_path / "one")
        assert (told(made), of_lake(tmp_path / "lake", tmp_path / "loaded")) == (expected[0], expected)

    return compare


def test_molecules_in_small_pieces(equal: Equal, mixed: list[str]) -> None:
    """Many parts, groups, shards, blocks and merged forests; a cap that most items feel."""
    equal(mixed, CAPPED, SMALL)


def test_by_the_command(graphkin: Callable[..., Any], shapes: Path, tmp_path: Path) -> None:
    """Graphs; the lake is, file for file, what this machine writes."""
    what = ("ingest", "graphs", shapes, "--collection", "c", "--json")
    by_spark = graphkin(*what, "--engine", "spark", "--master", "local[2]", "--lake", "lake", "--store", "loaded")
    assert by_spark.code == 0, by_spark.err
    here = graphkin(*what, "--lake", "other", "--store", "one")
    assert json.loads(by_spark.out)["generation"] == json.loads(here.out)["generation"]
    assert files(tmp_path / "lake") == files(tmp_path / "other")
    assert files(tmp_path / "loaded" / "collections") == files(tmp_path / "one" / "collections")


class _Told(Progress):
    """Leaves a file when it is told of a task that has ended."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.ended: list[int] = []

    @contextmanager
    def stage(self, name: str, total: int | None, unit: str) -> Iterator[Callable[[int], object]]:
        yield self._advance

    def _advance(self, ended: int) -> None:
        self.ended.append(ended)
        if ended:
            self.file.touch()


def test_tasks_are_told_of_as_they_end(tmp_path: Path) -> None:
    """The second waits until somebody was told of the first."""
    told = _Told(tmp_path / "told")
    job = Job(str(tmp_path / "lake"), "key", str(tmp_path), (), CAPPED, OPTIONS, SMALL)

    def task(job: Job, number: int) -> dict[str, Any]:
        while number and not (Path(job.folder) / "told").exists():
            time.sleep(0.01)
        return {}

    with session("local[2]") as context:
        Engine(context, job, Clock(told)).run("stage", task, 2)
    assert [each for each in told.ended if each] == [1, 1]


_LETHAL = """import os, signal
from graphkin.similarity.molecules.describer import MoleculeDescriber

describe = MoleculeDescriber.describe

def lethal(self, text, *more):
    if text == "N#N":
        os.kill(os.getpid(), signal.SIGSEGV)
    return describe(self, text, *more)

MoleculeDescriber.describe = lethal
"""


@pytest.mark.long
def test_a_record_that_kills_is_rejected_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every Python that Spark starts dies of nitrogen."""
    (tmp_path / "lethal").mkdir()
    (tmp_path / "lethal" / "sitecustomize.py").write_text(_LETHAL)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "lethal"))
    (tmp_path / "molecules.smi").write_text("CCO a\nCCN b\nN#N lethal\nCCC c\nwrong d\n")
    what = ["ingest", "molecules", "molecules.smi", "--engine", "spark", "--master", "local[1]", "--lake", "lake"]
    command = [sys.executable, "-m", "graphkin", *what, "--collection", "c", "--max-rejected", "0.5"]
    subprocess.run(command, cwd=tmp_path, check=True)
    with open_lake(str(tmp_path / "lake")) as lake, lake.open("c") as made:
        assert [name for item in made.items(range(made.size)) for name in item["names"]] == ["a", "b", "c"]
        rejections = [row for batch in made.rejections() for row in batch.to_pylist()]
    assert [(row["line"], row["input"]) for row in rejections] == [(3, "N#N"), (5, "wrong")]
    assert rejections[0]["reason"] == "the parser process died on this record"


@pytest.mark.parametrize(
    "options",
    [
        ["--engine", "spark", "--store", "s"],
        ["--engine", "spark", "--lake", "l", "--workers", "2"],
        ["--master", "local[2]", "--store", "s"],
        [],
    ],
)
def test_what_the_command_cannot_do_is_told(
    graphkin: Callable[..., Any], mixed: list[str], options: list[str], tmp_path: Path
) -> None:
    assert graphkin("ingest", "molecules", *mixed, "--collection", "c", *options).code == 2
    assert not list(tmp_path.iterdir())


def test_without_the_extra_it_says_what_to_install(mixed: list[str], tmp_path: Path) -> None:
    """With an import system that finds everything but pyspark."""
    script = tmp_path / "without.py"
    script.write_text("""import sys

class Without:
    def find_spec(self, name, *_):
        if name == "pyspark":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Without())
from graphkin.cli import run
sys.exit(run(sys.argv[1:]))
""")
    what = ["ingest", "molecules", *mixed, "--engine", "spark", "--lake", "lake", "--collection", "c"]
    ended = subprocess.run([sys.executable, str(script), *what], capture_output=True, text=True, check=False)
    hint = "pip install 'graphkin[spark]', or '.[spark]' in a clone"
    assert (ended.returncode, hint in ended.stderr, "Traceback" in ended.stderr) == (2, True, False)


@pytest.mark.parametrize(
    "recipe",
    [resolve_nodes(), resolve(fingerprint={"name": "given", "bits": 64})],
    ids=["nodes", "given"],
)
def test_items_that_other_records_describe_too_are_refused(recipe: Recipe, mixed: list[str], tmp_path: Path) -> None:
    never_asked: Any = None
    with pytest.raises(InvalidInput, match="Spark does not ingest"):
        ingest(never_asked, str(tmp_path / "lake"), "c", mixed, recipe)


@pytest.mark.long
@pytest.mark.parametrize("partitions", [1, 2, 4])
def test_molecules_in_so_many_partitions(equal: Equal, mixed: list[str], partitions: int) -> None:
    """Of records, of owners and of blocks, on as many threads of Spark's."""
    most = -(-RECORDS // partitions)
    sizes = Sizes(records=most, group=most, owners=most, block=most, columns=partitions)
    equal(mixed, CAPPED, sizes, f"local[{partitions}]")


@pytest.mark.long
@pytest.mark.parametrize(
    ("recipe", "sizes"),
    [
        (CAPPED, Sizes()),
        (resolve(threshold=0.3, top_k=0), SMALL),
        (resolve("paper"), SMALL),
        (resolve(threshold=0.5, inchikey=True), Sizes(records=100, group=20, owners=64, block=513, columns=1)),
        (resolve(threshold=0.2, top_k=1), Sizes(records=90, group=100, owners=1000, block=64, columns=7, room=10)),
    ],
    ids=["whole", "uncapped", "window", "inchikeys", "scraps"],
)
def test_molecules_however_the_work_is_cut(equal: Equal, mixed: list[str], recipe: Recipe, sizes: Sizes) -> None:
    equal(mixed, recipe, sizes)


@pytest.mark.long
def test_a_lake_of_several_parts(equal: Equal, nci_file: Path) -> None:
    """More items than are rendered by one task, of which the second begins within a parsed part."""
    equal([str(nci_file)], resolve(threshold=0.6), Sizes(records=1000, rows=4096, owners=3000, block=1500))


@pytest.mark.long
@pytest.mark.parametrize("sizes", [Sizes(), Sizes(records=16, group=50, owners=10)], ids=["whole", "small"])
def test_graphs(equal: Equal, shapes: Path, sizes: Sizes) -> None:
    equal([str(shapes)], resolve_graphs(), sizes)


@pytest.fixture
def arrays(tmp_path: Path) -> Callable[[np.ndarray], tuple[list[str], tuple[str, ...]]]:
    """Two files with the halves of an array, and two with names for their rows."""

    def written(array: np.ndarray) -> tuple[list[str], tuple[str, ...]]:
        for number, half in enumerate(np.array_split(array, 2)):
            np.save(tmp_path / f"{number}.npy", half)
            (tmp_path / f"{number}.txt").write_text("".join(f"row {number} {row}\n" for row in range(len(half))))
        return [str(tmp_path / f"{n}.npy") for n in range(2)], tuple(str(tmp_path / f"{n}.txt") for n in range(2))

    return written


@pytest.mark.long
@pytest.mark.parametrize("kind", ["fingerprints", "vectors"])
def test_other_kinds_with_names_in_files_of_their_own(
    context: "SparkContext", arrays: Callable[..., Any], kind: str, tmp_path: Path
) -> None:
    """Some rows twice."""
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
    made = ingest(context, str(tmp_path / "lake"), "c", inputs, recipe, options, sizes=sizes)
    with open_store(tmp_path / "one", create=True) as store:
        expected = ingest_here(store, "c", inputs, recipe, options)
    assert made.edges > 100
    assert told(made) == told(expected)
    assert of_lake(tmp_path / "lake", tmp_path / "loaded")[1] == files(tmp_path / "one" / "collections")


@pytest.mark.long
def test_by_spark_submit(graphkin: Callable[..., Any], mixed: list[str], tmp_path: Path) -> None:
    """With the same arguments but for the master. It puts what goes to standard error before what is printed."""
    spark_submit = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
    submit = [spark_submit, "--master", "local[2]", str(Path(package.__path__[0]) / "__main__.py")]
    what = ("--collection", "c", "--max-rejected", "0.2", "--json")
    command = [*submit, "ingest", "molecules", *mixed, "--engine", "spark", "--lake", str(tmp_path / "lake"), *what]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    outcome = graphkin("ingest", "molecules", *mixed, "--store", tmp_path / "one", *what)
    assert json.loads(done.stdout.splitlines()[-1])["generation"] == json.loads(outcome.out)["generation"]


@pytest.mark.long
def test_too_many_rejections_publish_nothing_and_are_listed(
    context: "SparkContext", mixed: list[str], tmp_path: Path
) -> None:
    """And the pieces that they leave are not mixed with those of the next job."""
    url, listed = str(tmp_path / "lake"), tmp_path / "listed.csv"
    with pytest.raises(InvalidInput, match=r"200 of 2000 records \(10\.0%\) were rejected") as refused:
        ingest(context, url, "c", mixed, resolve(), IngestOptions(max_rejected=0.05, rejections_file=listed))
    assert str(listed) in str(refused.value)
    assert len(listed.read_text().splitlines()) == 201
    assert not (tmp_path / "lake" / "manifest.json").exists()
    ingest(context, url, "c", mixed[:1], resolve(threshold=0.5), OPTIONS)
    with open_lake(url) as lake, lake.open("c") as generation:
        assert generation.manifest.counts.read == 700
        assert generation.check() == []
    assert {path.name for path in (tmp_path / "lake").iterdir()}.isdisjoint({"_work"})


@pytest.mark.long
def test_more_items_than_ids_are_refused_before_any_is_compared(
    context: "SparkContext", mixed: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(items, "MAX_ID", 99)
    with pytest.raises(InvalidInput, match="cannot have so many items"):
        ingest(context, str(tmp_path / "lake"), "c", mixed, resolve(), OPTIONS)
    assert {path.name for path in (tmp_path / "lake").iterdir()} <= {"_work", "rejections"}


@pytest.mark.long
def test_what_is_wrong_with_a_file_is_told_as_one_machine_tells_it(
    context: "SparkContext", mixed: list[str], tmp_path: Path
) -> None:
    cut = tmp_path / "cut.csv.gz"
    cut.write_bytes(Path(mixed[1]).read_bytes()[:-100])
    (tmp_path / "other.csv").write_text("structure\nC\n")
    for file in (cut, tmp_path / "other.csv", tmp_path / "nowhere.smi"):
        with pytest.raises(InvalidInput) as here, open_store(tmp_path / "one", create=True) as store:
            ingest_here(store, "c", [str(file)], resolve(), OPTIONS)
        with pytest.raises(InvalidInput) as there:
            ingest(context, str(tmp_path / "lake"), "c", [str(file)], resolve(), OPTIONS)
        assert str(here.value) == str(there.value)
    with pytest.raises(InvalidInput, match="not a collection name"):
        ingest(context, str(tmp_path / "lake"), "No Name", mixed, resolve(), OPTIONS)
