"""Errors of the command line have the style of graphkin's own, and tell what to type next."""

import io
import sys

import pytest

from graphkin.cli import run
from graphkin.cli.output import print_error, print_table
from graphkin.ingest.progress import duration


def error_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run([*arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    return captured.err


PLACE = ("--store", "s", "--collection", "c")


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["ingset"], ["no command 'ingset'", "did you mean `graphkin ingest`?"]),
        (["molecules", "a.smi"], ["did you mean `graphkin ingest molecules`?"]),
        (["xyzzy"], ["no command 'xyzzy'", "`graphkin --help` lists the commands"]),
        (["ingest", "molecule", "a.smi"], ["did you mean `graphkin ingest molecules`?"]),
        (["keys", "drop"], ["expected: create, list or revoke"]),
        (["search", "CCO", *PLACE, "--limt", "5"], ["no option --limt", "did you mean `--limit`?"]),
        (["search", "CCO", *PLACE, "--xyzzy", "5"], ["no option --xyzzy", "`graphkin search --help`"]),
        (["search", "CCO", *PLACE, "--limit", "many"], ["--limit", "given: many", "a whole number, 1 or more"]),
        (["search", "CCO", *PLACE, "--min-similarity", "x"], ["given: x", "expected: a number\n"]),
        (["serve", "--store", "s", "--port", "70000"], ["--port", "a whole number from 0 to 65,535"]),
        (["cluster", *PLACE, "--method", "butin"], ["butina, scaffold or single", "did you mean `butina`?"]),
        (["search", "CCO", "--collection", "c"], ["needs --store", "add `--store STORE`", "GRAPHKIN_STORE"]),
        (["ingest", "molecules", *PLACE], ["needs FILE"]),
        (["search", "CCO", *PLACE, "--limit"], ["--limit needs a value", "`graphkin search --help`"]),
        (["search", "CCO", "CCN", *PLACE], ["given: CCN", "[STRUCTURE]"]),
        (["serve", "--store", "s", "--tls-cert", "absent.pem"], ["given: absent.pem", "an existing file"]),
        (
            ["keys", "create", "--store", "s", "--name", "n", "--scope", "delete"],
            ["read, sample, export, write, metrics, admin"],
        ),
        (["epochs", *PLACE, "--policy", "first_order", "--output", "o", "--epochs", "3:1"], ["FIRST < STOP"]),
        (["load", "--to", "s"], ["either --store or --lake", "add `--store STORE`"]),
        (["search", *PLACE], ["either STRUCTURE, or --file and --output"]),
        (["pretrain", "--strategy", "hgc-fo"], ["--api URL --collection NAME"]),
        (["query", *PLACE, "--output", "-", "--json"], ["--json", "standard output"]),
        (["split", __file__, "--threshold", "0", "--output", "o"], ["--threshold", "a number above 0, at most 1"]),
        (["split", __file__, "--threshold", "1", "--output", "o", "--test-size", "1.5"], ["--test-size", "above 0"]),
        (["leaks", __file__, __file__, "--threshold", "1"], ["rename the file\n"]),
        (["compare", "absent.csv", "absent.csv", "--output", "o"], ["there is no file absent.csv"]),
    ],
)
def test_error_tells_the_problem_and_the_next_step(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str], parts: list[str]
) -> None:
    monkeypatch.delenv("GRAPHKIN_STORE", raising=False)
    message = error_of(capsys, *arguments)
    for part in parts:
        assert part in message
    assert "\n  hint: " in message
    assert "Usage:" not in message


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ("small.smi", "molecules"),
        ("data/small.CSV.gz", "molecules"),
        ("set.sd", "molecules"),
        ("MUTAG.zip", "graphs"),
        ("usa.edgelist", "nodes"),
        ("chembl.fps", "fingerprints"),
        ("embeddings.npy", "fingerprints"),
    ],
)
@pytest.mark.parametrize("group", [(), ("ingest",)])
def test_file_in_place_of_a_command_suggests_ingest(
    capsys: pytest.CaptureFixture[str], file: str, kind: str, group: tuple[str, ...]
) -> None:
    message = error_of(capsys, *group, file)
    assert f"try `graphkin ingest {kind} {file} --store STORE --collection NAME`" in message


def test_suggestion_keeps_the_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert "try `graphkin ingest molecules a.smi --store s --collection c`" in error_of(capsys, "a.smi", *PLACE)


@pytest.mark.parametrize(("option", "value"), [("--standardise", "uncharge"), ("--standardize", "uncharge")])
def test_british_spelling_is_accepted(option: str, value: str) -> None:
    assert recipe_option("molecules", option, value) == (value,)


@pytest.mark.parametrize("value", ["centre", "center"])
def test_british_value_is_accepted(value: str) -> None:
    """The recipe keeps its value, which is part of ids."""
    assert recipe_option("nodes", "--initial", value) == "centre"


def recipe_option(kind: str, option: str, value: str) -> object:
    """The value that `graphkin ingest KIND` gets for an option."""
    from graphkin.cli import graphkin
    from graphkin.cli.commands.ingest import ingest

    root = graphkin.make_context("graphkin", [], resilient_parsing=True)
    command = ingest.commands[kind]
    context = command.make_context(kind, ["a", *PLACE, option, value], parent=root)
    return context.params["standardise" if kind == "molecules" else "labels"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def open_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Redirect standard output and standard error to a terminal."""
    stream = Terminal()
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def test_errors_have_colors_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = open_terminal(monkeypatch)
    print_error("wrong\n  given: 1")
    assert "\x1b[31m" in terminal.getvalue()
    monkeypatch.setenv("NO_COLOR", "1")
    terminal.seek(0)
    terminal.truncate()
    print_error("wrong\n  given: 1")
    assert terminal.getvalue() == "error: wrong\n  given: 1\n"
    monkeypatch.undo()
    capsys.readouterr()
    print_error("wrong\n  given: 1")
    assert capsys.readouterr().err == "error: wrong\n  given: 1\n"


COLUMNS = {"similarity": "right", "smiles": "left"}


def test_table_has_a_header_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch)
    monkeypatch.setenv("NO_COLOR", "1")
    print_table(COLUMNS, [(0.5, "C[N]"), (1.0, "CCCC")])
    lines = [line.split() for line in terminal.getvalue().splitlines() if line.strip(" ─\x1b[0m1")]
    assert lines[-2:] == [["0.5", "C[N]"], ["1.0", "CCCC"]]
    assert "similarity" in terminal.getvalue()


def test_table_has_tabs_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(COLUMNS, [(0.5, "C[N]"), (1.0, "CCCC")])
    assert capsys.readouterr().out == "0.5\tC[N]\n1.0\tCCCC\n"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (9.96, "10 s"), (59.6, "1 min 0 s"), (192, "3 min 12 s"), (7500, "2 h 5 min")],
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text
