"""`graphkin serve`: the REST API."""

import click

from graphkin import options


@click.command()
@options.store
@click.option("--host", default="127.0.0.1", help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, help="Port; 0: any free one.")
def serve(store_location: str, host: str, port: int) -> None:
    """Serve the store over REST until ctrl-C. Documentation is at /docs.

    Further settings come from the environment: see docs/operating.md.
    """
    from graphkin.api.serve import Server
    from graphkin.api.settings import Settings

    server = Server(Settings(store=store_location, host=host, port=port))
    click.echo(f"serving {server.url} (documentation: {server.url}/docs); ctrl-C ends it")
    server.run()
