"""`graphkin demo`: ingest real molecules, serve them, and send three requests."""

import json
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import click

from graphkin.cli.help import command, option
from graphkin.cli.output import progress

_COLLECTION = "nci"
_ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"


@command(
    examples=[
        ("Ingest, serve and query real molecules", "graphkin demo"),
        ("Print the responses and exit", "graphkin demo --once"),
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
def demo(store_location: str | None, port: int, once: bool) -> None:
    """Ingest real molecules, serve them and send three requests.

    The data are the 4,999 NCI molecules that ship with RDKit. The command prints each request as a curl command with
    its response, and then serves the store until ctrl-C.
    """
    with tempfile.TemporaryDirectory(prefix="graphkin-demo-") as temporary:
        location = store_location or str(Path(temporary) / "store")
        _ingest(location)
        _serve(location, port, once)


def _ingest(location: str) -> None:
    from rdkit import RDConfig

    from graphkin.ingest.pipeline import ingest
    from graphkin.similarity.molecules.recipe import resolve
    from graphkin.store import open_store

    source = str(Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi")
    with open_store(location, create=True) as store:
        manifest = ingest(store, _COLLECTION, [source], resolve(), progress=progress())
    counts = manifest.counts
    click.echo(
        f"{counts.read:,} records: {counts.kept:,} items, {counts.duplicates} duplicates, {counts.rejected} rejected; "
        f"{manifest.edges:,} edges with similarity ≥ {manifest.threshold:g}"
    )


def _serve(location: str, port: int, once: bool) -> None:
    from graphkin.api.serve import Server
    from graphkin.api.settings import Settings

    server = Server(Settings(store=location, port=port))
    with server.running() as url:
        _send_requests(url)
        if not once:
            click.echo(f"\nserving {url} (documentation: {url}/docs); ctrl-C stops it")
            with suppress(KeyboardInterrupt):
                threading.Event().wait()


def _send_requests(url: str) -> None:
    base = f"{url}/v1/collections/{_COLLECTION}"
    hits = _send("the molecules that are most similar to aspirin", f"{base}/search", {"smiles": _ASPIRIN, "limit": 3})[
        "hits"
    ]
    positives = f"{base}/items/{hits[0]['item']['id']}/positives"
    _send("three neighbors of the first one, sampled by similarity", f"{positives}?policy=first_order&k=3&seed=7")
    _send(
        "three positives by random walks; the same seed gives the same positives",
        f"{positives}?policy=random_walk&k=3&seed=7",
    )


def _send(question: str, url: str, body: dict[str, Any] | None = None) -> Any:
    """Send a GET request, or POST the body. Print it as a curl command, with its response, and return the response."""
    from graphkin.ingest.progress import report_compilation

    content = None if body is None else json.dumps(body)
    options = "" if content is None else f" -H 'Content-Type: application/json' -d '{content}'"
    click.echo(f"\n# {question}\ncurl '{url}'{options}")
    request = Request(url, None if content is None else content.encode(), {"Content-Type": "application/json"})  # noqa: S310
    with report_compilation(progress()), urlopen(request, timeout=60) as response:  # noqa: S310 - our own server
        document = json.load(response)
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))
    return document
