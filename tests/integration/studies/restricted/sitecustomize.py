"""Hide every installed package except those in the environment variable, as on a machine without them."""

import importlib.metadata
import json
import os
import sys
from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder
from typing import Any

_ALLOWED = json.loads(os.environ["ALLOWED_PACKAGES"])


class Restricted:
    """Finds modules like `PathFinder`, except for packages that are not allowed."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
        top = name.partition(".")[0]
        allowed = top in _ALLOWED["modules"] or top in sys.stdlib_module_names or top.startswith("_sysconfigdata")
        return PathFinder.find_spec(name, path, target) if allowed else None

    invalidate_caches = staticmethod(PathFinder.invalidate_caches)
    find_distributions = staticmethod(PathFinder.find_distributions)


def _from_name(name: str) -> importlib.metadata.Distribution:
    distribution = _original_from_name(name)
    installed = "site-packages" in str(distribution.locate_file(""))
    if installed and name.lower().replace("_", "-") not in _ALLOWED["distributions"]:
        raise importlib.metadata.PackageNotFoundError(name)
    return distribution


_original_from_name = importlib.metadata.Distribution.from_name
importlib.metadata.Distribution.from_name = staticmethod(_from_name)  # type: ignore[method-assign]
sys.meta_path[:] = [BuiltinImporter, FrozenImporter, Restricted]
