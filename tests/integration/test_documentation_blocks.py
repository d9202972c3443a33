"""The blocks of README, quickstart, tutorials and how-to pages run, and print what the pages say.

`tests/documentation.py` explains what a page may contain. A page needs an entry in `PAGES`, and nothing else unless it
reads files that it does not write. To write a page, leave its outputs empty, and let the test fill them in:

    GRAPHKIN_UPDATE_BLOCKS=1 pytest tests/integration/test_documentation_blocks.py -k quickstart
"""

import gzip
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from graphkin.ingest import pipeline
from graphkin.ingest.pipeline import IngestOptions
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store
from tests.documentation import ROOT, UPDATE, Reader, blocks_of, masked, same_output
from tests.documentation_files import (
    copy_pi3k_alpha,
    write_graphs,
    write_molecules,
)
from tests.warm_commands import warm_commands


@dataclass(frozen=True)
class Page:
    """A page whose blocks run.

    Args:
        path: The page, from the root of the repository.
        fixtures: Fixtures of this module, which prepare the folder, a server or the replacements of `reader`.
        replacements: Texts of blocks that are replaced, to end sooner or to fill in what a page leaves to its reader.
        long: Run by `make check-long` alone.
    """

    path: str
    fixtures: tuple[str, ...] = ()
    replacements: dict[str, str] = field(default_factory=dict)
    long: bool = False


PAGES = [
    Page("README.md", ("nci",), {"make demo": "graphkin demo --once --port 0", "make test": "true"}),
    Page("docs/concepts/exact-and-top-k.md"),
    Page("docs/how-to/agents.md"),
    Page("docs/how-to/append-and-remove.md"),
    Page("docs/how-to/backup-and-restore.md"),
    Page("docs/how-to/cluster.md", ("pi3k_alpha",)),
    Page("docs/how-to/compare-two-sets.md"),
    Page("docs/how-to/epochs-as-files.md"),
    Page("docs/how-to/filter-and-export.md"),
    Page("docs/how-to/fingerprints-and-vectors.md", long=True),
    Page("docs/how-to/graphs.md", ("graph_files",), long=True),
    Page("docs/how-to/larger-than-memory.md", ("part_files",)),
    Page("docs/how-to/matched-pairs.md", ("pi3k_alpha",)),
    Page("docs/how-to/nodes.md", long=True),
    Page("docs/how-to/parquet-export.md"),
    Page("docs/how-to/python.md"),
    Page("docs/how-to/descriptors.md", ("pi3k_alpha",)),
    Page("docs/how-to/rgroups.md", ("pi3k_alpha",)),
    Page("docs/how-to/scaffolds.md", ("pi3k_alpha",)),
    Page("docs/how-to/scikit-learn.md"),
    Page("docs/how-to/search-a-list.md"),
    Page("docs/how-to/serve-with-keys.md"),
    Page("docs/how-to/upload.md"),
    Page("docs/how-to/share-weights.md", ("checkpoint", "labeled_molecules", "pretrain_gnns_file")),
    Page("docs/how-to/splits.md"),
    Page("docs/how-to/training-loop.md"),
    Page("docs/how-to/troubleshooting.md", ("served_store",)),
    Page("docs/how-to/upgrade.md", ("mine",)),
    Page("docs/how-to/your-own-molecules.md"),
    Page("docs/quickstart.md"),
    Page("docs/reference/client.md"),
    Page("docs/tutorials/neo4j.md", ("docker_compose",)),
    Page("docs/tutorials/page.md"),
    Page("docs/tutorials/predict.md"),
    Page("docs/tutorials/pretrain.md"),
    Page(
        "docs/how-to/train.md",
        ("nci",),
        {"--output runs/": "--max-steps 2 --set layers=1 --set width=16 --output runs/"},
        long=True,
    ),
    Page(
        "docs/how-to/fine-tune-and-embed.md",
        ("checkpoint", "labeled_molecules"),
        {"finetune --csv mine.csv": "finetune --epochs 1 --seeds 0 --csv mine.csv"},
        long=True,
    ),
]

