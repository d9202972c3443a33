"""`python -m graphkin`, for torchrun and for machines where the package lies on the path but is not installed."""

from graphkin.cli import main

main()
