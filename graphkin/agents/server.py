"""The MCP server: the tools of `tools.py` with the official Python SDK."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from importlib.metadata import version
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, InputRequiredResult, ToolAnnotations
from pydantic import ValidationError

from graphkin.agents.tools import Tools
from graphkin.library.collections import Collections
from graphkin.protocol.errors import GraphkinError, InvalidInput
from graphkin.protocol.validation import translate_validation_errors

_INSTRUCTIONS = """\
Collections of molecules, graphs, fingerprints or vectors, and the similar pairs in them. Call `collections` first, then
`info` for the properties of a collection. Nothing is changed. Each answer names its generation, the immutable state
that it was read from: cite it, and pass it on to read the same state again. The notes of an answer say which part of
the result is missing."""


def create_server(collections: Collections) -> MCPServer[Any]:
    """Return the MCP server of the collections of a store."""
    server = _Server("graphkin", version=version("graphkin"), instructions=_INSTRUCTIONS, log_level="WARNING")
    annotations = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    for tool in Tools(collections).all():
        server.add_tool(_with_tool_errors(tool), annotations=annotations)
    return server


class _Server(MCPServer[Any]):
    """A server that explains invalid arguments in the words of graphkin. The SDK ignores unknown arguments."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        parameters = {tool.name: [*tool.input_schema["properties"]] for tool in await self.list_tools()}
        with _tool_errors():
            for argument in arguments:
                if name in parameters and argument not in parameters[name]:
                    raise InvalidInput(
                        f"the tool {name} has no parameter {argument}",
                        expected=f"some of {', '.join(parameters[name])}",
                        hint="leave it out, or use one of these parameters",
                    )
            try:
                return await super().call_tool(name, arguments, context)
            except ToolError as error:
                if isinstance(error.__cause__, ValidationError):
                    with translate_validation_errors():
                        raise error.__cause__ from None
                raise


def _with_tool_errors(tool: Callable[..., Any]) -> Callable[..., Any]:
    """Return the tool with its errors as those of the SDK."""

    @wraps(tool)
    def call(**arguments: Any) -> Any:
        with _tool_errors():
            return tool(**arguments)

    return call


@contextmanager
def _tool_errors() -> Iterator[None]:
    """Raise errors of graphkin as those of the SDK, whose text an agent reads."""
    try:
        yield
    except GraphkinError as error:
        raise ToolError(str(error)) from error
