"""`graphkin epochs`: files that say what the API replies, whole or continued, on any file system, by either engine."""

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
from graphkin.store.lake.place import Place
from graphkin.store.sampling.base import Sampler

Graphkin = Callable[..., Any]
Draw = Callable[[list[int]], Iterator[EpochPart]]

WALK = Policy.from_name("random_walk")


def _replied(url: str, epoch: int, **query: Any) -> pa.Table:
    accept = {"Accept": "application/vnd.apache.arrow.stream"}
    reply = httpx.get(f"{url}/v1/collections/nci/positives/epochs/{epoch}", params=query, headers=accept, timeout=60)
    if reply.status_code == 503:  # while they are being drawn
        return _replied(url, epoch, **query)
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
def test_the_files_hold_what_the_api_replies(
    graphkin: Graphkin, url: str, store_folder: Path, tmp_path: Path, options: list[str], query: dict[str, Any]
) -> None:
    """Rows, types and provenance."""
    where = ("--store", store_folder, "--collection", "nci", "--output", "out")
    outcome = graphkin("epochs", *where, "--epochs", "3:5", "--seed", 9, *options)
    assert outcome.code == 0, outcome.err
    names = sorted(path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.*"))
    assert names == ["epoch=3/part-00000.parquet", "epoch=4/part-00000.parquet", "manifest.json"]
    for epoch in (3, 4):
        reply = _replied(url, epoch, policy=options[1], seed=9, **query)
        written = pq.ParquetFile(tmp_path / "out" / f"epoch={epoch}" / "part-00000.parquet").read()
        assert written.equals(reply)
        assert written.schema.metadata == reply.schema.metadata


def test_pandas_and_duckdb_read_them_without_us(
    graphkin: Graphkin, url: str, store_folder: Path, tmp_path: Path
) -> None:
    where = ("--store", store_folder, "--collection", "nci", "--output", tmp_path / "out")
    assert graphkin("epochs", *where, "--epochs", 2, "--policy", "first_order").code == 0
    expected = [(e, *row.values()) for e in range(2) for row in _replied(url, e, policy="first_order").to_pylist()]
    with duckdb.connect() as connection:
        columns = "epoch, anchor, count, isolated, positives, visits"
        source = f"read_parquet('{tmp_path}/out/epoch=*/*.parquet', hive_partitioning = true)"
        rows = connection.execute(f"SELECT {columns} FROM {source} ORDER BY epoch, anchor").fetchall()
    assert [(*row[:4], list(row[4]), list(row[5])) for row in rows] == expected
    frame = pd.read_parquet(tmp_path / "out" / "epoch=1" / "part-00000.parquet")
    assert frame["positives"].map(list).tolist() == [row[4] for row in expected if row[0] == 1]


@pytest.fixture
def generation(store_folder: Path) -> Iterator[Generation]:
    with open_store(store_folder) as store, store.open("nci") as opened:
        yield opened


def _order(generation: Generation, place: Place, **other: Any) -> EpochsPlan:
    told = {"policy": WALK, "seed": 1, "epochs": range(2, 4), "rows": 150, **other}
    return EpochsPlan(place, generation.collection, generation.id, generation.size, **told)


@pytest.fixture
def drawing(generation: Generation) -> Callable[..., Draw]:
    """Draws an order's parts, at most so many of them before the machine fails; `asked` gets their numbers."""
    sampler: Sampler = generation.sampler()

    def drawing(order: EpochsPlan, asked: list[int], most: int = 100) -> Draw:
        def drawn(missing: list[int]) -> Iterator[EpochPart]:
            asked.extend(missing)
            for done, task in enumerate(missing):
                if done == most:
                    raise KeyboardInterrupt
                yield order.write_part(sampler, task)

        return drawn

    return drawing


def _contents(place: Place) -> dict[str, bytes]:
    return {name: place.read(name) for name in place.names()}


@pytest.fixture(params=["memory", "file"])
def place_of(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[str], Place]]:
    """Folders of objects, which are never renamed, and of files."""
    root = f"memory://{tmp_path.name}" if request.param == "memory" else f"file://{tmp_path}"
    yield lambda name: Place(f"{root}/{name}")
    fsspec.filesystem("memory").store.clear()


