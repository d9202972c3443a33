"""Spark, as an ingest and its likes need it."""

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark import SparkConf, SparkContext

from graphkin.protocol.errors import InvalidInput

_DEFAULTS = {
    "spark.app.name": "graphkin",
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",  # it would listen on every address
    "spark.ui.showConsoleProgress": "false",
}


@contextmanager
def session(master: str | None) -> Iterator[SparkContext]:
    """A running application. `master` None: that of `spark-submit`. What Spark's own configuration says stands.

    Raises `InvalidInput` where Spark does not start.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    conf = SparkConf()
    if master is not None:
        conf.setMaster(master)
    for name, value in _DEFAULTS.items():
        conf.setIfMissing(name, value)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # about pandas, which is not used
            context = SparkContext(conf=conf)
    except Exception as error:  # of Java, or of not finding it
        raise InvalidInput(
            f"Spark does not start: {str(error).splitlines()[0]}",
            given=master,
            expected="local[N], spark://HOST:PORT or another master that Spark knows, and Java 17",
        ) from error
    try:
        yield context
    finally:
        context.stop()
