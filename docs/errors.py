"""Write docs/reference/errors.md from the error classes. Run by `make docs`."""

import inspect
from collections.abc import Iterator
from pathlib import Path

from graphkin.protocol import errors, problems, replies
from graphkin.protocol.errors import Damaged, GraphkinError, Unavailable
from graphkin.trainer.errors import Diverged

PAGE = Path(__file__).with_name("reference") / "errors.md"

BASES = (GraphkinError,)
"""Classes that are only bases of others: no error is of these classes alone in a command or a reply."""

REMEDIES = {
    "InvalidInput": "Correct the value: `expected` names the accepted ones.",
    "Conflict": "Use another collection, or leave out what this one does not support.",
    "Unauthorized": "Send a valid key. The administrator creates keys with `graphkin keys create`.",
    "Forbidden": "Use a key with the access and the collection that `expected` names.",
    "BadRequest": "Correct the JSON, the cursor or the Host.",
    "NotAcceptable": "Set Accept to one of the media types in `expected`.",
    "TooLarge": "Send several smaller requests.",
    "AddressTooLong": "Send long structures and filters in the body of a POST.",
    "HeadersTooLarge": "Send fewer or shorter headers.",
    "UnsupportedMediaType": "Send JSON with Content-Type: application/json, uncompressed.",
    "NotFound": "Check the name or id. `graphkin info` lists collections and generations.",
    "Deleted": "Read the current generation: leave out the generation.",
    "Unavailable": "Try again after `Retry-After`. Check that the server runs.",
    "TooSlow": "Send the request at once, or raise GRAPHKIN_HEAD_SECONDS or GRAPHKIN_BODY_SECONDS of the server.",
    "TooManyRequests": "Wait for `Retry-After`, or ask for a larger quota.",
    "StoreError": "Read the hint: free space, fix the permissions, or start the database.",
    "StoreBusy": "Try again after `Retry-After`, or wait until the other process ends.",
    "StoreFormat": "Use the version of graphkin that wrote the store, or ingest again into a new one.",
    "Damaged": "Copy the file again, or restore a backup. Trying again does not help.",
    "StoreDamaged": "`graphkin verify` lists all damage. Restore a backup, or delete the generation and ingest again.",
    "ServerFault": "Report it, with the traceback in the server's log.",
    "InvalidReply": "Check that no proxy alters replies, and look into the server's log.",
    "VersionMismatch": "Install the same version of graphkin on both machines.",
    "GenerationChanged": "Repeat the request from its start. Proxies must not cache replies.",
    "Closed": "Open a new connection, and close it after the last call.",
    "Diverged": "Use a lower learning rate.",
}
"""The next step by name of the class."""

LOCAL = {"InvalidReply", "VersionMismatch", "GenerationChanged", "Closed", "Diverged"}
"""Classes of errors of the client or the trainer, which no server sends."""

HEAD = """# Errors

Find out what an error means and what to do next. Errors have the same parts in the command line, in Python and in the
REST API:

| Part | Meaning |
|---|---|
| `detail` | The problem, in one sentence |
| `given` | The rejected value |
| `expected` | The accepted values |
| `hint` | The next step |

## In the command line

A command prints the error to standard error and ends with an exit code.

```console
$ graphkin info --store data --collection ncy
error: there is no collection 'ncy'
  given: ncy
  expected: one of nci
  hint: did you mean nci?
```

| Exit code | Meaning |
|---|---|
| 0 | The command succeeded |
| 1 | `graphkin verify` or `graphkin doctor` found a problem, a training diverged, or graphkin has a bug |
| 2 | The command line, the input or the data is invalid |
| 3 | The store, collection, generation, item or file does not exist |
| 4 | The store or the server cannot do it now: busy, full, not writable, not reachable or damaged |
| 130 | Interrupted |

## In Python

All errors are subclasses of `GraphkinError`, with the parts as attributes.

```python
import graphkin
from graphkin.protocol.errors import NotFound

try:
    collection = graphkin.open("data", "nci")
except NotFound as error:
    print(error.detail, error.expected, error.hint)
```

`Unavailable` and its subclasses also have `retry_after`, in seconds or None.

## In the REST API

An error is `application/problem+json` (RFC 9457), with these fields:

"""

EXAMPLE = """
```console
$ curl 'http://127.0.0.1:8000/v1/collections/nci/items?limit=5000'
{
  "type": "urn:graphkin:problem:invalid-value",
  "title": "Invalid value",
  "status": 422,
  "detail": "limit: expected at most 1000",
  "instance": "/v1/collections/nci/items",
  "given": "5000",
  "expected": "at most 1000",
  "hint": "correct limit; /docs describes every parameter"
}
```

`405 Method not allowed` is the only status without a class: its `expected` and the header `Allow` name the methods.

## Classes

A class that is indented is a subclass: code that catches the class above it catches it too. `–` marks errors of the
client and of the trainer, which no server sends.

"""


def page() -> str:
    """Return the text of the page."""
    return HEAD + _table(("Field", "Meaning"), _fields()) + EXAMPLE + _table(_COLUMNS, _rows(GraphkinError, 0))


_COLUMNS = ("Class", "Meaning", "Next step", "Exit code", "HTTP status", "`type`")


def classes(kind: type[GraphkinError] = GraphkinError) -> list[type[GraphkinError]]:
    """Return the public error classes below `kind`: those of the protocol and of the trainer."""
    public = [each for each in kind.__subclasses__() if each.__module__ in (errors.__name__, Diverged.__module__)]
    return [*public, *(sub for each in public for sub in classes(each))]


def _fields() -> Iterator[tuple[str, ...]]:
    from graphkin.api.http.reference import DESCRIPTIONS

    for name in replies.Problem.model_fields:
        yield f"`{name}`", DESCRIPTIONS[f"Problem.{name}"]


def _rows(kind: type[GraphkinError], depth: int) -> Iterator[tuple[str, ...]]:
    if kind not in BASES:
        problem = problems.problem_type_of(kind.__new__(kind))
        retry = issubclass(kind, Unavailable) and not issubclass(kind, Damaged)
        meaning = (inspect.getdoc(kind) or "").partition("\n\n")[0].replace("\n", " ")
        yield (
            "&emsp;" * (depth - 1) + f"`{kind.__name__}`",
            meaning,
            REMEDIES[kind.__name__],
            str(kind.exit_code),
            "–" if kind.__name__ in LOCAL else f"{problem.status.value}{' + Retry-After' if retry else ''}",
            "–" if kind.__name__ in LOCAL else f"`{problem.urn.rpartition(':')[2]}`",
        )
    for sub in kind.__subclasses__():
        if sub in classes() and sub.__base__ is kind:
            yield from _rows(sub, depth + 1)


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    return (
        "\n".join([f"| {' | '.join(head)} |", "|" + "---|" * len(head), *(f"| {' | '.join(row)} |" for row in rows)])
        + "\n"
    )


def pages() -> dict[Path, str]:
    """Return the text of the page by its path."""
    return {PAGE: page()}


def main() -> None:
    """Write the page."""
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
