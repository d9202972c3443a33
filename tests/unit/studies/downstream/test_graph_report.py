"""Tables of the results on graphs, from synthetic results."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from graphkin.trainer.downstream.split import stratified_split
from graphkin.trainer.downstream.tu import read_tu
from studies.downstream.comparison import over_splits
from studies.downstream.graph_report import ARMS, FINETUNED, PRETRAINED, SETS, GraphResults, report
from studies.downstream.graph_results import look_alikes

GAIN = {"random": 0.0, "hgc-fo": 0.0, "hgc-ho": 0.1}
OWN = (0, 1, 2, 3)


def results(seeds: Sequence[int]) -> GraphResults:
    """Return results in which high order is better by 0.1, with a tenth of that as noise. Each part takes a minute."""
    random = np.random.default_rng(0)
    synthetic = GraphResults(300, 20, True, [*seeds])
    fold_effect = random.normal(0.7, 0.05, 10)  # all arms share it
    times = {"seconds": 60.0, "processor_seconds": 120.0}

    def accuracy(arm: str, fold: int) -> float:
        return float(fold_effect[fold] + GAIN[arm] + random.normal(0, 0.005))

    synthetic.look_alikes.update((name, {"in_training": 0.25, "ceiling": 0.9}) for name in SETS)
    for without in (None, *OWN):
        folds = range(10) if without is None else [without]
        synthetic.ingest[without] = {"seconds": 60.0}
        for seed in seeds:
            for strategy in PRETRAINED:
                synthetic.pretraining[strategy, seed, without] = times
            for arm in ARMS:
                for name in SETS:
                    scores = [{"accuracy": accuracy(arm, fold)} for fold in folds]
                    synthetic.probes[name, arm, seed, without] = {"scores": scores, **times}
                for name in FINETUNED:
                    for fold in folds:
                        cell = {"accuracy": accuracy(arm, fold), "rc_f1": 0.9, **times}
                        synthetic.finetuning[name, arm, seed, without, fold] = cell
    return synthetic


def rows(text: str, *prefix: str) -> list[list[str]]:
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    return [row for row in cells if row[: len(prefix)] == [*prefix]]


@pytest.mark.parametrize("seeds", [(0,), (0, 1)])
def test_both_settings_have_each_arm_with_its_differences(seeds: Sequence[int]) -> None:
    synthetic = results(seeds)
    text = report(synthetic)
    for transductive, index in ((True, 0), (False, 1)):
        row = rows(text, "IMDB-MULTI", "fine-tuned", "HGC(HO)")[index]
        scores = {arm: synthetic.finetuned("IMDB-MULTI", arm, transductive) for arm in ARMS}
        assert scores["hgc-ho"].shape == (len(seeds), 10 if transductive else 4)
        assert row[3].startswith(f"{scores['hgc-ho'].mean():.4f} ± ")
        assert row[4] == str(over_splits(scores["hgc-ho"] - scores["random"], 0.125))
        assert row[5] == str(over_splits(scores["hgc-ho"] - scores["hgc-fo"], 0.125))
        assert row[6] == "0.9000"
        assert row[4].startswith("**+0.")
        assert rows(text, "REDDIT-BINARY", "probe", "scratch")[index][4:] == ["", "", ""]
        assert "**" not in rows(text, "IMDB-BINARY", "probe", "HGC(FO)")[index][4]
    assert text.count("0 is outside 10 of these 15 intervals") == 2
    assert "nan" not in text


def test_fold_is_scored_by_the_encoder_that_did_not_see_it() -> None:
    synthetic = results([0])
    for fold in OWN:
        synthetic.probes["REDDIT-BINARY", "hgc-fo", 0, fold]["scores"][0]["accuracy"] = fold
        synthetic.finetuning["IMDB-BINARY", "hgc-fo", 0, fold, fold]["accuracy"] = 10 + fold
    assert synthetic.probe("REDDIT-BINARY", "hgc-fo", transductive=False).tolist() == [[*OWN]]
    assert synthetic.finetuned("IMDB-BINARY", "hgc-fo", transductive=False).tolist() == [[10, 11, 12, 13]]


def test_times_count_each_part_once() -> None:
    text = report(results([0, 1]))
    assert rows(text, "ingest")[0][2:] == ["1.0", "4.0"]
    assert rows(text, "pre-training", "HGC(FO)")[0][2:] == ["2.0 (4.0)", "8.0 (16.0)"]
    assert rows(text, "probe", "scratch")[0][2:] == ["6.0 (12.0)", "24.0 (48.0)"]
    assert rows(text, "fine-tuning", "HGC(HO)")[0][2:] == ["40.0 (80.0)", "16.0 (32.0)"]
    assert rows(text, "fine-tuning", "scratch")[0][2:] == ["40.0 (80.0)", ""]


def test_share_of_indistinguishable_graphs_is_reported() -> None:
    assert rows(report(results([0])), "IMDB-MULTI", "25.0%")[0][2:] == ["0.9000"]


def test_look_alikes_of_small_graphs_are_isomorphic(write_tu: Callable[..., Path], tmp_path: Path) -> None:
    """With up to five nodes, colors distinguish all graphs that are not isomorphic."""
    atlas = [graph for graph in nx.graph_atlas_g() if 1 <= len(graph) <= 5]
    graphs = [nx.relabel_nodes(graph, {node: len(graph) - 1 - node for node in graph}) for graph in atlas] + atlas[::2]
    labels = [number % 3 for number in range(len(graphs))]
    data = read_tu(write_tu(tmp_path / "ATLAS", graphs, labels))
    alike = np.array([[nx.is_isomorphic(first, second) for second in graphs] for first in graphs])
    splits = [stratified_split(data.labels, fold) for fold in range(10)]
    seen = sum(alike[np.ix_(split.test, split.train)].any(1).sum() for split in splits)
    votes = {frozenset(np.flatnonzero(row).tolist()) for row in alike}
    right = sum(max(Counter(labels[number] for number in group).values()) for group in votes)
    assert look_alikes(data) == {"in_training": seen / len(graphs), "ceiling": right / len(graphs)}
    assert 0 < seen < len(graphs) > right


def test_published_rows_are_in_the_report() -> None:
    text = report(results([0]))
    assert rows(text, "GIN without pre-training (T2)")[0][1:] == [".734", ".433", ".885"]
    assert "is called rc_f1 here" in text
