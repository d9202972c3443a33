"""Names and limits that requests, replies and command-line options share. Depends only on the standard library."""

from typing import Literal, TypeAlias

Kind: TypeAlias = str
"""Kind of items: molecule, graph, node, fingerprint, vector, or a kind that an installed package adds."""

ListedBy = Literal["name", "smiles"]
"""The identifier of items in a file that lists them."""

RemovedBy = Literal["name", "smiles", "id"]
"""The identifier by which items were removed."""

Duplicates = Literal["first", "mean", "median", "list", "reject"]
"""Rule for the value of an item whose records have different values in a column: the value of the first record, the
mean or the median, all values in a list, or no item, because its records are rejected."""

PolicyName = Literal["first_order", "random_walk", "second_order"]
Rank = Literal["top", "count", "exp"]
Pad = Literal["resample", "self"]
Mark = Literal["shared", "differences", "nothing"]
By = Literal["sali", "difference"]
Picking = Literal["maxmin", "sphere"]
ClusterMethod = Literal["butina", "scaffold", "single"]
ClusterOrder = Literal["size", "mean", "sd"]
"""Order of clusters: by their size, or by the mean or the standard deviation of a property."""

Relation = Literal["identical", "near duplicate", "novel"]
"""Relation of an item of a second set to a first set."""

ComparisonOrder = Literal["id", "closest", "farthest"]
"""Order of compared items: by id, or by the similarity of their nearest item, highest or lowest first."""

TransformationOrder = Literal["count", "mean"]
"""Order of transformations: most pairs first, or largest mean difference first."""

Change = Literal["raise", "lower"]
"""Whether transformations raise or lower a property."""

ClusterEvent = Literal["grew", "shrank", "replaced", "split", "merged", "appeared", "vanished"]
"""Change of a cluster between two generations. `replaced`: its size is the same, but not its items."""

SplitMethod = Literal["components", "min-discard"]

Access = Literal["read", "sample", "export", "write", "metrics", "admin"]
"""Permission of an API key.

`read` permits reads and searches, `sample` samples of positives and negatives, `export` exports of whole collections.
`write` permits new collections and changes of collections, `metrics` the metrics of the server and nothing else, and
`admin` everything.
"""

JobCommand = Literal["ingest", "append", "remove"]
"""Command that a job of a server runs."""

JobState = Literal["running", "done", "failed", "canceled"]
"""State of a job of a server."""

Exported = Literal["items", "edges", "links", "fingerprints"]
Format = Literal["csv", "parquet", "sdf", "graphml", "arrow", "fps", "npy"]

MAX_SEED = 2**53 - 1
"""Largest seed and epoch: JSON numbers represent all integers up to this one exactly."""

MAX_ID = 2**31 - 1
"""Largest id: ids have 32 bits in files, arrays and replies."""

MAX_BODY = 2 * 2**20
"""Maximum size of a request body, in bytes."""

MAX_HEAD = 64 * 2**10
"""Maximum size of a request's head, which is the request line and all headers, in bytes."""

MAX_REQUEST_LINE = 32 * 2**10
"""Maximum size of a request line, in bytes. A structure of 10 kB fits even if every byte is percent-encoded."""

MAX_FIELD = 16 * 2**10
"""Maximum size of one header, including its name and line end, in bytes."""

MAX_PAGE = 1000
"""Maximum number of entries of a page, such as items or neighbors, and of hits of a search."""

BUTINA_THRESHOLD = 0.55
"""Default threshold of Taylor-Butina clustering."""

CLIFF_SIMILARITY = 0.7
"""Default lowest similarity of activity cliffs, unless the stored threshold is larger."""

MAX_CLIFFS = 100_000
"""Maximum number of activity cliffs in all pages together."""

MAX_MAPPED = 500_000
"""Maximum number of items of a collection for which the server computes a map."""

MAX_PLOTTED = 1_000_000
"""Maximum number of items whose numbers one request returns."""

MAX_PLOTTED_COLUMNS = 8
"""Maximum number of numeric columns that such a request names."""

MAX_PICKED = 10_000
"""Maximum number of items that one request picks."""

MAX_COMPARED = 1_000_000_000
"""Maximum number of similarities that the server computes for one request to pick items."""

MAX_STRUCTURES = 10_000
"""Maximum number of structures of one batch search."""

MAX_HITS = 100
"""Maximum number of hits per structure of a batch search."""

MAX_POSITIVES = 64
"""Maximum number of positives per anchor."""

MAX_LENGTH = 32
"""Maximum number of edges of a walk."""

MAX_WALKS = 256
"""Maximum number of walks per anchor."""

MAX_SHARED = 4096
"""Maximum number of negatives per batch."""

MAX_ANCHORS = 65_536
"""Maximum number of anchors of one request for positives."""

MAX_EXPORTED = 10_000
"""Maximum number of ids that a request lists, for an export or as a condition of a query."""

MAX_REMOVED = 100_000
"""Maximum number of names or SMILES of one removal by a server."""

MAX_COLUMNS = 1000
"""Maximum number of columns that a request for items or an export selects."""

MAX_FILTERS = 100
"""Maximum number of filters of one request."""

MAX_PATTERN = 10_000
"""Maximum size of a SMARTS, in bytes."""

MAX_SERIES = 2000
"""Maximum number of molecules of a series whose R groups are found."""

MAX_VALUES = 1000
"""Maximum number of values of one filter."""

MAX_BATCHES = 65_536
"""Maximum number of batches of negatives per reply."""

MAX_NEGATIVES = 2**24
"""Maximum number of negatives per reply, in all its batches together."""

MAX_NUMBERS = 4096
"""Maximum number of dimensions of a vector."""

COMPARISON_THRESHOLD = 0.7
"""Default lowest similarity of a near duplicate."""

MAX_CROSS_COMPARED = 100_000_000_000
"""Maximum product of the numbers of items of two collections that the server compares."""

MAX_PAIRED = 200_000
"""Maximum number of items of a collection in which the server finds matched pairs."""

MAX_LISTED = 1000
"""Maximum number of pairs that a reply lists for one transformation."""

MAX_UNCUT = 100
"""Maximum number of ids that a reply lists for one reason why molecules are not cut."""
