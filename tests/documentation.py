"""Run the fenced blocks of a documentation page as its reader would, and compare what they print.

Blocks run from top to bottom in one folder. The first word after the fence decides what a block is:

- `sh`, `bash` or `shell`: commands. They run with `sh -e`. Later blocks keep the working folder and exported variables.
- `python`: statements in the namespace of the page. As in a notebook, the value of a last expression is printed.
- `text`, `console`, `json` or `csv`: the output of the block before. Ids, times, dates, rates and addresses are masked,
  runs of spaces count as one, and `…` stands for any text, or alone on a line for any lines. The folder is shown as
  `/home/ann/work`.
- Any of them with `title="NAME"`: a file, which is written into the folder.

A comment on the line above a block changes that. `<!-- not executed: REASON -->` leaves out the block, or the
comparison of an output. `<!-- exit code: 2 -->` is for commands that fail. Their messages are then part of the output.

`graphkin serve` starts a server at a free port. Later blocks reach it where the page says that it is. It ends with the
page. Commands of pip are not run: `tests/unit/test_documentation_pages.py` checks them.
"""

import ast
import contextlib
import difflib
import io
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SHELL = frozenset({"sh", "bash", "shell"})
OUTPUT = frozenset({"text", "console", "json", "csv"})
UPDATE = "GRAPHKIN_UPDATE_BLOCKS"
"""Environment variable. If it is set, outputs that differ are written into the page instead of failing the test."""

FOLDER = "/home/ann/work"
"""The working folder as outputs in pages show it."""

_FENCE = re.compile(
    r"^(?P<indent> *)(?P<ticks>```+)(?P<info>[^`\n]*)\n(?P<text>.*?)^(?P=indent)(?P=ticks) *$", re.M | re.S
)
_COMMENT = re.compile(r"<!--\s*(not executed|exit code): *(.+?)\s*-->\s*\Z")
_SERVE = re.compile(r"^(?P<command>(?:\w+=\S* +)*graphkin serve\b[^&|;]*?)\s*&?$")
_NOT_RUN = re.compile(r"^(python -m )?pip install ")
_ADDRESS = re.compile(r"(?:127\.0\.0\.1|localhost):(\d+)")
_MASKS = (
    (re.compile(r"\b[0-9a-f]{12,64}\b"), "ID"),
    (re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d| UTC)?)?"), "DATE"),
    (re.compile(r"\b(?:\d+(?:[.,]\d+)*\s?(?:ms|s|min|h)\b\s?)+"), "TIME "),
    (re.compile(r"\b\d+(?:[.,]\d+)*(?:/s| per second)"), "RATE"),
    (re.compile(r"seconds: \{.*\}"), "TIMES"),
    (_ADDRESS, "ADDRESS"),
    (re.compile(r"[ \t]+"), " "),
)


@dataclass(frozen=True)
class Block:
    """A fenced block: the words after the fence, its text without indentation, and its place in the page."""

    language: str
    title: str | None
    text: str
    note: tuple[str, str] | None  # the kind and the value of the comment above
    line: int
    start: int
    end: int
    indent: str

    @property
    def skipped(self) -> bool:
        return self.note is not None and self.note[0] == "not executed"

    @property
    def exit_code(self) -> int:
        return int(self.note[1]) if self.note is not None and self.note[0] == "exit code" else 0


def blocks_of(text: str) -> list[Block]:
    """Return the fenced blocks of a page in Markdown."""
    blocks = []
    for match in _FENCE.finditer(text):
        language, _, rest = match["info"].strip().partition(" ")
        title = re.search(r'title="([^"]+)"', rest)
        lines = [line.removeprefix(match["indent"]) for line in match["text"].splitlines(keepends=True)]
        note = _COMMENT.search(text[: match.start()])
        blocks.append(
            Block(
                language,
                title[1] if title else None,
                "".join(lines),
                (note[1], note[2]) if note else None,
                text.count("\n", 0, match.start()) + 1,
                match.start("text"),
                match.end("text"),
                match["indent"],
            )
        )
    return blocks


def masked(text: str) -> str:
    """Replace everything that differs from run to run, and the widths of columns with it."""
    for pattern, replacement in _MASKS:
        text = pattern.sub(replacement, text)
    return "\n".join(line.strip() for line in text.strip("\n").splitlines())


def same_output(expected: str, actual: str) -> bool:
    """Compare an output in a page with a real one."""
    pattern = ""
    for line in masked(expected).splitlines():
        pattern += "(?:.*\n)*" if line == "…" else re.escape(line).replace("…", ".*") + "\n"
    return re.fullmatch(pattern, masked(actual) + "\n") is not None


