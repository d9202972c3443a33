"""`graphkin mcp`: a process that speaks the Model Context Protocol over standard input and output."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult


def test_command_serves_tools_to_a_client(store_folder: Path, tmp_path: Path) -> None:
    arguments = ["-m", "graphkin", "mcp", "--store", str(store_folder)]
    parameters = StdioServerParameters(command=sys.executable, args=arguments, cwd=tmp_path, env={**os.environ})

    async def run() -> tuple[str, list[CallToolResult]]:
        async with Client(parameters) as client:
            info = client.server_info
            assert info is not None
            calls: list[tuple[str, dict[str, Any]]] = [
                ("collections", {}),
                ("search", {"collection": "nci", "structure": "CCOC(C)=O", "limit": 1}),
                ("search", {"collection": "nci", "structure": "CCOC(C"}),
                ("info", {"collection": "zzz"}),
            ]
            return info.name, [await client.call_tool(name, arguments) for name, arguments in calls]

    name, (collections, hits, error, missing) = asyncio.run(run())
    assert name == "graphkin"
    assert {each["collection"] for each in collections.structured_content["collections"]} == {"nci", "many", "dots"}
    assert len(hits.structured_content["rows"]) == 1
    assert error.is_error
    assert missing.is_error
    assert "--" not in str(missing.content)


def test_standard_output_is_protocol_alone(store_folder: Path) -> None:
    request = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}},
    }
    process = subprocess.run(
        [sys.executable, "-m", "graphkin", "mcp", "--store", str(store_folder)],
        input=json.dumps(request) + "\n",
        capture_output=True,
        text=True,
        timeout=60,
    )
    (line,) = process.stdout.splitlines()
    assert json.loads(line)["result"]["serverInfo"]["name"] == "graphkin"
    assert process.stderr == "serving tools for agents over standard input and output; ctrl-C stops it\n"
    assert process.returncode == 0


def test_interrupt_ends_the_command(store_folder: Path) -> None:
    command = [sys.executable, "-m", "graphkin", "mcp", "--store", str(store_folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert b"ctrl-C stops it" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == -signal.SIGINT


def test_missing_store_ends_the_command(graphkin: Callable[..., Any], tmp_path: Path) -> None:
    outcome = graphkin("mcp", "--store", tmp_path / "none")
    assert (outcome.code, outcome.out) == (3, "")
    assert "none" in outcome.err


def test_missing_sdk_is_explained(graphkin_without: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    process = graphkin_without("mcp", "mcp", "--store", "store")
    assert process.returncode == 2
    assert "hint: install the extra mcp: pip install '.[mcp]'" in process.stderr
