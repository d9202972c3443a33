"""Commands with `--device cuda` on a CPU, by Triton's interpreter.

    TRITON_INTERPRET=1 python interpreted.py COMMAND [COMMAND...]

Each COMMAND is the arguments of one `graphkin` command as JSON.
"""

import json
import sys

import pytest
import torch

from graphkin.cli import run
from graphkin.similarity.cuda import device, join, search


def main(*commands: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for module in (device, join, search):
            patch.setattr(module, "require_cuda", lambda: torch.device("cpu"))
        for command in commands:
            if code := run(json.loads(command)):
                raise SystemExit(code)


if __name__ == "__main__":
    main(*sys.argv[1:])
