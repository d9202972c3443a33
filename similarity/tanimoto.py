"""Packed fingerprints compared by Tanimoto similarity: all pairs of a collection, and any fingerprint against it."""

from collections.abc import Iterator

import numpy as np

from graphkin.protocol.errors import StoreFormat
from graphkin.similarity.hits import NOTHING, Hits
from graphkin.similarity.join import JoinPlan, Pairs
from graphkin.similarity.kind import Advance, Query, Search
from graphkin.similarity.planes import TILE, BitLists, BitPlanes
from graphkin.similarity.popcount import common_pairs, common_with, minimum_common
from graphkin.similarity.stored_index import stored_index
from graphkin.similarity.tiles import similar_in_tiles
from graphkin.similarity.window import Similarity
from graphkin.store.base import Generation, rounded
from graphkin.store.records import Float64, Int32, Int64, UInt64

_LEAST = 1e-6  # below any similarity of fingerprints that share a bit
_TILES = 64  # searched at a time: 32,768 items
