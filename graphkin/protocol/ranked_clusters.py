"""Request for clusters of the items that meet conditions, in an order, and the reply."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from graphkin.protocol.manifest import Histogram
from graphkin.protocol.replies import Cluster, FromClustering, Item, NextCursor
from graphkin.protocol.requests import ClusteredFields, NextPage, QueryFields
from graphkin.protocol.values import MAX_ID, MAX_PAGE, ClusterOrder


class RankedClustersBody(ClusteredFields, QueryFields):
    """A clustering, the items of it that count, and the order of the clusters.

    All items are clustered. The items that count are the result of a query: a source, and conditions that items must
    all meet. The source is at most one of similar, neighbors_of and cluster. The default is all items.
    """

    by: Annotated[
        ClusterOrder,
        Field(
            description="Order of the clusters: `size` is the number of items that count, `mean` and `sd` are the mean "
            "and the standard deviation of the property. Clusters without this number come last."
        ),
    ] = "size"
    descending: Annotated[bool, Field(description="Whether the largest number comes first.")] = True
    min_size: Annotated[
        int, Field(ge=1, le=MAX_ID, description="Smallest number of items that count in a listed cluster.")
    ] = 1

    limit: Annotated[int, Field(ge=1, le=MAX_PAGE, description="Clusters per page.")] = 100
    cursor: NextPage = None

    @model_validator(mode="after")
    def _order_has_property(self) -> Self:
        if self.by != "size" and self.property is None:
            raise ValueError("a property with the order mean or sd")
        return self


class RankedCluster(Cluster):
    """A cluster, and the values of its items that count.

    `matches` is the number of items that count, and `size` the number of all its items. `range` and `sd` summarize the
    property of the items that count. `sd` is their standard deviation, null for fewer than two values.
    """

    matches: int
    sd: float | None


class RankedClustersPage(FromClustering):
    """A page of clusters in the requested order.

    `items` are the centers of the clusters of this page, by id. `total` is the number of listed clusters, `matches` the
    number of items in them that count, and `singletons` the number of listed clusters with one item that counts.
    `sizes` is a histogram of the listed clusters by their items that count, with the bins 1, 2 to 3, 4 to 7 and so on.
    """

    clusters: list[RankedCluster]
    items: list[Item]
    total: int
    matches: int
    singletons: int
    sizes: Histogram
    next_cursor: NextCursor
