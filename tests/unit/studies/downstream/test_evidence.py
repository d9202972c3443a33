"""Measures of the experiment equal their definitions, and the report shows its figures."""

import networkx as nx
import numpy as np
import pytest
import torch
from rdkit import Chem
from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator
from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles
from rdkit.DataStructs import TanimotoSimilarity
from scipy.stats import t

from benchmarks.memory import MemorySource
from graphkin.trainer.downstream.split import Split
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.feed.source import Epoch
from graphkin.trainer.model.batch import Assembler
from graphkin.trainer.pretraining.config import Model, PretrainConfig
from graphkin.trainer.pretraining.objective import make_encoder
from studies.downstream.comparison import over_splits
from studies.downstream.evidence_report import ARMS, CONTRASTS, SETS, Cells, pool_contrast, report
from studies.downstream.far import far
from studies.downstream.few import LABELLED, few
from studies.downstream.heldout import measure_retrieval
from studies.downstream.probe import probe


def cells(effect: float = 0.02, seeds: int = 3) -> Cells:
    """Return cells in which the arm `exact` is better than others by about `effect`."""
    made = {}
    for place, arm in enumerate(ARMS):
        for seed in range(seeds):
            rng = np.random.default_rng((place, seed))
            scores = {
                name: [{"auc": 0.7 + effect * (arm == "exact") + 0.01 * rng.standard_normal()} for _ in range(10)]
                for name in SETS
            }
            made[arm, seed] = {
                "sets": {
                    name: {"probe": scores[name], "few": scores[name], "test_share": 0.125, "far": {"auc": 0.6}}
                    for name in SETS
                },
                "heldout": {"retrieval": 0.75},
                "pretraining": {"processor_seconds": 600.0},
                "processor_seconds": 900.0,
            }
    return made


def test_contrast_is_the_random_effects_mean_over_sets() -> None:
    """The weights use the heterogeneity at which Paule and Mandel's statistic equals its expectation."""
    made = cells()
    result = pool_contrast(made, "exact", "shuffled")
    assert result is not None
    differences = {}
    for name in SETS:
        arms = [
            [[each["auc"] for each in made[arm, seed]["sets"][name]["probe"]] for seed in range(3)]
            for arm in ("exact", "shuffled")
        ]
        differences[name] = over_splits(np.subtract(*map(np.array, arms)), 0.125)
        assert result.sets[name] == differences[name]
    means = np.array([each.mean for each in differences.values()])
    variances = np.array([each.error**2 for each in differences.values()])

    def excess(between: float) -> float:
        weights = 1 / (variances + between)
        return float((weights * (means - np.average(means, weights=weights)) ** 2).sum() - 4)

    low, high = 0.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    between = low if excess(0.0) > 0 else 0.0
    weights = 1 / (variances + between)
    mean, error = np.average(means, weights=weights), 1 / np.sqrt(weights.sum())
    assert result.mean == pytest.approx(mean, abs=1e-5)
    assert (result.low, result.high) == pytest.approx(
        (mean - t.ppf(0.975, 4) * error, mean + t.ppf(0.975, 4) * error), abs=1e-5
    )
    assert result.p == pytest.approx(2 * t.sf(mean / error, 4), rel=1e-3)


def test_report_names_missing_measurements() -> None:
    made = {key: cell for key, cell in cells().items() if key[0] != "window" and key != ("augmented", 2)}
    text = report(made)
    assert pool_contrast(made, "exact", "window") is None
    assert "Not measured yet: window." in text
    row = next(line for line in text.splitlines() if line.startswith("| damaged copies | 2 |"))
    assert row.count("|") == 10
    assert all(f"| {ARMS[other]} | 3 |" in text for _, other in CONTRASTS if other not in ("window", "augmented"))


def test_few_labels_are_sampled_in_proportion() -> None:
    rng = np.random.default_rng(0)
    labels = (rng.random((1000, 1)) < 0.06).astype(np.int8)
    rows = rng.standard_normal((1000, 4)) + labels
    parts = np.split(rng.permutation(1000), [800, 900])
    split = Split(*map(np.sort, parts))
    result = few(rows, labels, split, 3)
    assert result.omitted == 0
    assert result == few(rows, labels, split, 3)
    assert result.auc != few(rows, labels, split, 4).auc
    assert 0.6 < result.auc <= probe(rows, labels, split).auc + 0.05
    assert LABELLED == 100