NOT_EXECUTED: dict[str, str] = {
    "docs/how-to/docker.md": "builds images; test_compose.py checks its commands and variables",
    "docs/how-to/gpu.md": "needs an NVIDIA GPU",
    "docs/how-to/kubernetes.md": "needs a cluster and a registry; test_kubernetes.py checks the files",
    "docs/how-to/neo4j-browser.md": "typed into Neo4j Browser; neo4j/loading/test_browser.py runs its queries",
    "docs/how-to/single-sign-on.md": "needs nginx, oauth2-proxy and an identity provider",
    "docs/how-to/spark.md": "needs Spark; tests/integration/tasks runs a standalone cluster",
}
"""Pages of `EXECUTED_FOLDERS` that need what the tests do not have, and the reason."""

EXECUTED_FOLDERS = ("docs/tutorials", "docs/how-to")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, ...]]:
    """Yield the folders of the commands: a `graphkin` that starts at once, and those of the environment."""
    with warm_commands(tmp_path_factory.mktemp("commands")) as folder:
        yield folder, Path(sys.executable).parent


@pytest.fixture
def reader(tmp_path: Path, programs: tuple[Path, ...]) -> Iterator[Reader]:
    """Yield the reader of the page. Fixtures write into `reader.folder` and add to `reader.replacements`."""
    folder, state = tmp_path / "folder", tmp_path / "state"
    folder.mkdir()
    state.mkdir()
    with closing(Reader(folder, state, programs)) as reader:
        yield reader


@pytest.fixture
def nci(reader: Reader, nci_file: Path) -> None:
    """Write molecules.smi, 500 real molecules."""
    lines = nci_file.read_text().splitlines(keepends=True)[:500]
    (reader.folder / "molecules.smi").write_text("".join(lines))


@pytest.fixture
def part_files(reader: Reader, nci_smiles: list[str]) -> None:
    """Write part-0.smi.gz and part-1.smi.gz, 100 real molecules each."""
    for part in range(2):
        with gzip.open(reader.folder / f"part-{part}.smi.gz", "wt") as file:
            file.writelines(f"{each}\n" for each in nci_smiles[100 * part : 100 * (part + 1)])


@pytest.fixture
def chemist_files(reader: Reader, nci_smiles: list[str]) -> None:
    write_molecules(reader.folder, nci_smiles)


@pytest.fixture
def pi3k_alpha(reader: Reader) -> None:
    copy_pi3k_alpha(reader.folder)


@pytest.fixture
def graph_files(reader: Reader) -> None:
    write_graphs(reader.folder)


@pytest.fixture
def mine(reader: Reader, chemist_files: None) -> None:
    """Publish the molecules of molecules.csv.gz as the collection mine of the store in the folder."""
    options = IngestOptions(workers=1)
    with open_store(reader.folder / "store", create=True) as store:
        pipeline.ingest(store, "mine", [str(reader.folder / "molecules.csv.gz")], resolve(), options)


@pytest.fixture
def checkpoint(reader: Reader) -> None:
    """Write runs/hgc-fo, a run with a small, untrained encoder."""
    from graphkin.trainer.pretraining.checkpoint import Run
    from graphkin.trainer.pretraining.config import Model, PretrainConfig
    from graphkin.trainer.pretraining.objective import make_encoder
    from graphkin.trainer.pretraining.pretrained import encoder_checkpoint

    config = PretrainConfig.from_strategy("hgc-fo", model=Model(layers=1, width=16))
    run = Run(reader.folder / "runs" / "hgc-fo", {"config": config.as_json()}, resume=False)
    run.save(encoder_checkpoint(make_encoder(config.model), 1, 1))


@pytest.fixture
def pretrain_gnns_file(reader: Reader, checkpoint: None) -> None:
    """Write theirs.pth, the encoder of runs/hgc-fo in the layout of pretrain-gnns."""
    from graphkin.trainer.exchange.exports import ExportedEncoder

    with (reader.folder / "theirs.pth").open("wb") as file:
        ExportedEncoder.from_checkpoint(reader.folder / "runs" / "hgc-fo").write_file(file, "pretrain-gnns")


