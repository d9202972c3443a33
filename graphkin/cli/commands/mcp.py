"""`graphkin mcp`: tools for agents."""

import signal
import warnings

from graphkin.cli import options
from graphkin.cli.help import command
from graphkin.cli.output import note
from graphkin.protocol.errors import TruncatedPairsWarning, require_extra
from graphkin.protocol.parameters import command_line_messages


@command(examples=[("Let an agent read a store", "graphkin mcp --store s")])
@options.store
def mcp(store_location: str) -> None:
    """Let agents read a store by the Model Context Protocol (MCP).

    The command serves tools over standard input and output until its input ends. A desktop client or an agent starts it
    by itself: see docs/how-to/agents.md. The tools search, filter and cluster collections, and change nothing.
    """
    with require_extra("mcp", "tools for agents need"):
        from graphkin.agents.server import create_server
    from graphkin import library

    warnings.simplefilter("ignore", TruncatedPairsWarning)  # the answers have it in their notes
    with library.open(store_location) as collections:
        server = create_server(collections)
        # The SDK reads standard input in a thread, which a KeyboardInterrupt does not end.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        note("serving tools for agents over standard input and output; ctrl-C stops it")
        with command_line_messages(enabled=False):  # tools have arguments, not options
            server.run("stdio")
