"""Signals: recorded, or ending the process at once."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from cgru_cli.system.signals import ENDING, Stopped, StopRequest, interruptible, stop_cleanly

EACH = pytest.mark.parametrize("signum", ENDING)


@EACH
def test_stop_at_once(signum):
    before = signal.getsignal(signum)
    cleaned = []
    with pytest.raises(Stopped) as stopped, stop_cleanly():
        try:
            os.kill(os.getpid(), signum)
            raise AssertionError("it went on")
        finally:
            cleaned.append(True)
    assert stopped.value.code == 128 + signum
    assert cleaned
    assert signal.getsignal(signum) is before


@EACH
def test_an_error_made_of_the_signal_counts_as_the_signal(signum):
    """TensorFlow, and much C++ code, replaces an exception that crosses it."""
    with pytest.raises(Stopped) as stopped, stop_cleanly():
        try:
            os.kill(os.getpid(), signum)
        except Stopped as error:
            raise TypeError("Binding inputs to tf.function failed") from error
    assert stopped.value.code == 128 + signum
    with pytest.raises(TypeError), stop_cleanly():
        raise TypeError("without a signal")


@EACH
def test_recorded(signum):
    with pytest.raises(Stopped) as stopped, stop_cleanly():
        outside = signal.getsignal(signum)
        with StopRequest() as stop:
            assert not stop.asked
            os.kill(os.getpid(), signum)
            assert stop.asked
            assert signal.getsignal(signum) is signal.SIG_DFL  # a second one ends the process
        assert signal.getsignal(signum) is outside
        stop.end()
    assert stopped.value.code == 128 + signum


@EACH
def test_ignored_signals_stay_ignored(signum):
    before = signal.signal(signum, signal.SIG_IGN)
    try:
        with stop_cleanly(), StopRequest() as stop:
            os.kill(os.getpid(), signum)
            assert not stop.asked
        assert signal.getsignal(signum) is signal.SIG_IGN
    finally:
        signal.signal(signum, before)


def test_nothing_changes_in_other_threads():
    before = signal.getsignal(signal.SIGTERM)
    seen = []

    def work():
        with stop_cleanly(), StopRequest() as stop:
            seen.append((signal.getsignal(signal.SIGTERM), stop.asked))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(before, False)]


@EACH
def test_second_signal_ends_the_process(signum):
    script = (
        "import os, sys\n"
        "from cgru_cli.system.signals import StopRequest\n"
        "with StopRequest():\n"
        "    for _ in range(2):\n"
        "        os.kill(os.getpid(), int(sys.argv[1]))\n"
        "print('went on')\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(int(signum))], capture_output=True)
    assert (done.returncode, done.stdout) == (-signum, b"")


def test_interruptible_work_returns_and_raises():
    assert interruptible(threading.current_thread) is not threading.current_thread()
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 // 0)


@pytest.mark.long
@EACH
def test_interruptible_work_need_not_end(signum):
    begun, never = threading.Event(), threading.Event()

    def work():
        begun.set()
        os.kill(os.getpid(), signum)
        never.wait(60)

    with pytest.raises(Stopped), stop_cleanly():
        interruptible(work)
    assert begun.is_set()
    never.set()
