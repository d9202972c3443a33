"""Subgraphs around the labeled nodes of a network, by the rule of a checkpoint or of a recipe, for fine-tuning."""

from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from graphkin.similarity.nodes.network import Network
from graphkin.similarity.nodes.recipe import NodeRecipe, resolve_nodes, upgrade
from graphkin.similarity.nodes.subgraphs import node_subgraphs
from graphkin.similarity.recipe import validate_recipe
from graphkin.trainer.downstream.finetune import InitialEncoder
from graphkin.trainer.downstream.nodes import LabeledNodes, Subgraphs, walked
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.network import Network as TrainerNetwork
from graphkin.trainer.features.surroundings import surroundings
from graphkin.trainer.strategy import Walks

_FIELDS = {
    "ppr": {"subgraph", "restart", "max_nodes", "tolerance", "min_visits"},
    "walks": {"subgraph", "restart", "max_nodes", "walks", "seed"},
}
"""Fields of a recipe that decide the subgraphs, by `NodeRecipe.subgraph`."""

SubgraphRule: TypeAlias = NodeRecipe | Walks
"""The recipe of a collection of nodes, or the random walks of the strategy gcc."""

_WALKS_OF_EARLIER_VERSIONS = Walks(fewest=64, unit="walks")


def subgraphs_of_recipe(recipe: NodeRecipe) -> Subgraphs:
    """Return the rule by which `graphkin ingest nodes` with this recipe represents nodes.

    If the nodes of a network have the same names, in the same order, as in the ingest, the subgraphs are the same.
    """

    def around(labeled: LabeledNodes) -> Corpus:
        network = similarity_network(labeled)
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


def similarity_network(labeled: LabeledNodes) -> Network:
    """Return the network of labeled nodes in the form that `graphkin ingest nodes` compares."""
    return _similarity_network(labeled.network, labeled.names)


@lru_cache(maxsize=1)  # predictions take the subgraphs of one network in many blocks
def _similarity_network(network: TrainerNetwork, names: tuple[str, ...]) -> Network:
    owner = np.repeat(np.arange(network.size), network.degree)
    source, target = owner.astype(np.int32), network.indices.astype(np.int32)
    is_first = source < target
    return Network.from_edges(pa.array(names, pa.string()), source[is_first], target[is_first])


def subgraphs_of(rule: SubgraphRule) -> Subgraphs:
    """Return the subgraphs of a rule."""
    return walked(rule) if isinstance(rule, Walks) else subgraphs_of_recipe(rule)


def comparison_recipe(rule: SubgraphRule) -> NodeRecipe:
    """Return the recipe by which nodes are compared: that of the rule, else the default of `graphkin ingest nodes`.

    The default also replaces the kernel "proximity", which compares no subgraphs.
    """
    return rule if isinstance(rule, NodeRecipe) and rule.kernel == "wl" else resolve_nodes()


def rule_as_json(rule: SubgraphRule) -> dict[str, Any]:
    """Return a rule as a JSON object that `rule_from_json` reads."""
    return {"walks": asdict(rule)} if isinstance(rule, Walks) else {"recipe": rule.model_dump(mode="json")}


def rule_from_json(values: Mapping[str, Any]) -> SubgraphRule:
    """Return the rule that `rule_as_json` wrote.

    Raises:
        InvalidInput: The recipe is of a later version.
    """
    if "walks" in values:
        return Walks(**values["walks"])
    return validate_recipe(NodeRecipe, dict(upgrade(values["recipe"])))


def rule_for(start: InitialEncoder, rule: Literal["ppr", "walks"] | None = None) -> SubgraphRule:
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
        return Walks()
    if rule == "ppr" or start.pretraining is None:
        return resolve_nodes()
    if start.pretraining.draws.walks is not None:
        return start.pretraining.draws.walks
    if start.recipe is None:
        return _WALKS_OF_EARLIER_VERSIONS
    return validate_recipe(NodeRecipe, dict(upgrade(start.recipe)))
