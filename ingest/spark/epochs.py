"""The positives of whole epochs, drawn by Spark from a lake."""

from functools import lru_cache, partial
from typing import TYPE_CHECKING

from graphkin.export.epochs import Order
from graphkin.ingest.spark.engine import spread
from graphkin.protocol.epochs import EpochPart
from graphkin.store import open_lake
from graphkin.store.sampling.base import Sampler

if TYPE_CHECKING:
    from pyspark import SparkContext


def draw(context: "SparkContext", lake: str, order: Order, missing: list[int]) -> list[EpochPart]:
    """For `write_epochs`: a task for each part, byte for byte what one machine writes.

    lake: its URL, which every executor reaches, as it reaches the place of the order. Raises as `Engine.run`.
    """
    return spread(context, "epochs", partial(_drawn, lake, order), missing)


def _drawn(lake: str, order: Order, task: int) -> EpochPart:
    return order.draw(_sampler(lake, order.collection, order.generation), task)


@lru_cache(maxsize=1)
def _sampler(lake: str, collection: str, generation: str) -> Sampler:
    """Spark keeps a process of Python for several tasks; the graph, once fetched, is mapped by all of a machine."""
    return open_lake(lake).open(collection, generation).sampler(threads=1)
