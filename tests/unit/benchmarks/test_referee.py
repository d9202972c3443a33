"""The referee finds the exact neighbors, and its recall is the share of them among the candidates of an engine."""

import json
import sys
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rdkit.Chem import MolFromSmiles
from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator
from rdkit.DataStructs import BulkTanimotoSimilarity

from benchmarks.molecules import generate
from benchmarks.referee import __main__ as command
from benchmarks.referee import measurement
from benchmarks.referee.candidates import Candidates, Exact, find_exact, score
from benchmarks.referee.engines import ENGINES, FaissBinary, _Clusters
from benchmarks.referee.measurement import Case, hash_graph, measure_graph
from benchmarks.referee.report import draw, read_cases, tables
from graphkin.library.inputs import compute_fingerprints
from graphkin.similarity.join import Pairs, SelfJoin
from graphkin.similarity.tanimoto import pairwise_tanimoto
from graphkin.store.records import Float64, Int64, UInt64

COUNT, KS, THRESHOLDS = 300, (5, 20), (0.3, 0.5)


@pytest.fixture(scope="module")
def smiles(nci_smiles: list[str]) -> list[str]:
    return [each for each in nci_smiles if MolFromSmiles(each)][:COUNT]


@pytest.fixture(scope="module")
def words(smiles: list[str]) -> UInt64:
    return compute_fingerprints(smiles)


@pytest.fixture(scope="module")
def similarity(smiles: list[str]) -> Float64:
    """Return (N, N), the similarities by RDKit."""
    generator = GetMorganGenerator(radius=2, fpSize=2048)
    fingerprints = [generator.GetFingerprint(MolFromSmiles(each)) for each in smiles]
    return np.array([BulkTanimotoSimilarity(each, fingerprints) for each in fingerprints])


@pytest.fixture(scope="module")
def rows() -> Int64:
    return np.sort(np.random.default_rng(3).choice(COUNT, 80, replace=False))


@pytest.fixture(scope="module")
def exact(words: UInt64, rows: Int64) -> Exact:
    pairs = Pairs.concatenate(list(SelfJoin(words, min(THRESHOLDS)).pairs()))
    return find_exact(words, rows, KS, pairs, THRESHOLDS, 1)


@pytest.fixture(scope="module")
def nearest(similarity: Float64, rows: Int64) -> Int64:
    """Return (Q, N - 1), the other items of each query, the most similar first, by sorting all similarities."""
    others = similarity[rows].copy()
    others[np.arange(len(rows)), rows] = -1
    return np.argsort(-others, axis=1, kind="stable")[:, :-1]


def judge(lists: Any, words: UInt64, exact: Exact) -> tuple[list[float], list[float | None], list[float | None]]:
    candidates = Candidates.from_lists(lists, exact.rows, len(words))
    scores = score(candidates, candidates.similarities(pairwise_tanimoto(words), exact.rows), exact)
    return [*scores.at_k.values()], [*scores.at_threshold.values()], [*scores.complete.values()]


def test_exact_neighbors_equal_brute_force(exact: Exact, similarity: Float64, nearest: Int64) -> None:
    table = np.take_along_axis(similarity[exact.rows], nearest, axis=1)
    for k, least in zip(KS, exact.least, strict=True):
        np.testing.assert_array_equal(least, table[:, k - 1].astype(np.float32))
    for threshold, degrees in zip(THRESHOLDS, exact.degrees, strict=True):
        np.testing.assert_array_equal(degrees, (table >= threshold).sum(axis=1))


def test_recall_of_all_items_is_1(words: UInt64, exact: Exact) -> None:
    assert judge(np.tile(np.arange(COUNT), (80, 1)), words, exact) == ([1, 1], [1, 1], [1, 1])


def test_recall_without_candidates_is_0(words: UInt64, exact: Exact) -> None:
    assert judge(np.full((80, 3), -1), words, exact) == ([0, 0], [0, 0], [0, 0])


@pytest.mark.parametrize("limit", [1, 3, 5, 12, 100])
def test_recall_of_the_nearest_items_follows_from_their_number(
    limit: int, words: UInt64, exact: Exact, nearest: Int64
) -> None:
    at_k, at_threshold, complete = judge(nearest[:, :limit], words, exact)
    assert at_k == pytest.approx([min(limit, k) / k for k in KS])
    degrees = exact.degrees
    assert at_threshold == pytest.approx([np.minimum(row, limit).sum() / row.sum() for row in degrees])
    assert complete == pytest.approx([(row[row > 0] <= limit).mean() for row in degrees])


