"""The layout of pretrain-gnns, the code of Hu et al. (2020): other names for the same weights.

Atom types, chirality, bond types and bond directions have the same codes as in graphkin: 120 atom types, of which 119
is the mask, 3 chiralities, 6 bond types with self-loops and mask, and 3 directions.
"""

from collections.abc import Mapping

from torch import Tensor

from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.pretraining.config import Model

_PREFIXES = {
    "inputs.atom_type.": "x_embedding1.",
    "inputs.chirality.": "x_embedding2.",
    "convolutions.": "gnns.",
    "norms.": "batch_norms.",
}
_PARTS = {".bond_type.": ".edge_embedding1.", ".bond_direction.": ".edge_embedding2."}


def foreign_name(name: str) -> str:
    """Return the name in pretrain-gnns of a weight of an encoder."""
    for ours, theirs in _PREFIXES.items():
        if name.startswith(ours):
            name = theirs + name.removeprefix(ours)
    for ours, theirs in _PARTS.items():
        name = name.replace(ours, theirs)
    return name


def model_of(weights: Mapping[str, Tensor], encoder: str | None, source: str) -> Model:
    """Return the architecture of weights in this layout.

    Args:
        weights: The weights by their names in pretrain-gnns.
        encoder: Kind of convolution; None to infer it from the names of the weights. Only GIN has names of its own.
        source: The file, for errors.

    Raises:
        InvalidInput: The weights are not in this layout, or have the names of GCN and GraphSAGE and `encoder` is None.
    """
    atom_types = weights.get("x_embedding1.weight")
    layers = {name.split(".")[1] for name in weights if name.startswith("gnns.")}
    if atom_types is None or atom_types.ndim != 2 or not layers:
        raise InvalidInput(
            "this file does not have the layout of pretrain-gnns",
            given=f"{source} with {', '.join([*weights][:3]) or 'no weights'}",
            expected="the state_dict of a GNN of pretrain-gnns, with x_embedding1.weight and gnns.0.*",
            hint="save the GNN alone, without the layer that predicts: torch.save(model.gnn.state_dict(), FILE)",
        )
    if encoder is None and "gnns.0.mlp.0.weight" in weights:
        encoder = "gin"
    if encoder is None:
        raise InvalidInput(
            "GCN and GraphSAGE have the same names of weights",
            given=source,
            expected="the kind of convolution",
            hint="add --encoder gcn or --encoder sage, as the weights were trained",
        )
    return Model(encoder, len(layers), atom_types.shape[1])
