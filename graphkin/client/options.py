"""Keyword arguments of the client's methods."""

from typing import TypedDict

from graphkin.protocol.values import Pad, Rank


class PolicyOptions(TypedDict, total=False):
    """Parameters of a sampling policy. The server has defaults. `graphkin.protocol.policy.Policy` documents them."""

    k: int
    length: int
    walks: int
    p: float
    q: float
    p_end: float
    restart: float
    rank: Rank
    pad: Pad
