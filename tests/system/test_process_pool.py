"""Work by several processes: results come in order, and errors as raised."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from cgru_cli.errors import CgruError
from cgru_cli.system.process_pool import ProcessPool, alone


def add(number, chunk):
    if chunk == 13:
        raise CgruError("a line of thirteen")
    return number + chunk


def killed(number, chunk):
    if multiprocessing.parent_process() is not None and chunk == number:
        os.kill(os.getpid(), signal.SIGKILL)
    return chunk


def test_a_killed_process_gives_one_line():
    """As when the kernel kills a process for lack of memory."""
    fewer = pytest.raises(CgruError, match=r"ended before finishing its work .*; try fewer --jobs")
    with ProcessPool(2) as workers, fewer:
        list(workers.in_order(partial(killed, 3), range(12)))
    with pytest.raises(CgruError, match="a process ended before finishing its work"):
        alone(killed, 3, 3)
    assert alone(killed, 3, 4) == 4


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_come_in_order_and_errors_are_raised(jobs):
    with ProcessPool(jobs) as workers:
        assert list(workers.in_order(partial(add, 5), range(12))) == [5 + i for i in range(12)]
        assert list(workers.in_order(partial(add, 6), range(12))) == [6 + i for i in range(12)]
        assert list(workers.in_order(partial(add, 5), [])) == []
        assert list(workers.in_order(partial(add, 5), [7])) == [12]
        with pytest.raises(CgruError, match="a line of thirteen"):
            list(workers.in_order(partial(add, 5), range(20)))
        assert list(workers.in_order(partial(add, 5), [1, 2])) == [6, 7]


@pytest.mark.long
def test_chunks_are_read_no_further_than_needed():
    taken = []

    def chunks():
        for i in range(1000):
            taken.append(i)
            yield i * 100

    with ProcessPool(2) as workers:
        results = workers.in_order(partial(add, 5), chunks())
        next(results)
        results.close()
    assert len(taken) < 10


def test_workers_end_with_a_killed_parent():
    script = (
        "import os, signal\n"
        "from cgru_cli.system.process_pool import ProcessPool\n"
        "if __name__ == '__main__':\n"
        "    pool = ProcessPool(2)\n"
        "    print(pool.submit(os.getpid).result(), flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    worker = int(done.stdout)
    for _ in range(100):
        try:
            os.kill(worker, 0)
        except ProcessLookupError:
            return
        if "Z" in Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[:1]:
            return  # ended, but not reaped
        time.sleep(0.05)
    raise AssertionError("the worker lives on")
