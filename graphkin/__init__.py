"""Similarity graphs of molecules and other items: build, search and sample them.

    import graphkin

    graphkin.ingest("molecules.csv", store="s", collection="c", threshold=0.4)
    c = graphkin.open("s")["c"]                                       # or neo4j://HOST
    c.search("CCO", limit=5).to_pandas()                              # id, similarity, smiles, names, each property
    graphkin.connect("http://127.0.0.1:8000")["c"]                    # the same calls, over HTTP
    graphkin.similar_pairs(smiles, 0.5)                               # all similar pairs of a list, without a store
    graphkin.compare("catalog.smi", "candidates.csv", 0.7)            # overlap, near duplicates and novelty

The command `graphkin` does the same on the command line. Subpackages are imported on first use.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphkin.library import (
        Collection,
        Collections,
        Table,
        TruncatedPairsWarning,
        compare,
        connect,
        ingest,
        open,  # noqa: A004
        similar_pairs,
    )

    __version__: str

__all__ = [
    "Collection",
    "Collections",
    "Table",
    "TruncatedPairsWarning",
    "compare",
    "connect",
    "ingest",
    "open",
    "similar_pairs",
]


_MODULES = ("cluster", "model_selection", "neighbors")
"""Modules for scikit-learn, which `import graphkin` does not import."""


class _CallablePackage(ModuleType):
    """A package that calls the function `graphkin.library.ingest` when it is called.

    The package `graphkin.ingest` and this function have the same name, so `graphkin.ingest` must be both.
    """

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        from graphkin.library import ingest

        return ingest(*arguments, **options)

    @property
    def __wrapped__(self) -> Any:
        """The function, because `inspect.signature` and editors show the signature of `__wrapped__`."""
        from graphkin.library import ingest

        return ingest

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]  # a module may change its own
        """The documentation of the function, which `help`, `inspect.getdoc` and notebooks show."""
        from graphkin.library import ingest

        return ingest.__doc__


import_module("graphkin.ingest").__class__ = _CallablePackage  # cheap: the package's `__init__.py` imports nothing


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("graphkin")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from graphkin import library

    return getattr(library, name)


def __dir__() -> list[str]:
    packages = {name for name, value in globals().items() if isinstance(value, ModuleType)}  # imported so far
    return sorted({*__all__, *packages, *_MODULES, "__version__", "__doc__", "__file__", "__path__"})
