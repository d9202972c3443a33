"""The protocol on machines that have pydantic and little else."""

import json
import subprocess
import sys

_WHOLE = """
import sys
started = set(sys.modules)
import importlib, json, pkgutil
from importlib.metadata import packages_distributions
from graphkin import protocol
for module in pkgutil.iter_modules(protocol.__path__, "graphkin.protocol."):
    importlib.import_module(module.name)
loaded = {name.partition(".")[0] for name in set(sys.modules) - started}
print(json.dumps(sorted(loaded & packages_distributions().keys())))
"""

_PYDANTIC = {"annotated_types", "pydantic", "pydantic_core", "typing_extensions", "typing_inspection"}


def test_the_protocol_needs_pydantic_alone() -> None:
    told = subprocess.run([sys.executable, "-c", _WHOLE], check=True, capture_output=True, text=True).stdout
    assert "pydantic" in told
    assert set(json.loads(told)) <= {"graphkin", *_PYDANTIC}


def test_errors_need_nothing() -> None:
    script = "import sys; sys.modules['pydantic'] = None; from graphkin.protocol import problems"
    subprocess.run([sys.executable, "-c", script], check=True)
