"""What Spark makes of files is what one machine makes of them, byte for byte, however the work is cut."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyspark
import pytest

import graphkin
from graphkin.ingest.pipeline import IngestOptions
from graphkin.ingest.pipeline import ingest as by_one_machine
from graphkin.ingest.spark.job import Sizes
from graphkin.ingest.spark.pipeline import ingest
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.manifest import Manifest
from graphkin.similarity.graphs.recipe import resolve_graphs
from graphkin.similarity.molecules.recipe import resolve
from graphkin.similarity.recipe import Recipe
from graphkin.store import open_lake, open_store
from graphkin.store.files import sha256_at
from graphkin.store.transfer import copy_generation

SMALL = Sizes(records=600, group=1000, owners=500, block=400, columns=2, room=1000)
COMMAND = Path(graphkin.__path__[0]) / "__main__.py"
OPTIONS = IngestOptions(workers=1, max_rejected=0.2)


def _files(folder: Path) -> dict[str, str]:
    """SHA-256 by name, but for the search index and the manifest."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {
        path.relative_to(folder).as_posix(): sha256_at(path)
        for path in files
        if not path.name.startswith("index.") and path.name != "manifest.json"
    }


def _told(manifest: Manifest) -> dict[str, Any]:
    """All that it says but when, how long and where."""
    return manifest.model_dump(exclude={"published_at", "times", "fragments"})


@pytest.fixture
def equal(context: Any, tmp_path: Path) -> Callable[..., None]:
    """Ingests the files by both, and compares what comes of it: as lakes, and loaded into folders."""

    def compare(files: list[str], recipe: Recipe, sizes: Sizes) -> None:
        with open_store(tmp_path / "one", create=True) as store:
            expected = by_one_machine(store, "c", files, recipe, OPTIONS)
        made = ingest(context, str(tmp_path / "lake"), "c", files, recipe, OPTIONS, sizes=sizes)
        assert _told(made) == _told(expected)
        with open_lake(str(tmp_path / "lake")) as lake, lake.open("c") as generation:
            assert generation.check() == []
            with open_store(tmp_path / "loaded", create=True) as loaded:
                copy_generation(generation, loaded)
        assert _files(tmp_path / "loaded" / "collections") == _files(tmp_path / "one" / "collections")
        assert not list((tmp_path / "lake").glob("_work/**/*.json"))

    return compare


def test_molecules_in_small_pieces(equal: Callable[..., None], mixed: list[str]) -> None:
    """Many parts, groups, shards, blocks and merged forests; a cap that most items feel."""
    equal(mixed, resolve(threshold=0.3, top_k=4), SMALL)


def test_graphs(equal: Callable[..., None], shapes: Path) -> None:
    equal([str(shapes)], resolve_graphs(), Sizes(records=16, group=50, owners=10))


@pytest.mark.long
@pytest.mark.parametrize(
    ("options", "sizes"),
    [
        ({"threshold": 0.3, "top_k": 4}, Sizes()),
        ({"threshold": 0.3, "top_k": 0}, SMALL),
        ({"preset": "paper"}, SMALL),
        ({"inchikey": True, "threshold": 0.5}, Sizes(records=1, group=1, owners=64, block=513, columns=1)),
        ({"threshold": 0.2, "top_k": 1}, Sizes(records=100, group=100, owners=1000, block=64, columns=7, room=10)),
    ],
)
def test_molecules_however_the_work_is_cut(
    equal: Callable[..., None], mixed: list[str], options: dict[str, Any], sizes: Sizes
) -> None:
    equal(mixed, resolve(options.pop("preset", "default"), **options), sizes)


def test_by_the_command(graphkin: Callable[..., Any], mixed: list[str], tmp_path: Path) -> None:
    """In a process of its own, as there is one Java machine to a process."""
    told = ("--collection", "c", "--max-rejected", "0.2", "--top-k", "3", "--json")
    by_spark = ("--engine", "spark", "--master", "local[2]", "--lake", "lake", "--store", "store")
    command = [sys.executable, "-m", "graphkin", "ingest", "molecules", mixed[0], *by_spark, *told]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    outcome = graphkin("ingest", "molecules", mixed[0], "--store", tmp_path / "one", *told)
    assert json.loads(done.stdout)["generation"] == json.loads(outcome.out)["generation"]
    assert _files(tmp_path / "store" / "collections") == _files(tmp_path / "one" / "collections")


@pytest.mark.long
def test_by_spark_submit(graphkin: Callable[..., Any], mixed: list[str], tmp_path: Path) -> None:
    """With the same arguments but for the master. It puts what goes to standard error before what is printed."""
    spark_submit = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
    submit = [spark_submit, "--master", "local[2]", str(COMMAND)]
    told = ("--collection", "c", "--max-rejected", "0.2", "--json")
    command = [*submit, "ingest", "molecules", *mixed, "--engine", "spark", "--lake", str(tmp_path / "lake"), *told]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    outcome = graphkin("ingest", "molecules", *mixed, "--store", tmp_path / "one", *told)
    assert json.loads(done.stdout.splitlines()[-1])["generation"] == json.loads(outcome.out)["generation"]


def test_what_the_command_cannot_do_is_told(graphkin: Callable[..., Any], mixed: list[str], tmp_path: Path) -> None:
    assert graphkin("ingest", "molecules", *mixed, "--collection", "c", "--engine", "spark", "--store", "s").code == 2
    assert graphkin("ingest", "molecules", *mixed, "--collection", "c").code == 2


def test_too_many_rejections_publish_nothing(context: Any, mixed: list[str], tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"200 of 2000 records \(10\.0%\) were rejected"):
        ingest(context, str(tmp_path / "lake"), "c", mixed, resolve(), IngestOptions(max_rejected=0.05))
    assert not (tmp_path / "lake" / "manifest.json").exists()


def test_what_is_wrong_with_a_file_is_told_as_one_machine_tells_it(
    context: Any, mixed: list[str], tmp_path: Path
) -> None:
    cut = tmp_path / "cut.csv.gz"
    cut.write_bytes(Path(mixed[1]).read_bytes()[:-100])
    (tmp_path / "other.csv").write_text("structure\nC\n")
    for file in (cut, tmp_path / "other.csv", tmp_path / "nowhere.smi"):
        with pytest.raises(InvalidInput) as here, open_store(tmp_path / "one", create=True) as store:
            by_one_machine(store, "c", [str(file)], resolve(), OPTIONS)
        with pytest.raises(InvalidInput) as there:
            ingest(context, str(tmp_path / "lake"), "c", [str(file)], resolve(), OPTIONS)
        told = [str(each.value) for each in (here, there)]
        assert told[0] == told[1]
    with pytest.raises(InvalidInput, match="not a collection name"):
        ingest(context, str(tmp_path / "lake"), "No Name", mixed, resolve(), OPTIONS)


def test_pieces_of_another_job_are_not_mixed_in(context: Any, mixed: list[str], tmp_path: Path) -> None:
    """One that ended when too many records were rejected has left some; the next finds none of its own."""
    url = str(tmp_path / "lake")
    with pytest.raises(InvalidInput):
        ingest(context, url, "c", mixed, resolve(), IngestOptions(max_rejected=0.05))
    ingest(context, url, "c", mixed[:1], resolve(threshold=0.5), OPTIONS)
    with open_lake(url) as lake, lake.open("c") as generation:
        assert generation.manifest.counts.read == 700
        assert generation.check() == []
    assert {path.name for path in (tmp_path / "lake").iterdir()}.isdisjoint({"_work"})
