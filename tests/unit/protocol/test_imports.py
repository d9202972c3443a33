"""The protocol imports only pydantic."""

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


def test_protocol_imports_only_pydantic() -> None:
    packages = subprocess.run([sys.executable, "-c", _WHOLE], check=True, capture_output=True, text=True).stdout
    assert "pydantic" in packages
    assert set(json.loads(packages)) <= {"graphkin", *_PYDANTIC}


def test_problems_import_without_pydantic() -> None:
    script = "import sys; sys.modules['pydantic'] = None; from graphkin.protocol import problems"
    subprocess.run([sys.executable, "-c", script], check=True)
