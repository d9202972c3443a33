"""The reference pages render every public function and method, each with parameters, results and errors."""

from pathlib import Path

import griffe

import graphkin
from graphkin import client, library
from tests import reference

PENDING = {
    "graphkin.client.synchronous.collection.Collection.cliffs",
    "graphkin.client.synchronous.collection.Collection.cluster",
    "graphkin.client.synchronous.collection.Collection.clusters",
    "graphkin.client.synchronous.collection.Collection.column",
    "graphkin.client.synchronous.collection.Collection.component",
    "graphkin.client.synchronous.collection.Collection.components",
    "graphkin.client.synchronous.collection.Collection.depiction",
    "graphkin.client.synchronous.collection.Collection.edges",
    "graphkin.client.synchronous.collection.Collection.export",
    "graphkin.client.synchronous.collection.Collection.hops",
    "graphkin.client.synchronous.collection.Collection.item",
    "graphkin.client.synchronous.collection.Collection.item_cluster",
    "graphkin.client.synchronous.collection.Collection.items",
    "graphkin.client.synchronous.collection.Collection.mcs",
    "graphkin.client.synchronous.collection.Collection.mcs_depiction",
    "graphkin.client.synchronous.collection.Collection.neighbors",
    "graphkin.client.synchronous.collection.Collection.path",
    "graphkin.client.synchronous.collection.Collection.pick",
    "graphkin.client.synchronous.collection.Collection.positives",
    "graphkin.client.synchronous.collection.Collection.positives_batch",
    "graphkin.client.synchronous.collection.Collection.query",
    "graphkin.client.synchronous.collection.Collection.rejections",
    "graphkin.client.synchronous.collection.Collection.report_charts",
    "graphkin.client.synchronous.collection.Collection.reports",
    "graphkin.client.synchronous.collection.Collection.search",
    "graphkin.client.synchronous.collection.Collection.search_batch",
    "graphkin.client.synchronous.collection.Collection.structure",
    "graphkin.client.synchronous.collection.Collection.structure_depiction",
    "graphkin.client.synchronous.collection.Collection.subgraph",
    "graphkin.client.synchronous.collection.Collection.table",
    "graphkin.client.synchronous.collection.Collection.table_of",
    "graphkin.client.synchronous.server.Graphkin.collection",
    "graphkin.client.synchronous.server.Graphkin.collections",
    "graphkin.client.synchronous.server.Graphkin.livez",
    "graphkin.client.synchronous.server.Graphkin.metrics",
    "graphkin.client.synchronous.server.Graphkin.readyz",
    "graphkin.library.collection.Collection.column",
    "graphkin.library.collection.Collection.feed",
    "graphkin.library.collection.Collection.to_pyg",
    "graphkin.library.collection.Collections.collection",
    "graphkin.library.connect",
    "graphkin.library.open",
    "graphkin.library.table.Table.select",
    "graphkin.library.table.Table.to_pandas",
    "graphkin.library.table.Table.to_pylist",
    "graphkin.protocol.errors.InvalidReply.from_problem",
    "graphkin.protocol.errors.unknown_file_system",
}
"""Functions and methods whose docstring is incomplete. Remove a name when its docstring is complete."""


def test_every_public_name_has_an_entry() -> None:
    public = [getattr(library, name) for name in library.__all__] + [client.Graphkin, client.Collection]
    names = {f"{each.__module__}.{each.__name__}" for each in public}
    assert names - reference.rendered() == set(), "add an entry to a page in docs/reference"
    assert set(graphkin.__all__) <= set(library.__all__)


def test_every_docstring_is_complete() -> None:
    assert {path: parts for path, parts in reference.incomplete().items() if path not in PENDING} == {}


def test_incomplete_docstring_is_seen() -> None:
    code = """
def rows(ids: list[int], k: int) -> Iterator[int]:
    '''Yield rows.

    Args:
        ids: Item ids.

    Example:
        rows([1])
    '''
"""
    (function,) = griffe.visit("m", Path("m.py"), code).members.values()
    assert isinstance(function, griffe.Function)
    assert reference.missing_parts(function) == ["Args: k", "Yields", "Raises", "an example as a block (``` or >>>)"]
