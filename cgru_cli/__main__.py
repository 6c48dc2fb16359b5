"""The entry point of `cgru` and of `python -m cgru_cli`."""

import atexit
import gc
import os
import signal


def main() -> None:
    """Run the command line, and exit.

    Until the commands handle SIGINT, SIGTERM and SIGHUP themselves (`stop_cleanly`), while modules
    are imported, and after the commands have ended, a signal ends the process without a message.
    """
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(signum) is not signal.SIG_IGN:  # set by a shell for background jobs
            signal.signal(signum, lambda number, _: os._exit(128 + number))
    # Python looks for garbage after every 700 new objects; while modules are imported, this takes
    # 6 % of the CPU time in which a small model translates a line.
    gc.set_threshold(20_000)
    # OpenBLAS's threads wait for each other by spinning. On two cores that other programs used too,
    # the QR decomposition of 1024 x 1024 new weights took 15 s with two threads, 0.5 s with one.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from .system.signals import Stopped, exit_at_once

    stopped: list[int] = []
    atexit.register(lambda: stopped and exit_at_once(stopped[0]))  # runs last, as it is the first
    from .cli import main as run

    try:
        run()
    except Stopped as error:
        stopped.append(128 + error.signum)
        raise


if __name__ == "__main__":
    main()