def test_far_actives_have_another_scaffold_and_low_similarity(nci_smiles: list[str]) -> None:
    """Computed from RDKit's definitions, over all actives."""
    smiles = nci_smiles[:150]
    molecules = [Chem.MolFromSmiles(each) for each in smiles]
    scaffolds = [MurckoScaffoldSmiles(mol=molecule) for molecule in molecules]
    rng = np.random.default_rng(1)
    labels = rng.integers(-1, 2, (150, 2)).astype(np.int8)
    labels[:, 1] = -1
    embedded = rng.standard_normal((150, 8)).astype(np.float32)
    prints = [GetMorganGenerator(radius=2, fpSize=2048).GetFingerprint(each) for each in molecules]
    actives = np.flatnonzero(labels[:, 0] == 1)
    queries = np.random.default_rng(0).permutation(actives)[:50]
    areas = []
    for query in queries:
        others = [
            other
            for other in range(150)
            if labels[other, 0] >= 0
            and scaffolds[other] != scaffolds[query]
            and TanimotoSimilarity(prints[query], prints[other]) < 0.3
        ]
        unit = [row / np.linalg.norm(row) for row in embedded.astype(float)]
        wins = [
            (unit[one] @ unit[query] > unit[two] @ unit[query])
            + 0.5 * (unit[one] @ unit[query] == unit[two] @ unit[query])
            for one in others
            for two in others
            if labels[one, 0] == 1 and labels[two, 0] == 0
        ]
        if wins:
            areas.append(np.mean(wins))
    result = far(embedded, smiles, scaffolds, labels)
    assert result["queries"] == len(areas)
    assert result["auc"] == pytest.approx(np.mean(areas), abs=1e-12)


def test_held_out_anchors_are_the_last_and_not_trained_on() -> None:
    """Equal trees are ties, which rounding breaks: only hits beyond rounding are certain."""
    size, nodes = 200, 30
    sizes = np.full(size, nodes)
    edges = np.concatenate([np.array(nx.random_labeled_tree(nodes, seed=item).edges) for item in range(size)])
    corpus = Corpus.from_edges("trees", sizes, sizes - 1, edges)
    config = PretrainConfig.from_strategy("hgc-fo", kind="graph", batch_size=8, seed=2)
    items = np.arange(size)
    twins = Epoch(np.repeat(items[:, None], 3, axis=1).astype(np.int32), np.empty((0, 0), np.int32))
    torch.manual_seed(0)
    encoder = make_encoder(Model(layers=2, width=8))
    result = measure_retrieval(encoder, MemorySource(corpus, config.draws, [twins]), config, used=100)
    assert result["anchors"] == 96  # 25 batches of 8, 13 of which hold one of the first 100
    order = np.arange(size)
    np.random.default_rng((2, 0)).shuffle(order)
    margins = []
    with torch.no_grad():
        for step in range(13, 25):
            batch = order[step * 8 : step * 8 + 8]
            z = torch.nn.functional.normalize(encoder.eval().graphs(Assembler(corpus).batch(batch)), dim=1)
            cosines = (z @ z.T).numpy()
            others = np.where(np.eye(8, dtype=bool), -1, cosines).max(axis=1)
            margins += [*(np.diag(cosines) - others)]
    certain, possible = (np.mean(np.array(margins) > rounding) for rounding in (1e-6, -1e-6))
    assert certain > 0.8
    assert certain <= result["retrieval"] <= possible


def test_resumed_run_has_no_time() -> None:
    """Its time was not measured completely, so the time of its arm is that of the other runs."""
    made = cells()
    made["exact", 0]["pretraining"] = {}
    rows = report(made).partition("## Minutes")[2].splitlines()
    assert next(row for row in rows if ARMS["exact"] in row).endswith("| 3 | 10.0 | 15.0 |")
    for seed in range(3):
        made["exact", seed]["pretraining"] = {}
    rows = report(made).partition("## Minutes")[2].splitlines()
    assert next(row for row in rows if ARMS["exact"] in row).endswith("| 3 |  |  |")


def test_cell_of_a_card_has_no_processor_time() -> None:
    made = cells()
    del made["untrained", 2]["processor_seconds"]
    rows = report(made).partition("## Minutes")[2].splitlines()
    assert next(row for row in rows if ARMS["untrained"] in row).endswith("| 3 | 10.0 | 15.0 |")
