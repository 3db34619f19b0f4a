"""`python -m meijin`."""

from meijin.cli import main

main()
