"""``python -m loglin``: the command loglin."""

from loglin.cli.main import main

main()
