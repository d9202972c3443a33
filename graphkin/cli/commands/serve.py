"""`graphkin serve`: serve the REST API."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from graphkin.cli import options
from graphkin.cli.help import command, option
from graphkin.cli.output import note
from graphkin.protocol.errors import require_extra

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@command(
    examples=[
        ("Serve a store on this machine", "graphkin serve --store s"),
        (
            "Serve it to other machines with HTTPS",
            "graphkin serve --store s --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem",
        ),
    ]
)
@options.store
@option("--host", default="127.0.0.1", metavar="ADDRESS", panel="Server", help="Address to listen on.")
@option("--port", type=click.IntRange(0, 65535), default=8000, panel="Server", help="Port, or 0 for a free one.")
@option(
    "--workers",
    type=click.IntRange(1, 64),
    default=1,
    panel="Server",
    help="Number of worker processes, at most the number of cores. Each has its own queues and memory.",
)
@option("--tls-cert", type=_FILE, metavar="FILE", panel="Access", help="Certificate and its chain (PEM), for HTTPS.")
@option(
    "--tls-key", type=_FILE, metavar="FILE", panel="Access", help="Private key. [default: in the file of --tls-cert]"
)
@option(
    "--cors-origin",
    "cors_origins",
    multiple=True,
    metavar="ORIGIN",
    panel="Access",
    help="Origin of web pages that may send requests, such as https://lab.example.org. Repeat it for several.",
)
@option(
    "--writes/--no-writes",
    default=None,
    panel="Access",
    help="Whether clients may create and change collections. [default: only if no other machine reaches the server]",
)
@option(
    "--reports",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    panel="Server",
    help="Folder of reports to show, written by `python -m studies.report`.",
)
def serve(store_location: str, host: str, port: int, workers: int, **server_options: Any) -> None:
    """Serve a store with a REST API and a web page.

    The server runs until ctrl-C. The page is at /, the documentation of the API at /docs. A store that does not exist
    yet is created by the first upload on the page. Further settings are environment variables: see
    docs/reference/settings.md.
    """
    with require_extra("server", "a server needs"):
        from graphkin.api.serve import Server
        from graphkin.api.servers import Servers
        from graphkin.api.settings import Settings

    overrides = {name: value for name, value in server_options.items() if value not in (None, ())}
    settings = Settings(store=store_location, host=host, port=port, **overrides)
    _note_missing_store(store_location, settings.accepts_writes)
    if workers == 1:
        server = Server(settings)
        _print_url(server.url)
        server.run()
    else:
        servers = Servers(settings, workers)
        servers.run(lambda: _print_url(servers.url))


def _note_missing_store(location: str, accepts_writes: bool) -> None:
    """Say where collections come from if the folder of the store is new or empty. Only a folder can be served so."""
    if "://" in location:
        return
    from graphkin.protocol.errors import NotFound
    from graphkin.store import open_store

    with suppress(NotFound), open_store(location):
        return
    command = f"graphkin ingest molecules FILE --store {location} --collection NAME"
    note(
        f"there is no store in {location} yet: "
        + (f"upload a file on the page, or run `{command}`" if accepts_writes else f"run `{command}`")
    )


def _print_url(url: str) -> None:
    click.echo(f"serving {url} (documentation: {url}/docs); ctrl-C stops it")
