"""Run the command line with `python -m graphkin`.

torchrun starts programs by module name, and a package on the import path that is not installed has no `graphkin`
command.
"""

from graphkin.cli import main

main()
