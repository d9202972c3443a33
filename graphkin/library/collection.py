"""A collection of a store or a server, with all of its methods."""

from graphkin.library.analyses import Analyses
from graphkin.library.changes import Changes
from graphkin.library.matched_pairs import MatchedPairs
from graphkin.library.reports import Reports
from graphkin.library.rgroups import RGroupTables
from graphkin.library.samples import Samples
from graphkin.library.scaffolds import Scaffolds
from graphkin.library.similarity_graph import SimilarityGraph


class Collection(Analyses, RGroupTables, MatchedPairs, Scaffolds, SimilarityGraph, Samples, Reports, Changes):
    """One generation of a collection.

    Results:
        Most methods return a `Table`. Tables of items have the columns id, smiles (for graphs: structure, as JSON),
        names, and one for each property. Tables of hits have similarity after id. A property with the name of an
        earlier column, such as similarity, is in a column with the prefix item_.

    Consistency:
        All methods read the same generation, even after another one is published. Methods that change the collection,
        such as `remove`, publish a generation, which this object reads from then on. Collections on a server cannot be
        changed.

    Thread safety:
        Threads may share a collection while none of them changes it.

    Processes:
        A collection can be pickled, for joblib, dask and multiprocessing. Another process opens the same generation of
        the same store or server. The key of a server is not pickled but read from GRAPHKIN_API_KEY.

    Errors:
        Methods raise the errors of `graphkin.protocol.errors`, such as `InvalidInput`, `NotFound` and `Deleted`. An
        error holds the invalid value, the accepted values and, where there is one, a hint.

    Attributes:
        name: Name of the collection.
        kind: Kind of the items: `molecule`, `graph`, `node`, `fingerprint`, `vector`, or a kind that another package
            registers.
        generation: Id of the generation.
        size: Number of items. Their ids are 0 to size - 1.
        manifest: Recipe, versions, inputs and counts of the generation.
    """
