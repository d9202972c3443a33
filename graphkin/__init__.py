"""A similarity store for molecules and graphs: the command `graphkin`, and the same for programs and notebooks.

    import graphkin

    graphkin.ingest("molecules.csv", store="s", collection="c", threshold=0.4)
    c = graphkin.open("s")["c"]                                       # or neo4j://HOST
    c.search("CCO", limit=5).to_pandas()                              # id, similarity, smiles, names, properties
    graphkin.connect("http://127.0.0.1:8000")["c"]                    # the same calls, of a server
    graphkin.similar_pairs(fingerprints, 0.5)                         # the join alone

Rooms are imported when something of them is needed.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphkin.library import TruncatedPairsWarning, connect, ingest, open, similar_pairs  # noqa: A004

__all__ = ["TruncatedPairsWarning", "connect", "ingest", "open", "similar_pairs"]


class _Called(ModuleType):
    """The room `graphkin.ingest`, which is a function of the library's too: Python has one name for both."""

    def __call__(self, *given: Any, **options: Any) -> Any:
        from graphkin.library import ingest as called

        return called(*given, **options)

    @property
    def __wrapped__(self) -> Any:
        """Where `inspect.signature`, and so an editor, looks for parameters."""
        from graphkin.library import ingest as called

        return called


import_module("graphkin.ingest").__class__ = _Called  # it is empty: this imports nothing else


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from graphkin import library

    return getattr(library, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
