"""An ingest by Spark as a process of its own, to be killed: its only argument says all, as JSON."""

import json
import sys

from graphkin.ingest.pipeline import IngestOptions
from graphkin.ingest.spark.job import Sizes
from graphkin.ingest.spark.pipeline import ingest
from graphkin.ingest.spark.session import session
from graphkin.similarity.molecules.recipe import resolve

if __name__ == "__main__":
    told = json.loads(sys.argv[1])
    options = IngestOptions(workers=1, max_rejected=0.2)
    with session(told["master"]) as context:
        made = ingest(
            context, told["lake"], "c", told["files"], resolve(**told["recipe"]), options, sizes=Sizes(**told["sizes"])
        )
    print(made.generation)
