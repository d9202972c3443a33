"""The page of each command names exactly the fields that `--json` prints."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PAGES = Path(__file__).parents[2] / "docs" / "reference" / "commands"
MOLECULES = ["CCO", "CCN", "CCCO", "c1ccccc1O", "c1ccccc1N", "Cc1ccccc1O", "not a molecule"]
LINES = "".join(f"{smiles},m{row},{row}.5\n" for row, smiles in enumerate(MOLECULES))

COMMANDS = {
    "append": "append more.csv",
    "cliffs": "cliffs --property activity --output cliffs.csv",
    "cluster": "cluster --method butina --output clusters.csv",
    "compact": "compact",
    "delete": "delete --generation {generation} --yes",
    "export-lake": "export lake --output lake",
    "ingest-molecules": "ingest molecules m.csv --max-rejected 1",
    "lineage": "lineage --method butina --before {generation} --output lineage.csv",
    "map": "map --output map.csv",
    "matched-pairs": "matched-pairs --property activity --output pairs.csv",
    "mcs": "mcs --method butina --output mcs.csv",
    "neighbors": "neighbors --name m0",
    "pick": "pick --count 2 --output picked.csv",
    "positives": "positives --id 0 --policy first_order",
    "query": "query --name m1 --output hits.csv",
    "recall": "recall --sample 5",
    "remove": "remove removed.txt --by name",
    "rgroups": "rgroups --core c1ccccc1 --output rgroups.csv",
    "search": "search CCO",
}
"""A command line for each page, without the options --store and --collection."""

STORE_COMMANDS = {
    "backup": "backup --to backup",
    "doctor": "doctor",
    "keys-create": "keys create --name ann --scope read",
    "keys-list": "keys list",
    "prune": "prune --keep 1",
    "verify": "verify",
}


def section(page: str) -> str:
    """The section "JSON output" of a page."""
    return (PAGES / f"{page}.md").read_text().partition("## JSON output\n")[2]


def named_fields(page: str) -> set[str]:
    """The fields that the section names, with those of the pages that it refers to."""
    fields = set(re.findall(r"`(\w+)`", section(page)))
    return fields.union(*map(named_fields, re.findall(r"\(([\w-]+)\.md#json-output\)", section(page))))


def listed_fields(page: str) -> set[str]:
    """The fields that the table of the section lists."""
    rows = re.findall(r"^\| (`.+?`) \|", section(page), re.M)
    return set(re.findall(r"`(\w+)`", " ".join(rows)))


def keys(value: Any) -> set[str]:
    """The keys of an object and of all objects in it."""
    if isinstance(value, list):
        return set().union(*map(keys, value))
    return set(value).union(*map(keys, value.values())) if isinstance(value, dict) else set()


@pytest.fixture
def run(graphkin: Callable[..., Any], tmp_path: Path) -> Callable[[str], Any]:
    """Return a function that runs a command line with --json on a store with the collection c."""
    (tmp_path / "m.csv").write_text("smiles,id,activity\n" + LINES)
    (tmp_path / "more.csv").write_text("smiles,id,activity\nCCCCO,more,3.5\n")
    (tmp_path / "removed.txt").write_text("m1\n")
    (tmp_path / "picked.smi").write_text("CCO\n")

    def call(line: str) -> Any:
        outcome = graphkin(*line.split(), "--store", "s", "--json")
        assert outcome.code == 0, outcome.err
        return json.loads(outcome.out)

    generation = call("ingest molecules m.csv --collection c --max-rejected 1 --workers 1")["generation"]
    return lambda line: call(line.format(generation=generation))


@pytest.mark.parametrize("page", [*COMMANDS, *STORE_COMMANDS])
def test_pages_name_the_fields_that_commands_print(run: Callable[[str], Any], page: str) -> None:
    if page == "keys-list":
        run(STORE_COMMANDS["keys-create"])
    reply = run(STORE_COMMANDS.get(page) or f"{COMMANDS[page]} --collection c")
    printed = set().union(*reply) if isinstance(reply, list) else set(reply)
    assert printed - named_fields(page) == set()
    assert listed_fields(page) - keys(reply) == set()