def test_what_was_stopped_goes_on_with_the_parts_that_are_missing(
    generation: Generation, place_of: Callable[[str], Place], drawing: Callable[..., Draw]
) -> None:
    """Three parts an epoch; one of those written was cut short meanwhile, and a file is half written."""
    whole, place = _order(generation, place_of("whole")), place_of("stopped")
    write_epochs(whole, drawing(whole, []))
    order = _order(generation, place)
    asked: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        write_epochs(order, drawing(order, asked, most=4))
    assert "manifest.json" not in place.names()
    place.write("epoch=2/part-00001.parquet", place.read("epoch=2/part-00001.parquet")[:-1])
    place.write("epoch=3/.part-00001.parquet.0.partial", b"half")
    again: list[int] = []
    write_epochs(order, drawing(order, again))
    assert (asked, again) == ([0, 1, 2, 3, 4, 5], [1, 4, 5])
    assert _contents(place) == _contents(whole.place)
    assert len(place.names()) == 7


def test_parts_follow_one_another(
    generation: Generation, place_of: Callable[[str], Place], drawing: Callable[..., Draw]
) -> None:
    order = _order(generation, place_of("cut"))
    told = write_epochs(order, drawing(order, []))
    assert Epochs.from_bytes(order.place.read("manifest.json")) == told
    tables = [pq.read_table(pa.BufferReader(order.place.read(part.name))) for part in told.parts_of(3)]
    assert [len(table) for table in tables] == [150, 150, 100]
    assert pa.concat_tables(tables)["anchor"].to_pylist() == list(range(400))


def test_another_order_begins_anew_and_what_is_published_stays(
    generation: Generation, place_of: Callable[[str], Place], drawing: Callable[..., Draw]
) -> None:
    place = place_of("one")
    begun, order = _order(generation, place, seed=7), _order(generation, place)
    with pytest.raises(KeyboardInterrupt):
        write_epochs(begun, drawing(begun, [], most=2))
    asked: list[int] = []
    write_epochs(order, drawing(order, asked))
    assert asked == [0, 1, 2, 3, 4, 5]
    before = _contents(place)
    write_epochs(order, drawing(order, asked))
    assert len(asked) == 6
    for other in ({"seed": 7}, {"epochs": range(2, 5)}, {"policy": Policy.from_name("first_order")}):
        longer = _order(generation, place, **other)
        with pytest.raises(Conflict, match="other epochs"):
            write_epochs(longer, drawing(longer, []))
    assert _contents(place) == before


def test_the_files_of_others_are_left_alone(
    generation: Generation, place_of: Callable[[str], Place], drawing: Callable[..., Draw]
) -> None:
    """Those too that are named as ours are."""
    for number, name in enumerate(["notes.txt", "epoch=2/part-00000.parquet"]):
        place = place_of(str(number))
        place.write(name, b"mine")
        order = _order(generation, place)
        with pytest.raises(Conflict, match="other files"):
            write_epochs(order, drawing(order, []))
        assert _contents(place) == {name: b"mine"}


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
def test_what_cannot_be_is_refused(graphkin: Graphkin, store_folder: Path, tmp_path: Path, options: list[str]) -> None:
    where = ("--store", store_folder, "--collection", "nci", "--output", "out", "--policy", "first_order")
    assert graphkin("epochs", *where, *options).code in (2, 3)
    assert not list(tmp_path.iterdir())


@pytest.mark.long
def test_spark_writes_the_same_files_from_a_lake(
    graphkin: Graphkin, store_folder: Path, require_tools: Callable[..., None], tmp_path: Path
) -> None:
    """Byte for byte, in one run and in two."""
    require_tools("java")
    assert graphkin("export", "lake", "--store", store_folder, "--collection", "many", "--output", "lake").code == 0
    what = ("--collection", "many", "--epochs", 3, "--policy", "random_walk", "--seed", 2)
    by_spark = ("epochs", "--store", f"file://{tmp_path}/lake", "--engine", "spark", "--master", "local[2]", *what)
    assert graphkin("epochs", "--store", store_folder, *what, "--output", "here").code == 0
    made = graphkin(*by_spark, "--output", "there")
    assert made.code == 0, made.err
    assert _contents(Place(str(tmp_path / "there"))) == _contents(Place(str(tmp_path / "here")))
    shutil.rmtree(tmp_path / "there" / "epoch=1")
    refused = graphkin(*by_spark, "--seed", 3, "--output", "there")
    assert (refused.code, "other epochs" in refused.err) == (2, True)
