"""The command `graphkin epochs` writes the replies of the API to files on any file system, with either engine."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import fsspec
import httpx
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphkin.export.epochs import EpochsPlan, write_epochs
from graphkin.protocol.epochs import EpochPart, Epochs
from graphkin.protocol.errors import Conflict
from graphkin.protocol.policy import Policy
from graphkin.store import open_store
from graphkin.store.base import Generation
from graphkin.store.lake.export_folder import ExportFolder
from graphkin.store.sampling.base import Sampler

Graphkin = Callable[..., Any]
Draw = Callable[[list[int]], Iterator[EpochPart]]

WALK = Policy.from_name("random_walk")


def _fetch_epoch(url: str, epoch: int, **query: Any) -> pa.Table:
    accept = {"Accept": "application/vnd.apache.arrow.stream"}
    reply = httpx.get(f"{url}/v1/collections/nci/positives/epochs/{epoch}", params=query, headers=accept, timeout=60)
    if reply.status_code == 503:  # The epoch is still being sampled.
        return _fetch_epoch(url, epoch, **query)
    assert reply.status_code == 200, reply.text
    with pa.ipc.open_stream(reply.content) as stream:
        return stream.read_all()


@pytest.mark.parametrize(
    ("options", "query"),
    [
        (["--policy", "random_walk", "--rank", "top", "--pad", "self"], {"rank": "top", "pad": "self"}),
        (["--policy", "first_order", "--k", "2"], {"k": 2}),
        (["--policy", "second_order"], {}),
    ],
)
def test_files_equal_the_replies_of_the_api(
    graphkin: Graphkin, url: str, store_folder: Path, tmp_path: Path, options: list[str], query: dict[str, Any]
) -> None:
    """Rows, types and provenance are equal."""
    place = ("--store", store_folder, "--collection", "nci", "--output", "out")
    outcome = graphkin("epochs", *place, "--epochs", "3:5", "--seed", 9, *options)
    assert outcome.code == 0, outcome.err
    names = sorted(path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.*"))
    assert names == ["epoch=3/part-00000.parquet", "epoch=4/part-00000.parquet", "manifest.json"]
    for epoch in (3, 4):
        reply = _fetch_epoch(url, epoch, policy=options[1], seed=9, **query)
        written = pq.ParquetFile(tmp_path / "out" / f"epoch={epoch}" / "part-00000.parquet").read()
        assert written.equals(reply)
        assert written.schema.metadata == reply.schema.metadata


def test_pandas_and_duckdb_read_the_files(graphkin: Graphkin, url: str, store_folder: Path, tmp_path: Path) -> None:
    place = ("--store", store_folder, "--collection", "nci", "--output", tmp_path / "out")
    assert graphkin("epochs", *place, "--epochs", 2, "--policy", "first_order").code == 0
    expected = [(e, *row.values()) for e in range(2) for row in _fetch_epoch(url, e, policy="first_order").to_pylist()]
    with duckdb.connect() as connection:
        columns = "epoch, anchor, count, isolated, positives, visits"
        source = f"read_parquet('{tmp_path}/out/epoch=*/*.parquet', hive_partitioning = true)"
        rows = connection.execute(f"SELECT {columns} FROM {source} ORDER BY epoch, anchor").fetchall()
    assert [(*row[:4], list(row[4]), list(row[5])) for row in rows] == expected
    frame = pd.read_parquet(tmp_path / "out" / "epoch=1" / "part-00000.parquet")
    assert frame["positives"].map(list).tolist() == [row[4] for row in expected if row[0] == 1]


@pytest.fixture
def generation(store_folder: Path) -> Iterator[Generation]:
    with open_store(store_folder) as store, store.open("nci") as nci:
        yield nci


def _order(generation: Generation, export_folder: ExportFolder, **other: Any) -> EpochsPlan:
    options = {"policy": WALK, "seed": 1, "epochs": range(2, 4), "rows": 150, **other}
    return EpochsPlan(export_folder, generation.collection, generation.id, generation.size, **options)


@pytest.fixture
def sample_order(generation: Generation) -> Callable[..., Draw]:
    """Return a function that samples the parts of an order and fails after `most` parts. It adds part numbers to
    `requested`.
    """
    sampler: Sampler = generation.sampler()

    def sample_order(order: EpochsPlan, requested: list[int], most: int = 100) -> Draw:
        def sample_parts(missing: list[int]) -> Iterator[EpochPart]:
            requested.extend(missing)
            for finished, task in enumerate(missing):
                if finished == most:
                    raise KeyboardInterrupt
                yield order.write_part(sampler, task)

        return sample_parts

    return sample_order


def _contents(export_folder: ExportFolder) -> dict[str, bytes]:
    return {name: export_folder.read(name) for name in export_folder.names()}


@pytest.fixture(params=["memory", "file"])
def make_export_folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[str], ExportFolder]]:
    """Yield a function that returns a folder of objects, which cannot be renamed, or of files."""
    root = f"memory://{tmp_path.name}" if request.param == "memory" else f"file://{tmp_path}"
    yield lambda name: ExportFolder(f"{root}/{name}")
    fsspec.filesystem("memory").store.clear()


def test_stopped_order_continues_with_the_missing_parts(
    generation: Generation, make_export_folder: Callable[[str], ExportFolder], sample_order: Callable[..., Draw]
) -> None:
    """There are three parts per epoch. One of the written parts was truncated, and one file is incomplete."""
    complete, export_folder = _order(generation, make_export_folder("whole")), make_export_folder("stopped")
    write_epochs(complete, sample_order(complete, []))
    order = _order(generation, export_folder)
    requested: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        write_epochs(order, sample_order(order, requested, most=4))
    assert "manifest.json" not in export_folder.names()
    export_folder.write("epoch=2/part-00001.parquet", export_folder.read("epoch=2/part-00001.parquet")[:-1])
    export_folder.write("epoch=3/.part-00001.parquet.0.partial", b"half")
    requested_again: list[int] = []
    write_epochs(order, sample_order(order, requested_again))
    assert (requested, requested_again) == ([0, 1, 2, 3, 4, 5], [1, 4, 5])
    assert _contents(export_folder) == _contents(complete.export_folder)
    assert len(export_folder.names()) == 7


def test_parts_have_consecutive_anchors(
    generation: Generation, make_export_folder: Callable[[str], ExportFolder], sample_order: Callable[..., Draw]
) -> None:
    order = _order(generation, make_export_folder("cut"))
    options = write_epochs(order, sample_order(order, []))
    assert Epochs.from_bytes(order.export_folder.read("manifest.json")) == options
    tables = [pq.read_table(pa.BufferReader(order.export_folder.read(part.name))) for part in options.parts_of(3)]
    assert [len(table) for table in tables] == [150, 150, 100]
    assert pa.concat_tables(tables)["anchor"].to_pylist() == list(range(400))


def test_another_order_starts_from_scratch_and_keeps_published_epochs(
    generation: Generation, make_export_folder: Callable[[str], ExportFolder], sample_order: Callable[..., Draw]
) -> None:
    export_folder = make_export_folder("one")
    stopped_order, order = _order(generation, export_folder, seed=7), _order(generation, export_folder)
    with pytest.raises(KeyboardInterrupt):
        write_epochs(stopped_order, sample_order(stopped_order, [], most=2))
    requested: list[int] = []
    write_epochs(order, sample_order(order, requested))
    assert requested == [0, 1, 2, 3, 4, 5]
    before = _contents(export_folder)
    write_epochs(order, sample_order(order, requested))
    assert len(requested) == 6
    for other in ({"seed": 7}, {"epochs": range(2, 5)}, {"policy": Policy.from_name("first_order")}):
        longer = _order(generation, export_folder, **other)
        with pytest.raises(Conflict, match="other epochs"):
            write_epochs(longer, sample_order(longer, []))
    assert _contents(export_folder) == before


def test_foreign_files_are_not_overwritten(
    generation: Generation, make_export_folder: Callable[[str], ExportFolder], sample_order: Callable[..., Draw]
) -> None:
    """Files with the names of parts are foreign too."""
    for number, name in enumerate(["notes.txt", "epoch=2/part-00000.parquet"]):
        export_folder = make_export_folder(str(number))
        export_folder.write(name, b"mine")
        order = _order(generation, export_folder)
        with pytest.raises(Conflict, match="other files"):
            write_epochs(order, sample_order(order, []))
        assert _contents(export_folder) == {name: b"mine"}


@pytest.mark.parametrize(
    "options",
    [
        *(["--epochs", given] for given in ("0", "3:3", "-1:2", "a", "4:2", "0:1000001")),
        ["--epochs", "1", "--engine", "spark"],
        ["--epochs", "1", "--master", "local[2]"],
        ["--epochs", "1", "--k", "65"],
        ["--epochs", "1", "--generation", "0000"],
    ],
)
def test_invalid_options_are_refused(
    graphkin: Graphkin, store_folder: Path, tmp_path: Path, options: list[str]
) -> None:
    place = ("--store", store_folder, "--collection", "nci", "--output", "out", "--policy", "first_order")
    assert graphkin("epochs", *place, *options).code in (2, 3)
    assert not list(tmp_path.iterdir())


@pytest.mark.long
def test_spark_writes_the_same_files_from_a_lake(
    graphkin: Graphkin, store_folder: Path, require_tools: Callable[..., None], tmp_path: Path
) -> None:
    """Byte for byte, in one run and in two."""
    require_tools("java")
    assert graphkin("export", "lake", "--store", store_folder, "--collection", "many", "--output", "lake").code == 0
    arguments = ("--collection", "many", "--epochs", 3, "--policy", "random_walk", "--seed", 2)
    by_spark = ("epochs", "--store", f"file://{tmp_path}/lake", "--engine", "spark", "--master", "local[2]", *arguments)
    assert graphkin("epochs", "--store", store_folder, *arguments, "--output", "here").code == 0
    outcome = graphkin(*by_spark, "--output", "there")
    assert outcome.code == 0, outcome.err
    assert _contents(ExportFolder(str(tmp_path / "there"))) == _contents(ExportFolder(str(tmp_path / "here")))
    shutil.rmtree(tmp_path / "there" / "epoch=1")
    refused = graphkin(*by_spark, "--seed", 3, "--output", "there")
    assert (refused.code, "other epochs" in refused.err) == (2, True)
