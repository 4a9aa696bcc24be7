"""``python -m loglin``: the command loglin."""

from loglin.cli import interrupts


def main() -> None:
    """Run a command; signals end it from the first moment on."""
    interrupts.install()
    from loglin.cli.main import main

    main()


if __name__ == "__main__":
    main()
