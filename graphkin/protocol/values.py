"""Words and bounds that requests, replies and options share. Needs the standard library alone."""

from typing import Literal, TypeAlias

Kind: TypeAlias = str
"""Of items, in lower-case letters: molecule, graph, node, or what an installed package brings."""

ListedBy = Literal["name", "smiles"]
"""What a list of items tells of each."""

PolicyName = Literal["first_order", "random_walk", "second_order"]
Rank = Literal["top", "count", "exp"]
Pad = Literal["resample", "self"]
Mark = Literal["shared", "differences", "nothing"]
By = Literal["sali", "difference"]
Picking = Literal["maxmin", "sphere"]
ClusterMethod = Literal["butina", "scaffold", "single"]

Access = Literal["read", "sample", "export", "admin"]
"""What a key of the API is for: to look and search, to draw positives and negatives, to take whole collections away;
`admin` is all of that, and what operators see."""

Exported = Literal["items", "edges", "links", "fingerprints"]
Format = Literal["csv", "parquet", "sdf", "graphml", "arrow", "fps", "npy"]

MAX_SEED = 2**53 - 1
"""Seeds and epochs run from 0 to here: every integer that JSON numbers carry exactly."""

MAX_ID = 2**31 - 1
"""Ids have 32 bits in files, arrays and replies."""

MAX_BODY = 2 * 2**20
"""Bytes of a request's body."""

MAX_HEAD = 64 * 2**10
"""Bytes of a request's head: the request line and all headers."""

MAX_REQUEST_LINE = 32 * 2**10
"""Bytes of its request line: a structure of 10 kB fits, however much of it is percent-encoded."""

MAX_FIELD = 16 * 2**10
"""Bytes of one header, its name and line end included."""

MAX_PAGE = 1000
"""Items, neighbours, components or rejections on one page; hits of one search."""

CLIFF_SIMILARITY = 0.7
"""Smallest similarity of activity cliffs unless a request names another, or the stored threshold if that is larger."""
MAX_CLIFFS = 100_000
"""Pairs that pages of cliffs lead to, the steepest."""

MAX_MAPPED = 500_000
"""Items of a collection of which a server has a map."""

MAX_PICKED = 10_000
"""Items that one request picks."""

MAX_COMPARED = 1_000_000_000
"""Similarities that one request has computed to pick by."""

MAX_STRUCTURES = 10_000
"""Structures of one batch of searches."""

MAX_HITS = 100
"""Hits of each of them."""

MAX_POSITIVES = 64
"""Positives of an anchor."""

MAX_LENGTH = 32
"""Edges of a walk."""

MAX_WALKS = 256
"""Walks of an anchor."""

MAX_SHARED = 4096
"""Negatives of a batch."""

MAX_ANCHORS = 65_536
"""Anchors of one batch of positives."""

MAX_EXPORTED = 10_000
"""Items of one export that names them."""

MAX_COLUMNS = 1000
"""Columns that one export names."""

MAX_FILTERS = 100
"""Filters of one request."""

MAX_PATTERN = 10_000
"""Bytes of a SMARTS."""

MAX_VALUES = 1000
"""Values that one filter names."""

MAX_BATCHES = 65_536
"""Batches of negatives in one reply, of at most `MAX_NEGATIVES` ids together."""

MAX_NEGATIVES = 2**24

MAX_NUMBERS = 4096
"""Numbers of a vector."""
