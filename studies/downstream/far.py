"""Retrieval of dissimilar actives: those with another scaffold and a low Morgan similarity.

Plain retrieval by an embedding that was trained on fingerprints is circular. Actives that fingerprints find easily are
therefore excluded.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem, DataStructs, rdBase
from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import normalize

QUERIES = 50
"""Maximum number of actives of a task that serve as queries, sampled with a fixed seed."""

CEILING = 0.3
"""Upper bound of the Morgan similarity (radius 2, 2,048 bits) to the query."""


def far(
    embedded: NDArray[np.floating], smiles: Sequence[str], scaffolds: Sequence[str], labels: NDArray[np.int8]
) -> dict[str, float]:
    """Return the ROC-AUC of ranking actives before inactives by cosine similarity to an active query.

    Each query ranks the molecules with another scaffold and a Morgan similarity below `CEILING`. The result is the mean
    over a task's queries, then over tasks.

    Args:
        embedded: (N, D) embeddings.
        smiles: N SMILES.
        scaffolds: N scaffolds.
        labels: (N, T) 1, 0, or -1 if missing.

    Returns:
        `auc`, and `queries`, the number of scored queries.
    """
    rows = normalize(embedded.astype(np.float64))
    with rdBase.BlockLogs():
        generator = GetMorganGenerator(radius=2, fpSize=2048)
        prints = [generator.GetFingerprint(Chem.MolFromSmiles(each)) for each in smiles]
    group = np.unique(np.array(scaffolds), return_inverse=True)[1]
    tasks, count = [], 0
    for number, column in enumerate(labels.T):
        actives = np.flatnonzero(column == 1)
        sample = np.random.default_rng(number).permutation(actives)[:QUERIES]
        scores = []
        for query in sample:
            near = np.array(DataStructs.BulkTanimotoSimilarity(prints[query], prints))
            others = np.flatnonzero((column >= 0) & (group != group[query]) & (near < CEILING))
            if len(np.unique(column[others])) == 2:
                scores.append(roc_auc_score(column[others], rows[others] @ rows[query]))
        count += len(scores)
        if scores:
            tasks.append(np.mean(scores))
    return {"auc": float(np.mean(tasks)), "queries": count}
