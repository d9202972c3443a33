"""Subgraphs around the labeled nodes of a network, by the rule of a checkpoint or of a recipe, for fine-tuning."""

from typing import Literal

import numpy as np
import pyarrow as pa

from graphkin.similarity.nodes.network import Network
from graphkin.similarity.nodes.recipe import NodeRecipe, resolve_nodes, upgrade
from graphkin.similarity.nodes.subgraphs import node_subgraphs
from graphkin.similarity.recipe import validate_recipe
from graphkin.trainer.downstream.finetune import InitialEncoder
from graphkin.trainer.downstream.nodes import LabeledNodes, Subgraphs, walked
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.surroundings import surroundings
from graphkin.trainer.strategy import Walks

_FIELDS = {
    "ppr": {"subgraph", "restart", "max_nodes", "tolerance", "min_visits"},
    "walks": {"subgraph", "restart", "max_nodes", "walks", "seed"},
}
"""Fields of a recipe that decide the subgraphs, by `NodeRecipe.subgraph`."""

_WALKS_OF_EARLIER_VERSIONS = Walks(fewest=64, unit="walks")


def subgraphs_of_recipe(recipe: NodeRecipe) -> Subgraphs:
    """Return the rule by which `graphkin ingest nodes` with this recipe represents nodes.

    If the nodes of a network have the same names, in the same order, as in the ingest, the subgraphs are the same.
    """

    def around(labeled: LabeledNodes) -> Corpus:
        owner = np.repeat(np.arange(labeled.network.size), labeled.network.degree)
        source, target = owner.astype(np.int32), labeled.network.indices.astype(np.int32)
        is_first = source < target
        network = Network.from_edges(pa.array(labeled.names, pa.string()), source[is_first], target[is_first])
        parts = [
            surroundings(
                "",
                np.diff(block.node_offsets),
                np.diff(block.edge_offsets),
                block.edges.astype(np.int64),
                np.zeros(len(block), np.int64),
            )
            for block in node_subgraphs(network, recipe, labeled.nodes.astype(np.int32))
        ]
        return Corpus.concatenate(labeled.identity, parts)

    return Subgraphs(recipe.model_dump(mode="json", include=_FIELDS[recipe.subgraph]), around)


def subgraphs_for(start: InitialEncoder, rule: Literal["ppr", "walks"] | None = None) -> Subgraphs:
    """Return the rule of the subgraphs that an encoder is fine-tuned on.

    Args:
        start: The encoder. By default, the rule is that of its pre-training: the random walks of the strategy gcc, or
            the recipe of its collection. Runs from before 0.2 do not record the recipe; the rule is then the default of
            that time, 64 random walks. Without pre-training it is the default of `graphkin ingest nodes`.
        rule: `ppr` for the default of `graphkin ingest nodes`, personalized PageRank, or `walks` for the default walks
            of the strategy gcc, instead of the rule of the pre-training.

    Raises:
        InvalidInput: The recipe of the collection is of a later version.
    """
    if rule == "walks":
        return walked(Walks())
    if rule == "ppr" or start.pretraining is None:
        return subgraphs_of_recipe(resolve_nodes())
    if start.pretraining.draws.walks is not None:
        return walked(start.pretraining.draws.walks)
    if start.recipe is None:
        return walked(_WALKS_OF_EARLIER_VERSIONS)
    return subgraphs_of_recipe(validate_recipe(NodeRecipe, dict(upgrade(start.recipe))))
