"""The positives of whole epochs, drawn from a lake by whoever runs tasks."""

from functools import lru_cache, partial

from graphkin.export.epochs import Order
from graphkin.ingest.runners.base import Runner
from graphkin.protocol.epochs import EpochPart
from graphkin.similarity.kind import Advance
from graphkin.store import kept_open
from graphkin.store.sampling.base import Sampler


def draw(runner: Runner, lake: str, order: Order, missing: list[int], advance: Advance) -> list[EpochPart]:
    """For `write_epochs`: a task for each part, byte for byte what one machine writes.

    lake: its URL, which every task reaches, as it reaches the place of the order. Raises as `Runner.run`.
    """
    return runner.run("epochs", partial(_drawn, lake, order), missing, advance)


def _drawn(lake: str, order: Order, task: int, again: bool) -> EpochPart:  # noqa: ARG001 - a part does not kill
    return order.draw(_sampler(lake, order.collection, order.generation), task)


@lru_cache(maxsize=1)
def _sampler(lake: str, collection: str, generation: str) -> Sampler:
    """A process is kept for several tasks; the graph, once fetched, is mapped by all of a machine."""
    return kept_open(lake, collection, generation).sampler(threads=1)
