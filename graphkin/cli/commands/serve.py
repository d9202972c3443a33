"""`graphkin serve`: serve the REST API."""

from pathlib import Path
from typing import Any

import click

from graphkin.cli import options

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command()
@options.store
@click.option("--host", default="127.0.0.1", help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, help="Port; 0: any free one.")
@click.option(
    "--reports",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Show what `python -m studies.report` wrote there, or in a folder in it.",
)
@click.option(
    "--cors-origin",
    "cors_origins",
    multiple=True,
    metavar="ORIGIN",
    help="Let pages of this origin, https://lab.example.org say, ask from a browser. May be repeated.",
)
@click.option("--tls-cert", type=_FILE, metavar="FILE", help="Serve HTTPS, with this certificate and its chain (PEM).")
@click.option("--tls-key", type=_FILE, metavar="FILE", help="Its private key.  [default: in the file of --tls-cert]")
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=1,
    help="Processes that serve, each with its own queues and memory; at most as many as there are cores.",
)
def serve(store_location: str, host: str, port: int, workers: int, **server_options: Any) -> None:
    """Serve the store over REST until ctrl-C. Documentation is at /docs.

    Further settings come from the environment: see docs/reference/settings.md.
    """
    from graphkin.api.serve import Server
    from graphkin.api.servers import Servers
    from graphkin.api.settings import Settings

    overrides = {name: value for name, value in server_options.items() if value}
    settings = Settings(store=store_location, host=host, port=port, **overrides)
    if workers == 1:
        server = Server(settings)
        _print_url(server.url)
        server.run()
    else:
        servers = Servers(settings, workers)
        servers.run(lambda: _print_url(servers.url))


def _print_url(url: str) -> None:
    click.echo(f"serving {url} (documentation: {url}/docs); ctrl-C ends it")
