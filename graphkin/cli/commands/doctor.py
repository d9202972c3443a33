"""`graphkin doctor`: check this machine, a store and a server."""

import click

from graphkin.cli import options
from graphkin.cli.json_lines import print_json


@click.command()
@options.optional_store
@click.option("--server", "url", metavar="URL", help="Server to ask whether it is ready.")
@options.as_json
def doctor(store_location: str | None, url: str | None, as_json: bool) -> int:
    """Look at this machine, a store and a server, and say what is wrong, what may be better, and what to do.

    Nothing is changed. Exit code 1 where something is wrong.
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
