"""An ingest by Spark as a process of its own, to be killed: its only argument says all, as JSON."""

import json
import sys

from graphkin.ingest.options import IngestOptions
from graphkin.ingest.runners.spark import session
from graphkin.ingest.stages.job import Sizes
from graphkin.ingest.stages.pipeline import ingest
from graphkin.similarity.kinds import kind_named

if __name__ == "__main__":
    told = json.loads(sys.argv[1])
    recipe = kind_named(told["kind"]).recipe(told["recipe"])
    options = IngestOptions(workers=1, max_rejected=0.2)
    with session(told["master"]) as spark:
        ingest(spark, told["lake"], "c", told["files"], recipe, options, sizes=Sizes(**told["sizes"]))
