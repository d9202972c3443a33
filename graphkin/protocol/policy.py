"""How positives are drawn: the policy of a request, validated once and part of its replay key."""

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
    """How the positives of an anchor are drawn (docs/method.md).

    name    first_order: neighbours, proportional to similarity, without replacement;
            random_walk: vertices visited by `walks` walks of at most `length` edges, ranked by visits;
            second_order: P_i(j) + Σ_k P_i(k) P_k(j), without replacement.
    k       positives per anchor, 1 to 64; by default 3 for first and second order, 5 for random walks.
    length  edges per walk, 1 to 32.   walks  walks per anchor, 1 to 256.
    p, q    node2vec's return and in-out parameters, > 0; 1 leaves the walk unbiased.
    p_end   probability in [0, 1) that a walk ends after a step.
    restart probability in [0, 1) that after a step a walk that goes on is back at the anchor, which takes a step too
            (random walk with restart: Tong et al., 2006).
    rank    top: the k most visited, distinct; count, exp: k draws with replacement proportional to the visits or to
            their exponential.
    pad     what follows when there are fewer than k distinct candidates: resample them, or the anchor itself.

    Raises pydantic's `ValidationError`.
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
    def _default_k(cls, given: Any) -> Any:
        if isinstance(given, dict) and given.get("k") is None:
            return {**given, "k": 5 if given.get("name") == "random_walk" else 3}
        return given

    @classmethod
    def of(cls, name: str, **explicit: Any) -> Self:
        """The policy `name` with what was said explicitly; None stands for the default."""
        return cls.model_validate(
            {"name": name, **{key: value for key, value in explicit.items() if value is not None}}
        )

    def canonical(self) -> str:
        """The policy as its replay key sees it: JSON of its name and of the parameters that can change a draw."""
        matters = {"name", "k", "pad"}
        if self.name == "random_walk":
            matters = set(type(self).model_fields)
            if self.rank != "top":  # the other rankings draw with replacement and never pad
                matters -= {"pad"}
            if not self.restart:  # walks are drawn as before there were restarts
                matters -= {"restart"}
        return json.dumps(self.model_dump(include=matters), sort_keys=True)
