"""`graphkin doctor`: check this machine, a store and a server."""

import click

from graphkin.cli import options
from graphkin.cli.help import command, option
from graphkin.cli.output import print_json


@command(
    examples=[
        ("Check this machine", "graphkin doctor"),
        ("Check a store and a server too", "graphkin doctor --store s --server http://127.0.0.1:8000"),
    ]
)
@options.optional_store
@option("--server", "url", metavar="URL", panel="Server", help="URL of a server.")
@options.as_json
def doctor(store_location: str | None, url: str | None, as_json: bool) -> int:
    """Check this machine, a store and a server.

    The command prints problems, possible improvements, and what to do about them. It changes nothing. The exit code is
    1 if it finds a problem.
    """
    from graphkin.cli import checkup

    findings = [*checkup.check_machine()]
    if store_location is not None:
        findings += checkup.check_store(store_location)
    if url is not None:
        findings.append(checkup.check_server(url))
    if as_json:
        print_json([finding._asdict() for finding in findings])
    else:
        for about, state, message, hint in findings:
            click.echo(f"{state:<5}  {about}: {message}")
            if hint is not None:
                click.echo(f"       hint: {hint}")
    return int(any(finding.state == "wrong" for finding in findings))
