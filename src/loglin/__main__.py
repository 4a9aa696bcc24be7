"""``python -m loglin``: the command loglin."""

import signal


def main() -> None:
    """Run a command; signals end it without a word from the first moment on."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from loglin.cli import interrupts

    interrupts.install()
    from loglin.cli.main import main

    main()


if __name__ == "__main__":
    main()
