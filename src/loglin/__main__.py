"""``python -m loglin``: the command loglin."""

import os
import signal


def main() -> None:
    """Run a command; signals end it without a word from the first moment on."""
    # NumPy's BLAS starts a thread per core when imported, for 50 ms of processor time; kernels have their own
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from loglin.cli import interrupts

    interrupts.install()
    from loglin.cli.main import main

    main()


if __name__ == "__main__":
    main()
