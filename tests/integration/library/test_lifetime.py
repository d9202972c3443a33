"""Collections are closed, pickled and used by other processes."""

import gc
import pickle
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from weakref import getweakrefcount

import joblib
import pytest
from dask.base import compute
from dask.delayed import delayed

import graphkin
from graphkin.library import Collection, Collections
from graphkin.protocol.errors import Closed, NotFound, Unauthorized
from graphkin.protocol.keys import create_key
from graphkin.store import open_store

Serve = Callable[..., AbstractContextManager[str]]
QUERIES = ["CCO", "c1ccccc1O", "CC(=O)Oc1ccccc1C(=O)O", "CCN"]


@pytest.fixture(params=["folder", "http"])
def opened(request: pytest.FixtureRequest, folder: Path, serve: Serve) -> Iterator[Collections]:
    """Yield the collections of a folder and of a server, for a test that closes them."""
    if request.param == "folder":
        yield graphkin.open(folder)
    else:
        with serve(folder) as url:
            yield graphkin.connect(url)


def first_hits(collection: Collection, smiles: str) -> list[dict[str, Any]]:
    return collection.search(smiles, limit=3).to_pylist()


def test_closed_collection_raises_an_error(opened: Collections) -> None:
    collection, other = opened["c"], opened["c"]
    collection.close()
    collection.close()
    calls: list[Callable[[], object]] = [
        lambda: collection.search("CCO"),
        lambda: collection.neighbors(0),
        lambda: collection.items(),
        lambda: collection.edges(),
        lambda: collection.clusters(),
        lambda: collection.positives([0]),
    ]
    for call in calls:
        with pytest.raises(Closed, match=r"the collection is closed\n.*given: c\n.*\n.*hint: open it again"):
            call()
    assert (collection.name, collection.generation) == ("c", other.generation)
    assert len(other.search("CCO", limit=3)) == 3


def test_closing_the_collections_closes_each_of_them(opened: Collections) -> None:
    with opened as collections:
        one, other = collections["c"], collections.collection("c")
    for collection in (one, other):
        with pytest.raises(Closed):
            collection.search("CCO")
    for call in (lambda: opened["c"], lambda: [*opened], lambda: len(opened)):
        with pytest.raises(Closed, match="open it again"):
            call()
    assert repr(opened) == f"{type(opened).__name__}(closed)"


def test_pickled_collection_gives_the_same_results(collection: Collection) -> None:
    copy = pickle.loads(pickle.dumps(collection))
    assert type(copy) is type(collection)
    assert (copy.name, copy.generation, copy.size) == (collection.name, collection.generation, collection.size)
    assert first_hits(copy, "CCO") == first_hits(collection, "CCO")
    copy.close()
    assert first_hits(collection, "CCO")


def test_pickled_collections_share_one_store(opened: Collections) -> None:
    collections, collection = pickle.loads(pickle.dumps([opened, opened["c"]]))
    assert [*collections] == [*opened] == ["c"]
    collections.close()
    with pytest.raises(Closed):
        collection.search("CCO")


def test_copies_of_a_pickle_do_not_affect_each_other(folder: Path, tmp_path: Path) -> None:
    collection = graphkin.open(shutil.copytree(folder, tmp_path / "store"))["c"]
    content = pickle.dumps(collection)
    first, second, third = (pickle.loads(content) for _ in range(3))
    first.close()
    second.remove(ids=[0])
    for unchanged in (third, pickle.loads(content), collection):
        assert (unchanged.size, unchanged.items(ids=[0])["id"].to_pylist()) == (second.size + 1, [0])
        assert first_hits(unchanged, "CCO") == first_hits(collection, "CCO")
    with pytest.raises(Closed):
        first.search("CCO")


def test_unpickled_copies_leave_nothing_behind(folder: Path) -> None:
    content = pickle.dumps(graphkin.open(folder)["c"])
    kept = pickle.loads(content)
    before = getweakrefcount(kept._open)  # the reader, which all copies share
    for _ in range(5):
        pickle.loads(content)
    gc.collect()
    assert getweakrefcount(kept._open) == before


def test_pickle_holds_no_key(folder: Path, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = tmp_path / "store"
    shutil.copytree(folder, store)
    key, stored_key = create_key("reader", ["read", "export"])
    with open_store(store) as opened:
        opened.keys().add(stored_key)
    with serve(store) as url:
        with graphkin.connect(url, key=key) as collections:
            expected = first_hits(collections["c"], "CCO")
            content = pickle.dumps(collections["c"])
        assert key.encode() not in content
        with pytest.raises(Unauthorized, match="GRAPHKIN_API_KEY"):
            pickle.loads(content)
        monkeypatch.setenv("GRAPHKIN_API_KEY", key)
        assert first_hits(pickle.loads(content), "CCO") == expected


def test_joblib_searches_in_worker_processes(folder: Path) -> None:
    with graphkin.open(folder) as collections:
        collection = collections["c"]
        calls = [joblib.delayed(first_hits)(collection, smiles) for smiles in QUERIES]
        assert joblib.Parallel(n_jobs=2)(calls) == [first_hits(collection, smiles) for smiles in QUERIES]


@pytest.mark.long
def test_dask_searches_in_worker_processes(folder: Path) -> None:
    with graphkin.open(folder) as collections:
        collection = collections["c"]
        calls = [delayed(first_hits)(collection, smiles) for smiles in QUERIES]
        (hits,) = compute(calls, scheduler="processes", num_workers=2)
        assert hits == [first_hits(collection, smiles) for smiles in QUERIES]


def test_temporary_store_is_removed_with_its_last_collection(molecules_file: Path) -> None:
    collection = graphkin.ingest(molecules_file, workers=1)
    content = pickle.dumps(collection)
    copy = pickle.loads(content)
    assert first_hits(copy, "CCO") == first_hits(collection, "CCO")
    content_of_copy = pickle.dumps(copy)
    del collection
    gc.collect()
    for each in (content, content_of_copy):
        with pytest.raises(NotFound, match="the temporary store of this collection is gone"):
            pickle.loads(each)
