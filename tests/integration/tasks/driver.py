"""An ingest by Spark in its own process, which tests kill. Its only argument is a JSON object."""

import json
import sys

from graphkin.ingest.options import IngestOptions
from graphkin.ingest.runners.spark import session
from graphkin.ingest.stages.job import Sizes
from graphkin.ingest.stages.pipeline import ingest
from graphkin.similarity.kinds import kind_named

if __name__ == "__main__":
    arguments = json.loads(sys.argv[1])
    recipe = kind_named(arguments["kind"]).recipe(arguments["recipe"])
    options = IngestOptions(workers=1, max_rejected=0.2)
    with session(arguments["master"]) as spark:
        ingest(spark, arguments["lake"], "c", arguments["files"], recipe, options, sizes=Sizes(**arguments["sizes"]))