@dataclass
class Reader:
    """A reader of pages, who runs their blocks in one folder.

    Args:
        folder: The working folder.
        state: A folder for variables and logs, outside the working folder.
        programs: Folders of commands, which come first on PATH.
        replacements: Texts of the page, and the texts that replace them before a block runs.
    """

    folder: Path
    state: Path
    programs: tuple[Path, ...] = (Path(sys.executable).parent,)
    replacements: dict[str, str] = field(default_factory=dict)
    namespace: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    addresses: dict[str, str] = field(default_factory=dict)
    _servers: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    def read(self, page: Path) -> int:
        """Run the blocks of a page, and return how many were run.

        Raises:
            AssertionError: A block failed, or printed something else.
        """
        text = page.read_text(encoding="utf-8")
        output: str | None = None
        new_outputs: list[tuple[Block, str]] = []
        executed = 0
        for block in blocks_of(text):
            place = f"{page}:{block.line}"
            if block.title is not None and not block.skipped:
                (self.folder / block.title).write_text(self._replaced(block.text), encoding="utf-8")
            elif block.language in OUTPUT and output is not None:
                if not block.skipped and not same_output(block.text, output):
                    assert UPDATE in os.environ, f"{place}: other output\n{_difference(block.text, output)}"
                    new_outputs.append((block, output))
                output = None
            elif block.language in OUTPUT or block.skipped:
                assert block.skipped, f"{place}: an output without a block that prints it"
                output = None
            else:
                output = self._documented(self._run(block, place))
                executed += 1
        if new_outputs:
            page.write_text(_updated(text, new_outputs), encoding="utf-8")
        return executed

    def close(self) -> None:
        """End all servers."""
        for process in self._servers:
            process.terminate()
        for process in self._servers:
            process.wait(60)

    def _run(self, block: Block, place: str) -> str:
        code = self._replaced(block.text)
        if block.language in SHELL:
            return self._run_shell(code, block.exit_code, place)
        assert block.language == "python", f"{place}: no language is called {block.language!r}"
        return self._run_python(code, place)

    def _replaced(self, text: str) -> str:
        for old, new in self.replacements.items():
            text = text.replace(old, new)
        return _ADDRESS.sub(lambda match: self.addresses.get(match[1], match[0]), text)

    def _documented(self, output: str) -> str:
        """Return an output with the addresses of the page, and with an ordinary working folder."""
        for port, address in self.addresses.items():
            output = output.replace(address, f"127.0.0.1:{port}")
        return output.replace(str(self.folder), FOLDER)

    def _run_shell(self, code: str, exit_code: int, place: str) -> str:
        output, script = "", ""
        for line in code.replace("\\\n", " ").splitlines():
            if serve := _SERVE.match(line):
                output += self._commands(script, 0, place) + self._serve(serve["command"], place)
                script = ""
            elif not _NOT_RUN.match(line):
                script += f"{line}\n"
        return output + self._commands(script, exit_code, place)

    def _commands(self, script: str, exit_code: int, place: str) -> str:
        if not script.strip():
            return ""
        state = shlex.quote(str(self.state))
        script = f"{script}\nexport -p > {state}/variables; pwd > {state}/folder\n"
        process = subprocess.run(self._shell(script), capture_output=True, text=True, timeout=240, **self._place())
        printed = process.stdout + process.stderr
        assert process.returncode == exit_code, f"{place}: exit code {process.returncode}\n{script}\n{printed}"
        return printed if exit_code else process.stdout

    def _shell(self, script: str) -> list[str]:
        variables = self.state / "variables"
        before = f". {shlex.quote(str(variables))}\n" if variables.exists() else ""
        return ["sh", "-ec", f"{before}{script}"]

    def _place(self) -> dict[str, Any]:
        folder = self.state / "folder"
        path = os.pathsep.join([*map(str, self.programs), os.environ["PATH"]])
        return {
            "cwd": folder.read_text().rstrip("\n") if folder.exists() else self.folder,
            "env": {**os.environ, "PATH": path, "PYTHONUNBUFFERED": "1"},
        }

    def _serve(self, command: str, place: str) -> str:
        """Start a server and return what it prints when it is ready."""
        log = self.state / f"server-{len(self._servers)}.txt"
        documented = re.search(r"--port[= ](\d+)", command)
        with log.open("wb") as file:
            process = subprocess.Popen(
                self._shell(f"exec env {command} --port 0"),
                stdout=file,
                stderr=subprocess.STDOUT,
                **self._place(),
            )
        self._servers.append(process)
        deadline = time.monotonic() + 60
        while not (address := _ADDRESS.search(log.read_text())):
            assert process.poll() is None, f"{place}: the server ended\n{log.read_text()}"
            assert time.monotonic() < deadline, f"{place}: the server is not ready\n{log.read_text()}"
            time.sleep(0.02)
        self.addresses[documented[1] if documented else "8000"] = address[0]
        return log.read_text()

    def _run_python(self, code: str, place: str) -> str:
        statements = ast.parse(code, place).body
        last = statements.pop() if statements and isinstance(statements[-1], ast.Expr) else None
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(io.StringIO()) as output:
            exec(compile(ast.Module(statements, []), place, "exec"), self.namespace)
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), place, "eval"), self.namespace)
                if value is not None:
                    print(repr(value))
        return output.getvalue()


def _difference(expected: str, actual: str) -> str:
    lines = difflib.unified_diff(
        masked(expected).splitlines(), masked(actual).splitlines(), "page", "output", lineterm=""
    )
    return "\n".join([*lines, "", "whole output:", actual])


def _updated(text: str, new_outputs: Iterable[tuple[Block, str]]) -> str:
    for block, output in reversed(list(new_outputs)):
        lines = "".join(f"{block.indent}{line}".rstrip() + "\n" for line in output.rstrip().splitlines())
        text = text[: block.start] + lines + text[block.end :]
    return text
