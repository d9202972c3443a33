"""Keyword arguments of the client's methods."""

from typing import TypedDict

from graphkin.protocol.values import Pad, Rank


class PolicyOptions(TypedDict, total=False):
    """Parameters of a policy, documented in `graphkin.protocol.policy.Policy`. The server has their defaults."""

    k: int
    length: int
    walks: int
    p: float
    q: float
    p_end: float
    restart: float
    rank: Rank
    pad: Pad
