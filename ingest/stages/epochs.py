"""Tasks that sample the positive sets of whole epochs from a Parquet export."""

from functools import lru_cache, partial

from graphkin.export.epochs import EpochsPlan
from graphkin.ingest.runners.base import Runner
from graphkin.protocol.epochs import EpochPart
from graphkin.similarity.kind import Advance
from graphkin.store import open_cached
from graphkin.store.sampling.base import Sampler


def sample_parts(runner: Runner, lake: str, plan: EpochsPlan, missing: list[int], advance: Advance) -> list[EpochPart]:
    """Sample missing parts for `write_epochs`, one task per part. The files equal those that one machine writes.

    Args:
        runner: Runs the tasks.
        lake: URL of the export. Every task must be able to reach the export, and the destination in the plan.
        plan: The requested epochs.
        missing: Numbers of the missing parts.
        advance: Advances the progress bar.

    Raises:
        InvalidInput, StoreError: As `Runner.run` raises them.
    """
    return runner.run("epochs", partial(_sample_part, lake, plan), missing, advance)


def _sample_part(lake: str, plan: EpochsPlan, task: int, is_retry: bool) -> EpochPart:  # noqa: ARG001 - no part crashes its process
    return plan.write_part(_sampler(lake, plan.collection, plan.generation), task)


@lru_cache(maxsize=1)
def _sampler(lake: str, collection: str, generation: str) -> Sampler:
    """Return the sampler of a generation. It is cached because a process runs several tasks.

    All processes of a machine map the same files of the graph.
    """
    return open_cached(lake, collection, generation).sampler(threads=1)
