"""`python -m zipfel`."""

from zipfel.cli.main import main

main()