@pytest.fixture
def labeled_molecules(reader: Reader, nci_file: Path) -> None:
    """Write mine.csv, 300 real molecules with a class and a number that depend on their SMILES."""
    texts = [line.split()[0] for line in nci_file.read_text().splitlines()[:300]]
    rows = (f"{text},{text.count('N') % 2},{-len(text) / 10}" for text in texts)
    (reader.folder / "mine.csv").write_text("\n".join(["smiles,toxic,logS", *rows, ""]))


@pytest.fixture
def neo4j_server(reader: Reader, spare_neo4j: Any) -> None:
    """Empty the Neo4j server, which answers at neo4j://HOST with the credentials in the environment."""
    spare_neo4j.clear()
    reader.replacements["neo4j://HOST"] = spare_neo4j.url


@pytest.fixture
def served_store(reader: Reader, mine: None, serve: Callable[..., AbstractContextManager[str]]) -> Iterator[None]:
    """Serve the collection mine."""
    with serve(reader.folder / "store") as url:
        reader.addresses["8000"] = url.removeprefix("http://")
        deadline = time.monotonic() + 60
        while httpx.get(f"{url}/readyz").is_error:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        yield


@pytest.fixture
def docker_compose(
    reader: Reader, neo4j_server: None, spare_neo4j: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Run the commands of the containers on this machine, with the Neo4j server of the tests.

    No container is started. The arguments are those of docker-compose.yml, and a script replaces `cypher-shell`.
    """
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    serve, host = services["api"]["command"][:3], services["api"]["command"][3:]
    assert host == ["--host", "0.0.0.0", "--port", "8000"]
    entry_point = "docker compose run --rm --entrypoint graphkin"
    reader.replacements |= {
        f'{entry_point} -v "$PWD/backup:/backup" ingest': "graphkin",
        f"{entry_point} ingest": "graphkin",
        "make secret": f"make --silent --file {ROOT}/Makefile secret",
        "docker compose run --rm ingest": " ".join(services["ingest"]["entrypoint"]),
        "docker compose up -d": f"graphkin {' '.join(serve)}",
        "docker compose exec -T api": "",
        "docker compose exec -T neo4j": "",
        "docker compose down": "",
        " /data/": " data/",
        "--to /backup": "--to backup",
        "bolt://neo4j:7687": spare_neo4j.url,
    }
    programs = tmp_path / "programs"
    programs.mkdir()
    shell = programs / "cypher-shell"
    shell.write_text(CYPHER_SHELL.format(python=sys.executable, url=spare_neo4j.url))
    shell.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("NEO4J_AUTH_FILE", str(reader.folder / "secrets" / "neo4j_auth"))
    yield
    spare_neo4j.clear()


CYPHER_SHELL = """#!{python}
import json, os, re, sys, neo4j

assert sys.argv[1:4] == ["--username", "neo4j", "--password"] and re.fullmatch("[0-9a-f]{{32}}", sys.argv[4])
assert sys.argv[5:] == ["--format", "plain"]
auth = os.environ["GRAPHKIN_NEO4J_USER"], os.environ["GRAPHKIN_NEO4J_PASSWORD"]
with neo4j.GraphDatabase.driver("{url}", auth=auth) as driver:
    rows, _, names = driver.execute_query(sys.stdin.read().strip().removesuffix(";"))
print(", ".join(names), *(", ".join(json.dumps(value) for value in row) for row in rows), sep="\\n")
"""
"""Script that runs a statement as `cypher-shell --format plain` does. The server has another password than the page."""


@pytest.mark.parametrize(
    "page", [pytest.param(page, id=page.path, marks=[pytest.mark.long] if page.long else []) for page in PAGES]
)
def test_blocks_print_what_the_page_says(page: Page, reader: Reader, request: pytest.FixtureRequest) -> None:
    reader.replacements.update(page.replacements)
    for name in page.fixtures:
        request.getfixturevalue(name)
    assert reader.read(ROOT / page.path) > 0


def test_each_tutorial_and_how_to_page_is_executed() -> None:
    pages = {str(path.relative_to(ROOT)) for folder in EXECUTED_FOLDERS for path in (ROOT / folder).glob("*.md")}
    executed = {page.path for page in PAGES}
    assert not executed & set(NOT_EXECUTED)
    assert pages <= executed | set(NOT_EXECUTED)
    assert all((ROOT / path).exists() for path in executed | set(NOT_EXECUTED))


def test_shell_keeps_folder_and_variables(reader: Reader, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        """
```sh
mkdir inner
cd inner
export NAME="two words"
```

- An indented block in a list:

  ```sh
  echo "$NAME in $(basename "$PWD")"
  ```

  ```text
  two words in inner
  ```
"""
    )
    assert reader.read(page) == 2


def test_python_shows_the_last_value_and_keeps_names(reader: Reader, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        """
```text title="numbers.txt"
3 4
```

```python
with open("numbers.txt") as file:
    numbers = file.read().split()
```

```python
print(len(numbers))
numbers
```

```text
2
['3', '4']
```
"""
    )
    assert reader.read(page) == 2


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ("```sh\necho one\n```\n\n```text\ntwo\n```\n", "-two"),
        ("```sh\nfalse\necho never\n```\n", "exit code 1"),
        ("```text\nnobody prints this\n```\n", "an output without a block"),
        ("```\nls\n```\n", "no language"),
        ("<!-- exit code: 3 -->\n```sh\nexit 2\n```\n", "exit code 2"),
    ],
)
def test_wrong_page_fails(
    reader: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: str, message: str
) -> None:
    monkeypatch.delenv(UPDATE, raising=False)
    page = tmp_path / "page.md"
    page.write_text(block)
    with pytest.raises(AssertionError, match=message):
        reader.read(page)


@pytest.mark.parametrize(
    ("fixture", "names"),
    [
        ("nci", "molecules.smi"),
        ("mine", "molecules.csv.gz more.csv.gz withdrawn.txt list.sdf mine.csv store"),
        ("graph_files", "IMDB-BINARY.zip graphs.jsonl"),
    ],
)
def test_fixture_writes_files(fixture: str, names: str, reader: Reader, request: pytest.FixtureRequest) -> None:
    request.getfixturevalue(fixture)
    assert {path.name for path in reader.folder.iterdir()} == set(names.split())


def test_expected_failure_shows_its_message(reader: Reader, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- exit code: 3 -->\n```sh\necho no store >&2\nexit 3\n```\n\n```text\nno store\n```\n")
    assert reader.read(page) == 1


def test_update_writes_the_real_output(reader: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text("```sh\necho one\necho two\n```\n\n  ```text\n  ```\n\n```sh\necho three\n```\n\n```text\n…\n```\n")
    monkeypatch.setenv(UPDATE, "1")
    reader.read(page)
    assert [block.text for block in blocks_of(page.read_text())][1::2] == ["one\ntwo\n", "…\n"]
    monkeypatch.delenv(UPDATE)
    reader.read(page)


@pytest.mark.parametrize(
    ("expected", "actual", "same"),
    [
        ("published 3814e04e6cf2 after 4 min 12 s", "published 434d30c5fdf8 after 0.3 s", True),
        ("id   name\n1    aspirin", "id name\n1  aspirin\n", True),
        ("serving http://127.0.0.1:8000", "serving http://127.0.0.1:41235", True),
        ("first\n…\nlast", "first\nlast\n", True),
        ("first\n…\nlast", "first\na\nb\nlast\n", True),
        ("first\n…\nlast", "first\na\nb\n", False),
        ("300 items, … edges", "300 items, 236 edges", True),
        ("300 items", "301 items", False),
        ("one", "one\ntwo\n", False),
        ("a.b", "axb", False),
    ],
)
def test_comparison_ignores_what_differs_from_run_to_run(expected: str, actual: str, same: bool) -> None:
    assert same_output(expected, actual) == same


def test_masks_keep_names_and_counts() -> None:
    text = "4,892 items, 27,781 pairs with similarity ≥ 0.4, decade"
    assert masked(text) == text
