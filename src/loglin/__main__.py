"""``python -m loglin``: the command loglin."""

import os
import signal

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # as malloc.h of glibc numbers them
KEPT, MAPPED = 1 << 30, 1 << 22  # bytes of freed memory that are kept, and of arrays that are mapped by themselves


def keep_memory() -> None:
    """Have arrays of a few megabytes use the memory of earlier ones: what the system gives anew costs a page fault
    every 4 KB, a twentieth of a training. Larger arrays are given back, so that the peak stays where it is."""
    import ctypes  # as NumPy does

    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library
        return
    mallopt(TRIM_THRESHOLD, KEPT)
    mallopt(MMAP_THRESHOLD, MAPPED)


def main() -> None:
    """Run a command; signals end it without a word from the first moment on."""
    # NumPy's BLAS starts a thread per core when imported, for 50 ms of processor time; kernels have their own
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    keep_memory()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from loglin.cli import interrupts

    interrupts.install()
    from loglin.cli.main import main

    main()


if __name__ == "__main__":
    main()