@pytest.mark.parametrize("step", [2, 3])
def test_recall_of_every_second_or_third_neighbor(step: int, words: UInt64, exact: Exact, nearest: Int64) -> None:
    """The engine misses the neighbors of rank 0, step, 2 step, and so on, of the d neighbors of each query."""
    kept = nearest[:, np.arange(nearest.shape[1]) % step > 0]
    _, at_threshold, complete = judge(kept, words, exact)
    missed = np.ceil(exact.degrees / step)
    assert at_threshold == pytest.approx(
        [1 - gone.sum() / row.sum() for gone, row in zip(missed, exact.degrees, strict=True)]
    )
    assert complete == [0, 0]


def test_item_as_similar_as_the_kth_counts_as_one_of_the_k() -> None:
    """Items 1 and 2 are equally similar to item 0, and an engine finds only the second one."""
    words = np.array([[0b0111], [0b0011], [0b0101], [0b1000]], np.uint64)
    pairs = Pairs.concatenate(list(SelfJoin(words, 0.5).pairs()))
    exact = find_exact(words, np.array([0]), (1,), pairs, (0.5, 0.9), 1)
    at_k, at_threshold, complete = judge([np.array([2])], words, exact)
    assert (at_k, at_threshold, complete) == ([1], [0.5, None], [0, None])


def test_candidates_ignore_the_query_repetitions_and_fill_values() -> None:
    lists = [np.array([7, 3, 3, -1]), np.array([2**64 - 1, 5, 9], np.uint64), np.array([], np.int64)]
    candidates = Candidates.from_lists(lists, np.array([7, 8, 9]), 9)
    assert candidates.query.tolist() == [0, 1]
    assert candidates.item.tolist() == [3, 5]


@pytest.mark.parametrize("count", [1, 2, 4, 6, 20])
def test_clusters_with_the_nearest_centroids_give_the_candidates(
    count: int, words: UInt64, similarity: Float64
) -> None:
    """Six clusters of consecutive items. The first item of each stands for its centroid."""
    offsets = np.array([0, 10, 30, 100, 180, 290, COUNT])
    members = np.random.default_rng(0).permutation(COUNT)
    clusters = [set(members[begin:stop].tolist()) for begin, stop in pairwise(offsets)]
    centroids = members[offsets[:-1]]
    rows = np.arange(0, COUNT, 7)
    lists = _Clusters(words[centroids], members, offsets).candidates(words[rows], rows, count, 1)
    for row, items in zip(rows.tolist(), lists, strict=True):
        own = next(number for number, cluster in enumerate(clusters) if row in cluster)
        order = np.lexsort((np.arange(6), -similarity[row, centroids].astype(np.float32)))[:count].tolist()
        selection = order if own in order else [*order[: count - 1], own]
        assert set(items.tolist()) == set.union(*(clusters[number] for number in selection))


def test_inverted_lists_grow_with_the_number_of_items() -> None:
    names = [[str(settings["index"]) for settings, _ in FaissBinary().sweep(count)] for count in (100, 1_000_000)]
    assert names == [["BFlat", "BIVF10", "BHNSW32"], ["BFlat", "BIVF1000", "BHNSW32"]]


def make_case(folder: Path, words: UInt64, seed: int = 1) -> Case:
    case = Case("generated", COUNT, seed, 80, THRESHOLDS, KS, 1, folder, folder / "cells")
    folder.mkdir(exist_ok=True)
    np.save(case.fingerprints, words)
    return case


def test_exact_graph_is_reproducible_by_its_hashes(tmp_path: Path, words: UInt64) -> None:
    first, again, other_seed, other_words = (
        measure_graph(make_case(tmp_path / name, fingerprints, seed))["sha256"]
        for name, fingerprints, seed in (("a", words, 1), ("b", words, 1), ("c", words, 2), ("d", words[::-1], 1))
    )
    assert first == again
    assert {name for name in first if first[name] != other_seed[name]} == {"queries"}
    assert all(first[name] != other_words[name] for name in first)


def test_hash_of_the_graph_does_not_depend_on_the_order_of_its_pairs(words: UInt64) -> None:
    pairs = Pairs.concatenate(list(SelfJoin(words, 0.3).pairs()))
    reverse = Pairs(pairs.left[::-1], pairs.right[::-1], pairs.similarity[::-1])
    assert hash_graph(reverse) == hash_graph(pairs)
    assert hash_graph(pairs.take(np.arange(len(pairs)) > 0)) != hash_graph(pairs)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def run(*arguments: str) -> None:
        folders = ["--work", str(tmp_path / "work"), "--cells", str(tmp_path / "cells")]
        monkeypatch.setattr(sys, "argv", ["referee", *folders, *arguments])
        command.main()

    return run


