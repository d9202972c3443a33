"""Methods of a collection that return its similarity graph: edges, and the graph in forms of other libraries."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphkin.library.queries import Queries
from graphkin.library.table import Table
from graphkin.protocol.errors import require_extra, require_package
from graphkin.store.records import Float32, Int32

if TYPE_CHECKING:
    import igraph
    import networkx
    from scipy.sparse import csr_array


class SimilarityGraph(Queries):
    """The methods of a collection that return its similarity graph."""

    def edges(
        self,
        *,
        complete: bool = False,
        min_similarity: float | None = None,
        start: int = 0,
        stop: int | None = None,
    ) -> Table:
        """Return the stored edges or all similar pairs, ordered by source, then target.

        The first result without pairs that the collection's top-k limit truncated issues a `TruncatedPairsWarning`.

        Args:
            complete: Whether to compare all items again, by an exact join without the top-k limit. Two million
                molecules take about 70 s at 0.5. A pair takes 24 bytes of memory during the call and 12 bytes in the
                result. A call whose pairs do not fit into the available memory is refused.
            min_similarity: Smallest similarity. The default is the stored threshold. Only complete pairs may be less
                similar.
            start: Smallest source.
            stop: Source to stop before. The default is all sources.

        Returns:
            One row per edge: source int32, target int32 > source, similarity float32.

        Raises:
            InvalidInput: If `min_similarity` is out of range, or the pairs do not fit into memory.
            Conflict: If `complete` is set and the collection is read from a server.

        Example:
            ```python
            networkx.from_pandas_edgelist(mine.edges(min_similarity=0.7).to_pandas())
            mine.edges(complete=True, min_similarity=0.3)
            ```
        """
        self._warn_of_truncated_pairs(complete)
        return Table(self._edges(min_similarity, start, stop, complete))

    def to_scipy(self, *, complete: bool = False, min_similarity: float | None = None) -> "csr_array":
        """Return the similarity graph as a sparse matrix. This method needs the extra `sklearn`.

        Args:
            complete: Whether to compare all items again, as in `edges`.
            min_similarity: Smallest similarity, as in `edges`.

        Returns:
            A symmetric (N, N) `scipy.sparse.csr_array` of float32 similarities, whose rows and columns are ids. Its
            diagonal is empty.

        Raises:
            InvalidInput: If SciPy is not installed, or as `edges` raises it.
            Conflict: As `edges` raises it.

        Example:
            ```python
            similarity = mine.to_scipy(min_similarity=0.5)
            degrees = numpy.diff(similarity.indptr)
            ```
        """
        with require_extra("sklearn", "sparse matrices need"):
            from scipy.sparse import coo_array

        self._warn_of_truncated_pairs(complete)
        source, target, similarity = self._edge_arrays(min_similarity, complete)
        ends = np.concatenate([source, target]), np.concatenate([target, source])
        matrix = coo_array((np.concatenate([similarity, similarity]), ends), shape=(self.size, self.size)).tocsr()
        matrix.sort_indices()
        return matrix

    def to_networkx(
        self, *, complete: bool = False, min_similarity: float | None = None, columns: Sequence[str] = ()
    ) -> "networkx.Graph":
        """Return the similarity graph as a graph of NetworkX.

        Args:
            complete: Whether to compare all items again, as in `edges`.
            min_similarity: Smallest similarity, as in `edges`.
            columns: Columns of `items` that become attributes of the nodes, such as `smiles` and `names`.

        Returns:
            A graph with one node per item, which is its id. Edges have the attribute `similarity`.

        Raises:
            InvalidInput: If there is no such column, or as `edges` raises it.
            Conflict: As `edges` raises it.

        Example:
            ```python
            graph = mine.to_networkx(min_similarity=0.6, columns=["smiles", "names"])
            parts = [*networkx.connected_components(graph)]
            ```
        """
        import networkx

        self._warn_of_truncated_pairs(complete)
        source, target, similarity = (each.tolist() for each in self._edge_arrays(min_similarity, complete))
        graph = networkx.Graph()
        graph.add_nodes_from(range(self.size))
        for name, values in self._attributes(columns).items():
            networkx.set_node_attributes(graph, dict(enumerate(values)), name)
        graph.add_weighted_edges_from(zip(source, target, similarity, strict=True), weight="similarity")
        return graph

    def to_igraph(
        self, *, complete: bool = False, min_similarity: float | None = None, columns: Sequence[str] = ()
    ) -> "igraph.Graph":
        """Return the similarity graph as a graph of igraph. This method needs the package `igraph`.

        Args:
            complete: Whether to compare all items again, as in `edges`.
            min_similarity: Smallest similarity, as in `edges`.
            columns: Columns of `items` that become attributes of the vertices, such as `smiles` and `names`.

        Returns:
            A graph with one vertex per item, whose index is its id. Edges have the attribute `similarity`.

        Raises:
            InvalidInput: If igraph is not installed, there is no such column, or as `edges` raises it.
            Conflict: As `edges` raises it.

        Example:
            ```python
            graph = mine.to_igraph(min_similarity=0.6, columns=["smiles"])
            communities = graph.community_leiden(objective_function="modularity", weights="similarity")
            ```
        """
        with require_package("igraph", "graphs of igraph need"):
            import igraph

        self._warn_of_truncated_pairs(complete)
        source, target, similarity = self._edge_arrays(min_similarity, complete)
        return igraph.Graph(
            n=self.size,
            edges=np.stack([source, target], axis=1),
            edge_attrs={"similarity": similarity.tolist()},
            vertex_attrs=self._attributes(columns),
        )

    def _edge_arrays(self, min_similarity: float | None, complete: bool) -> tuple[Int32, Int32, Float32]:
        """Return the sources, targets and similarities of `edges` as arrays."""
        source, target, similarity = self._edges(min_similarity, 0, None, complete).columns
        return source.to_numpy(), target.to_numpy(), similarity.to_numpy()

    def _attributes(self, columns: Sequence[str]) -> dict[str, list[Any]]:
        """Return columns of all items as lists, by name."""
        items = self.items(columns=columns)
        return {name: items[name].to_pylist() for name in columns}
