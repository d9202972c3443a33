"""Names and limits that requests, replies and command-line options share. Depends only on the standard library."""

from typing import Literal, TypeAlias

Kind: TypeAlias = str
"""Kind of items: molecule, graph, node, fingerprint, vector, or a kind that an installed package adds."""

ListedBy = Literal["name", "smiles"]
"""The identifier by which a list of items to remove names them."""

PolicyName = Literal["first_order", "random_walk", "second_order"]
Rank = Literal["top", "count", "exp"]
Pad = Literal["resample", "self"]
Mark = Literal["shared", "differences", "nothing"]
By = Literal["sali", "difference"]
Picking = Literal["maxmin", "sphere"]
ClusterMethod = Literal["butina", "scaffold", "single"]

Access = Literal["read", "sample", "export", "admin"]
"""Permission of an API key.

`read` permits reads and searches, `sample` samples of positives and negatives, `export` exports of whole collections.
`admin` permits everything, including the data for operators.
"""

Exported = Literal["items", "edges", "links", "fingerprints"]
Format = Literal["csv", "parquet", "sdf", "graphml", "arrow", "fps", "npy"]

MAX_SEED = 2**53 - 1
"""Largest seed and epoch: JSON numbers represent all integers up to this one exactly."""

MAX_ID = 2**31 - 1
"""Largest id: ids have 32 bits in files, arrays and replies."""

MAX_BODY = 2 * 2**20
"""Bytes of a request body."""

MAX_HEAD = 64 * 2**10
"""Bytes of a request's head: the request line and all headers."""

MAX_REQUEST_LINE = 32 * 2**10
"""Bytes of a request line: a structure of 10 kB fits even if all of it is percent-encoded."""

MAX_FIELD = 16 * 2**10
"""Bytes of one header, including its name and line end."""

MAX_PAGE = 1000
"""Items, neighbors, components or rejected records per page; hits of a search."""

CLIFF_SIMILARITY = 0.7
"""Default lowest similarity of activity cliffs, unless the stored threshold is larger."""
MAX_CLIFFS = 100_000
"""Pairs in all pages of activity cliffs together."""

MAX_MAPPED = 500_000
"""Items of a collection for which the server computes a map."""

MAX_PICKED = 10_000
"""Items picked by one request."""

MAX_COMPARED = 1_000_000_000
"""Similarities computed by one request to pick items."""

MAX_STRUCTURES = 10_000
"""Structures of one batch search."""

MAX_HITS = 100
"""Hits per structure of a batch search."""

MAX_POSITIVES = 64
"""Positives per anchor."""

MAX_LENGTH = 32
"""Edges of a walk."""

MAX_WALKS = 256
"""Walks per anchor."""

MAX_SHARED = 4096
"""Negatives per batch."""

MAX_ANCHORS = 65_536
"""Anchors of one request for positives."""

MAX_EXPORTED = 10_000
"""Ids of one export."""

MAX_COLUMNS = 1000
"""Columns of one export."""

MAX_FILTERS = 100
"""Filters of one request."""

MAX_PATTERN = 10_000
"""Bytes of a SMARTS."""

MAX_VALUES = 1000
"""Values of one filter."""

MAX_BATCHES = 65_536
"""Batches of negatives per reply, with at most `MAX_NEGATIVES` ids in total."""

MAX_NEGATIVES = 2**24

MAX_NUMBERS = 4096
"""Numbers of a vector."""
