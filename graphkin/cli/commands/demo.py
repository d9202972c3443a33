"""`graphkin demo`: ingest real molecules, serve them, and send three requests."""

import json
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

import click

from graphkin.cli.help import command, option
from graphkin.cli.output import progress
from graphkin.protocol.errors import InvalidInput, require_extra

if TYPE_CHECKING:
    from graphkin.api.serve import Server
    from graphkin.store.base import Store

_COLLECTION = "nci"
_ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"
_REPLY_SECONDS = 600  # a slow machine compiles kernels during the first request


@command(
    examples=[
        ("Ingest, serve and query real molecules", "graphkin demo"),
        ("Print the responses and exit", "graphkin demo --once"),
        ("Fill an empty store", "graphkin demo --store s --ingest-only"),
    ]
)
@option(
    "--store",
    "store_location",
    metavar="STORE",
    panel="Target",
    help="Store to write. [default: a temporary folder]",
)
@option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    panel="Server",
    help="Port on 127.0.0.1, or 0 for a free one.",
)
@option("--once", is_flag=True, panel="Server", help="Print the responses and exit.")
@option(
    "--ingest-only",
    is_flag=True,
    panel="Target",
    help="Write the molecules into STORE and exit. A store that has a collection stays as it is.",
)
def demo(store_location: str | None, port: int, once: bool, ingest_only: bool) -> None:
    """Ingest real molecules, serve them and send three requests.

    The data are the 4,999 NCI molecules that ship with RDKit. The command prints a line about the ingest and about each
    response. Then it prints the requests as curl commands, and serves the store until ctrl-C.
    """
    if ingest_only:
        _fill(store_location)
        return
    with require_extra("server", "the demonstration needs"):
        from graphkin.api.serve import Server
        from graphkin.api.settings import Settings
    from graphkin.store import open_store

    with tempfile.TemporaryDirectory(prefix="graphkin-demo-") as temporary:
        location = store_location or str(Path(temporary) / "store")
        with open_store(location, create=True) as store:
            _ingest(store)
        _serve(Server(Settings(store=location, port=port)), once)


def _fill(location: str | None) -> None:
    """Ingest the molecules into a store without collections."""
    from graphkin.store import open_store

    if location is None:
        raise InvalidInput(
            "--ingest-only needs a store to write",
            expected="a folder or a URL",
            hint="name it with --store STORE",
        )
    with open_store(location, create=True) as store:
        if store.collections():
            click.echo("the store has a collection: nothing to do")
        else:
            _ingest(store)


def _ingest(store: "Store") -> None:
    from rdkit import RDConfig

    from graphkin.ingest.pipeline import ingest
    from graphkin.similarity.molecules.recipe import resolve

    source = str(Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi")
    manifest = ingest(store, _COLLECTION, [source], resolve(), progress=progress())
    counts, pairs = manifest.counts, manifest.pairs
    click.echo(
        f"{counts.read:,} records: {counts.kept:,} molecules, {counts.duplicates} duplicates, "
        f"{counts.rejected} rejected; {pairs['found']:,} pairs with similarity ≥ {manifest.threshold:g}, "
        f"{pairs['stored']:,} of them stored"
    )


def _serve(server: "Server", once: bool) -> None:
    with server.running() as url:
        commands = _send_requests(url)
        if not once:
            click.echo("\nthe same requests, for another terminal:")
            click.echo("".join(f"\n{command}\n" for command in commands))
            click.echo(f"serving {url} (documentation: {url}/docs); ctrl-C stops it")
            with suppress(KeyboardInterrupt):
                threading.Event().wait()


def _send_requests(url: str) -> list[str]:
    """Send three requests, print a line about each response, and return the requests as curl commands."""
    base = f"{url}/v1/collections/{_COLLECTION}"
    search, reply = _send(f"{base}/search", {"smiles": _ASPIRIN, "limit": 3})
    hits = reply["hits"]
    click.echo(f"most similar to aspirin: {_molecules(hits)}")
    positives = f"{base}/items/{hits[0]['item']['id']}/positives"
    neighbors, sample = _send(f"{positives}?policy=first_order&k=3&seed=7")
    click.echo(f"neighbors of the first one, sampled by similarity: {_molecules(sample['positives'])}")
    walks, sample = _send(f"{positives}?policy=random_walk&k=3&seed=7")
    click.echo(f"positives of it by random walks, the same for every run: {_molecules(sample['positives'])}")
    return [search, neighbors, walks]


def _molecules(rows: list[dict[str, Any]]) -> str:
    """Return the SMILES of the items of rows, each with its similarity if it has one."""
    return ", ".join(
        row["item"]["smiles"] + ("" if row["similarity"] is None else f" ({row['similarity']:.2f})") for row in rows
    )


def _send(url: str, body: dict[str, Any] | None = None) -> tuple[str, Any]:
    """Send a GET request, or POST the body. Return the request as a curl command, and its response."""
    from graphkin.ingest.progress import report_compilation

    content = None if body is None else json.dumps(body)
    options = "" if content is None else f" -H 'Content-Type: application/json' -d '{content}'"
    request = Request(url, None if content is None else content.encode(), {"Content-Type": "application/json"})  # noqa: S310
    with report_compilation(progress()), urlopen(request, timeout=_REPLY_SECONDS) as response:  # noqa: S310 - our own server
        return f"curl '{url}'{options}", json.load(response)
