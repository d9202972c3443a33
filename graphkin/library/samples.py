"""Methods of a collection for training: positives, and graphs for PyTorch Geometric."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

from graphkin.library.queries import Queries
from graphkin.library.table import Table
from graphkin.protocol.errors import require_extra
from graphkin.protocol.manifest import Manifest
from graphkin.protocol.values import PolicyName
from graphkin.store.records import Int32

if TYPE_CHECKING:
    from graphkin.client.options import PolicyOptions
    from graphkin.trainer.features.corpus import Corpus
    from graphkin.trainer.geometric import PositiveSample, PositivesFeed


class Samples(Queries):
    """The methods of a collection for training."""

    def __init__(self, name: str, manifest: Manifest) -> None:
        super().__init__(name, manifest)
        self._corpus: Corpus | None = None

    @abstractmethod
    def positives(
        self,
        ids: Sequence[int] | Int32,
        policy: PolicyName = "first_order",
        *,
        seed: int = 0,
        epoch: int = 0,
        **parameters: "Unpack[PolicyOptions]",
    ) -> Table:
        """Sample the positive set of each anchor.

        The same generation, policy, seed and epoch give the same positives on every machine, whether a store or a
        server is read. A server with `GRAPHKIN_SAMPLER=gds` is the exception (docs/concepts/positives.md).

        Args:
            ids: Ids of the anchors.
            policy: Sampling policy: `first_order`, `random_walk` or `second_order`.
            seed: Seed of the samples, 0 to 2**53 - 1.
            epoch: Epoch of the samples, 0 to 2**53 - 1.
            **parameters: Parameters of the policy, such as `k`. `graphkin.protocol.policy.Policy` explains them.

        Returns:
            One row per anchor, in the order of `ids`: anchor int32; count uint16; isolated bool; positives, k int32,
            all -1 for isolated anchors; visits, k uint16.

        Raises:
            InvalidInput: If a parameter is out of range.
            NotFound: If there is no such item.

        Example:
            ```python
            mine.positives([0, 1, 2], "random_walk", k=5, seed=7)
            ```
        """

    def to_pyg(self, *, workers: int = 1) -> list[Any]:
        """Return each item as a graph of PyTorch Geometric, with the features that the trainer uses.

        The graphs have these tensors, which are views of a few shared ones:

        - x (n, 2) int64: of each node, the atomic number minus 1 (118 for a dummy atom, 119 for a node that is not an
          atom) and the chirality, 0 to 2.
        - edge_index (2, e) int64: each edge in both directions.
        - edge_attr (e, 2) int64: of each edge, the bond type (single, double, triple, aromatic: 0 to 3) and direction.
        - id int: the id of the item.
        - For nodes of big graphs also eigenvectors (n, K) float32 and centre (n,) bool.

        This method needs the extra `trainer`.

        Args:
            workers: Number of processes that parse SMILES.

        Returns:
            One `torch_geometric.data.Data` per item, in id order.

        Raises:
            InvalidInput: If the extra `trainer` is not installed.
            Conflict: If items of this kind, such as fingerprints and vectors, have no features.

        Example:
            ```python
            from torch_geometric.loader import DataLoader

            for batch in DataLoader(mine.to_pyg(), batch_size=64):
                print(batch.num_graphs, batch.x.shape, batch.edge_index.shape, batch.edge_attr.shape)
            ```
        """
        with require_extra("trainer", "graphs for PyTorch Geometric need"):
            from graphkin.trainer.geometric import graphs

            return graphs(self._features(workers))

    def feed(
        self,
        policy: PolicyName = "first_order",
        *,
        batch_size: int = 256,
        seed: int = 0,
        workers: int = 1,
        **parameters: "Unpack[PolicyOptions]",
    ) -> "PositivesFeed":
        """Return a dataset of anchor batches and their positives, for `DataLoader(feed, batch_size=None)`.

        Each iteration over the dataset is one epoch. The positives are those of `positives`, and the features those of
        `to_pyg`. Every item with a neighbor is an anchor once per epoch. This method needs the extra `trainer`.

        Args:
            policy: Sampling policy, as in `positives`.
            batch_size: Number of anchors per batch.
            seed: Seed of the samples and of the order of the anchors.
            workers: Number of processes that parse SMILES.
            **parameters: Parameters of the policy, as in `positives`.

        Returns:
            A dataset that yields pairs of batches: the anchors, and their positives. The positives of anchor i are the
            graphs i * k to (i + 1) * k - 1.

        Raises:
            InvalidInput: If the extra `trainer` is not installed, or an argument is out of range.
            Conflict: If items of this kind, such as fingerprints and vectors, have no features.

        Example:
            ```python
            from torch.utils.data import DataLoader

            feed = mine.feed("random_walk", k=5, batch_size=256, seed=7)
            for anchors, positives in DataLoader(feed, batch_size=None):
                print(anchors.num_graphs, positives.num_graphs, positives.id)
            ```
        """
        with require_extra("trainer", "graphs for PyTorch Geometric need"):
            from graphkin.trainer.geometric import PositiveSample, PositivesFeed

            def sample(anchors: Int32, epoch: int) -> "PositiveSample":
                rows = self.positives(anchors, policy, seed=seed, epoch=epoch, **parameters).arrow.combine_chunks()
                positives = rows["positives"].combine_chunks().flatten().to_numpy()
                return PositiveSample(rows["anchor"].to_numpy(), positives.reshape(len(anchors), -1))

            return PositivesFeed(self._features(workers), sample, batch_size, seed)

    def _features(self, workers: int) -> "Corpus":
        if self._corpus is None or self._corpus.identity != self.generation:
            from graphkin.trainer.feed.kinds import features

            self._corpus = features(self, workers)
        return self._corpus
