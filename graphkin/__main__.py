"""Run the command line with `python -m graphkin`.

torchrun starts a command by its module name. A package that is importable but not installed has no `graphkin` command.
"""

from graphkin.cli import main

main()
