"""A similarity store for molecules and graphs, for the command line (`graphkin`), programs and notebooks.

    import graphkin

    graphkin.ingest("molecules.csv", store="s", collection="c", threshold=0.4)
    c = graphkin.open("s")["c"]                                       # or neo4j://HOST
    c.search("CCO", limit=5).to_pandas()                              # id, similarity, smiles, names, properties
    graphkin.connect("http://127.0.0.1:8000")["c"]                    # the same calls, over HTTP
    graphkin.similar_pairs(fingerprints, 0.5)                         # the join alone

Subpackages are imported on first use.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphkin.library import TruncatedPairsWarning, connect, ingest, open, similar_pairs  # noqa: A004

__all__ = ["TruncatedPairsWarning", "connect", "ingest", "open", "similar_pairs"]


class _CallablePackage(ModuleType):
    """The package `graphkin.ingest`, made callable: the library's function `ingest` has the same name."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        from graphkin.library import ingest as function

        return function(*arguments, **options)

    @property
    def __wrapped__(self) -> Any:
        """The function whose signature `inspect.signature`, and so an editor, shows."""
        from graphkin.library import ingest as function

        return function


import_module("graphkin.ingest").__class__ = _CallablePackage  # the package is empty, so this imports nothing else


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from graphkin import library

    return getattr(library, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