def test_command_measures_an_engine_once(
    run: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--engine", "exact", "--molecules", f"{COUNT}", "--queries", "50", "--thresholds", "0.3", "--k", "10"]
    run(*arguments, "--report", "--figure", str(tmp_path / "figure.svg"))
    output = capsys.readouterr().out
    folder = tmp_path / "cells" / f"generated-{COUNT}-seed-1"
    graph = json.loads((folder / "exact-graph.json").read_text())
    generated = compute_fingerprints(list(generate(COUNT, 1)))
    assert graph["pairs"] == sum(len(pairs) for pairs in SelfJoin(generated, 0.3).pairs()) > 0
    assert graph["sha256"]["graph"] in output
    search = json.loads((folder / "exact" / "default" / "candidates=100.json").read_text())
    assert search["recall"] == {"at_k": {"10": 1}, "at_threshold": {"0.3": 1}, "complete": {"0.3": 1}}
    assert output.splitlines()[-1].endswith("| 100 | 1 | 1 | 1 |")
    assert "<svg" in (tmp_path / "figure.svg").read_text()
    assert not list((tmp_path / "work").glob("*.index"))
    times = {path: path.stat().st_mtime_ns for path in folder.rglob("*.json")}
    run(*arguments)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*.json")} == times


def test_command_says_how_to_install_a_missing_engine(
    run: Callable[..., None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(type(ENGINES["faiss-binary"]), "package", "no_such_package")
    with pytest.raises(SystemExit):
        run("--engine", "exact", "faiss-binary")
    assert "faiss-binary: not installed; run `pip install faiss-cpu`" in capsys.readouterr().err


def test_command_refuses_more_molecules_than_zinc250k_has(
    run: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run("--engine", "exact", "--source", "zinc250k", "--molecules", "300000")
    assert "300,000 molecules of ZINC250k are not available" in capsys.readouterr().err


def test_referee_goes_on_after_an_index_whose_process_crashes(
    tmp_path: Path, words: UInt64, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first index of an engine crashes. The second one is built and searched."""

    def in_process(measure: Callable[..., Any], *arguments: Any) -> Any:
        if arguments[2] == {"index": "BFlat"}:
            raise BrokenProcessPool
        if measure is measurement.measure_build:
            arguments[3].touch()
        return {}

    monkeypatch.setattr(measurement, "in_process", in_process)
    case = make_case(tmp_path, words)
    measurement.judge(case, "faiss-binary")
    assert "faiss-binary, index BFlat: the process crashed" in capsys.readouterr().out
    indexes = {path.parent.name for path in case.cells.rglob("*.json")}
    assert indexes == {"index=BIVF17", "index=BHNSW32"}


def test_command_refuses_more_neighbors_neighbors_than_molecules(
    run: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run("--engine", "exact", "--molecules", "70")
    assert "--k 70 needs more than 70 molecules" in capsys.readouterr().err


def test_report_extrapolates_from_the_queries_and_never_rounds_to_1(tmp_path: Path) -> None:
    """Two searches of 100 of 100,000 items take 2 s and 1 s; the building takes 10 s."""
    folder = tmp_path / "generated-100000-seed-1"
    graph = {
        "molecules": 100_000, "threshold": 0.6, "pairs": 5, "seconds": 1.0, "processor_seconds": 2.0, "peak_mib": 300,
        "queries": 100, "neighbors": {"0.6": {"pairs": 4, "with": 3, "most": 2}}, "sha256": {"graph": "abc"},
    }  # fmt: skip
    build = {
        "engine": "usearch",
        "settings": {"M": 16},
        "seconds": 10.0,
        "processor_seconds": 15.0,
        "peak_mib": 400,
    }
    recall = {"at_k": {"10": 0.99999}, "at_threshold": {"0.6": 1.0}, "complete": {"0.6": 1.0}}
    searches = [
        {"search": {"expansion": size}, "seconds": seconds, "processor_seconds": 3.0, "queries": 100,
         "peak_mib": 500, "candidates": 99.6, "recall": recall}
        for size, seconds in ((1600, 2.0), (400, 1.0))
    ]  # fmt: skip
    (folder / "usearch" / "index").mkdir(parents=True)
    for path, cell in (
        ("exact-graph.json", graph), ("usearch/index/build.json", build),
        ("usearch/index/a.json", searches[0]), ("usearch/index/b.json", searches[1]),
    ):  # fmt: skip
        (folder / path).write_text(json.dumps(cell))
    cases = read_cases(tmp_path)
    assert tables(cases).splitlines()[-2:] == [
        "| usearch | M 16, expansion 400 | 10.0 (15.0) | 10.00 | 1,010 (3,015) | 500 | 100 | .999 | 1 | 1 |",
        "| usearch | M 16, expansion 1600 | 10.0 (15.0) | 20.00 | 2,010 (3,015) | 500 | 100 | .999 | 1 | 1 |",
    ]
    draw(cases, tmp_path / "figure.svg")
    assert "100,000 molecules, generated with seed 1" in (tmp_path / "figure.svg").read_text()
