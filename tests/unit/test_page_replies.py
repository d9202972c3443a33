"""The page's types are those of the API."""

import re
from pathlib import Path

import pytest

from api import schemas
from store.records import Manifest

REPLIES = Path(__file__).parents[2] / "api" / "ui" / "src" / "api" / "replies.ts"
INTERFACE = re.compile(r"export interface (\w+)(?: extends ([\w, ]+))? \{(.*?)\}", re.DOTALL)

FOUND = {
    name: (parents.split(", ") if parents else [], body)
    for name, parents, body in INTERFACE.findall(REPLIES.read_text(encoding="utf-8"))
}


def fields(name: str) -> set[str]:
    parents, body = FOUND[name]
    return set(re.findall(r"^  (\w+):", body, re.MULTILINE)).union(*map(fields, parents))


@pytest.mark.parametrize("name", sorted(set(FOUND) - {"Manifest"}))
def test_a_reply_has_the_fields_that_the_page_believes(name: str) -> None:
    assert fields(name) == set(getattr(schemas, name).model_fields)


def test_a_manifest_has_the_fields_that_the_page_reads() -> None:
    assert fields("Manifest") <= set(Manifest.model_fields)
