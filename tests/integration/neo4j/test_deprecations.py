"""No statement that graphkin sends is deprecated on the server.

Statements of this process raise an error anyway (`start_neo4j`). These tests also cover those that only run in other
processes, or in rare cases.
"""

from typing import Any

import neo4j
import pytest
from neo4j.warnings import Neo4jWarning

from graphkin.store.neo4j import cypher

LABEL = cypher.item_label("molecule")


def all_statements() -> dict[str, str]:
    """Return the statements of `graphkin.store.neo4j.cypher` by name."""
    statements = {}
    lists: dict[str, Any] = {**vars(cypher), "item_schema": cypher.item_schema("molecule")}
    for name, value in lists.items():
        for number, text in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(text, str) and ("\n" in text or " " in text) and text != cypher.__doc__:
                statements[f"{name}-{number}" if isinstance(value, list) else name] = _fill(text)
    return {name: text for name, text in statements.items() if not name.startswith("_")}


def _fill(text: str) -> str:
    """Fill in labels and other names, as the adapter does."""
    names = {"label": LABEL, "entity": cypher.entity_label("molecule"), "key": "id"}
    names |= {"place": "`Place`", "index": "`index`", "property": "`vector`"}
    return cypher.fill(text, **names, dimensions=8)


STATEMENTS = all_statements()


def test_statements_are_listed() -> None:
    assert {"SCHEMA-0", "item_schema-0", "CREATE_EDGES", "PROJECT", "PUBLISH", "DELETE_NODES"} <= set(STATEMENTS)


@pytest.fixture(scope="module")
def explain(spare_neo4j: Any) -> Any:
    """Return explain(statement), which plans a statement on the server without running it."""

    def explain(statement: str) -> None:
        spare_neo4j.ask(f"EXPLAIN {statement}")

    return explain


@pytest.mark.parametrize("name", STATEMENTS)
def test_statement_is_not_deprecated(explain: Any, name: str) -> None:
    explain(STATEMENTS[name])


def test_deprecated_statement_raises_an_error(explain: Any, spare_neo4j: Any) -> None:
    for run in (explain, spare_neo4j.ask):
        with pytest.raises(Neo4jWarning, match="deprecated"):
            run("MATCH (n:Nothing) WHERE id(n) = 0 RETURN n.name")


def test_drivers_of_graphkin_ask_for_no_notifications(monkeypatch: pytest.MonkeyPatch, spare_neo4j: Any) -> None:
    """Only tests need them."""
    options = []
    monkeypatch.setattr(neo4j.GraphDatabase, "driver", lambda url, **each: options.append(each))
    from graphkin.store.neo4j.connection import Connection

    Connection(spare_neo4j.url)
    assert {each["notifications_min_severity"] for each in options} == {"OFF"}
