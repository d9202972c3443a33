"""Spark, as an ingest and its likes need it."""

import os
import re
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

_LOCAL = re.compile(r"local(\[(?P<threads>\w+|\*)\])?")
_TRIES = 4  # of a task, as in a cluster; on one machine Spark has only one, so that a record that kills would end a job


@contextmanager
def session(master: str | None) -> Iterator[SparkContext]:
    """A running application. `master` None: that of `spark-submit`. What Spark's own configuration says stands.

    Raises `InvalidInput` where Spark does not start.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    conf = SparkConf()
    if master is not None:
        local = _LOCAL.fullmatch(master)
        conf.setMaster(f"local[{local['threads'] or 1},{_TRIES}]" if local else master)
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
