"""Sampling policies of positives."""

import json
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator

from graphkin.protocol.frozen import Frozen
from graphkin.protocol.values import MAX_LENGTH, MAX_POSITIVES, MAX_WALKS, Pad, PolicyName, Rank

Positives = Annotated[int, Field(ge=1, le=MAX_POSITIVES)]
Length = Annotated[int, Field(ge=1, le=MAX_LENGTH)]
Walks = Annotated[int, Field(ge=1, le=MAX_WALKS)]
Bias = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Chance = Annotated[float, Field(ge=0, lt=1), AfterValidator(abs)]  # abs: -0.0 is the same policy as 0.0


class Policy(Frozen):
    """The policy by which the positives of an anchor are sampled (docs/concepts/positives.md).

    Attributes:
        name: "first_order" samples neighbors with probability proportional to similarity, without replacement.
            "random_walk" ranks the vertices that `walks` walks of at most `length` edges visit. "second_order" samples
            by P_i(j) + Σ_k P_i(k) P_k(j), without replacement.
        k: Positives per anchor, 1 to 64; by default 3 for first and second order, 5 for random walks.
        length: Edges per walk, 1 to 32.
        walks: Walks per anchor, 1 to 256.
        p: node2vec's return parameter, > 0; 1 leaves the walk unbiased.
        q: node2vec's in-out parameter, > 0; 1 leaves the walk unbiased.
        p_end: Probability in [0, 1) that a walk ends after a step.
        restart: Probability in [0, 1) that a walk that does not end after a step returns to the anchor, which counts as
            a step (random walk with restart: Tong et al., 2006).
        rank: "top" takes the k most visited vertices. "count" and "exp" sample k with replacement, with probability
            proportional to the visits or to their exponential.
        pad: What to add if there are fewer than k distinct candidates: "resample" them, or the anchor itself ("self").

    Raises:
        ValidationError: A parameter is invalid.
    """

    name: PolicyName
    k: Positives
    length: Length = 2
    walks: Walks = 5
    p: Bias = 1.0
    q: Bias = 1.0
    p_end: Chance = 0.0
    restart: Chance = 0.0
    rank: Rank = "exp"
    pad: Pad = "resample"

    @model_validator(mode="before")
    @classmethod
    def _default_k(cls, values: Any) -> Any:
        if isinstance(values, dict) and values.get("k") is None:
            return {**values, "k": 5 if values.get("name") == "random_walk" else 3}
        return values

    @classmethod
    def from_name(cls, name: str, **explicit: Any) -> Self:
        """Return the policy `name` with the parameters in `explicit`; None stands for the default."""
        return cls.model_validate(
            {"name": name, **{key: value for key, value in explicit.items() if value is not None}}
        )

    def canonical(self) -> str:
        """Return the policy as part of the replay key: JSON of the name and the parameters that affect a sample."""
        fields = {"name", "k", "pad"}
        if self.name == "random_walk":
            fields = set(type(self).model_fields)
            if self.rank != "top":  # the other rankings sample with replacement and never pad
                fields -= {"pad"}
            if not self.restart:  # keeps the keys of walks sampled before this parameter existed
                fields -= {"restart"}
        return json.dumps(self.model_dump(include=fields), sort_keys=True)
