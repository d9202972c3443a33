"""What the methods of the client take by name."""

from typing import TypedDict

from graphkin.protocol.values import Pad, Rank


class PolicyOptions(TypedDict, total=False):
    """The parameters of a policy, as `protocol.policy.Policy` explains them; the server knows their defaults."""

    k: int
    length: int
    walks: int
    p: float
    q: float
    p_end: float
    restart: float
    rank: Rank
    pad: Pad
